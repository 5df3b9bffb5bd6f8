"""``LatentTagger``: tagged sentences in, a tagger with hidden states behind every tag out.

1. ``fit`` turns sentences into right-branching skeletal trees (``tagger_trees``), gives each node
   its two views (``tagger_features``) and lets an estimator of ``constituency`` find the states:
   clustering, moments, or EM.
2. Each model becomes a chain over (tag, state) pairs (``tagger_chain``); a sentence goes through
   it backward and forward, and states are summed out.
3. ``tag``, ``n_best`` and ``posteriors`` answer from the chains (``tagger_decode``);
   ``log_probability`` gives log p(words) or log p(words, tags).

With one state a tag it is exactly the bigram HMM tagger.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from sklearn.base import BaseEstimator

from eigentext.errors import SettingsError
from eigentext.sequences.tagger_chain import Candidates, Chain
from eigentext.sequences.tagger_decode import DECODERS, TagChain
from eigentext.sequences.tagger_eval import evaluate_tagger
from eigentext.sequences.tagger_input import checked_tokens, numbered
from eigentext.sequences.tagger_words import WordTags

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import numpy.typing as npt

    from eigentext.constituency.estimators import Estimator
    from eigentext.constituency.params import MomentSmoothing, Smoothing
    from eigentext.constituency.treebank import Language
    from eigentext.sequences.tagger_decode import Decoder
    from eigentext.sequences.tagger_input import Tagged

    Floats = npt.NDArray[np.float64]
    Progress = Callable[[int, int, str], None]

__all__ = ["RECIPES", "LatentTagger", "Recipe", "TagAnswer", "TagSequence"]

Recipe = Literal["clustering", "em", "moments", "mixed"]
RECIPES: tuple[Recipe, ...] = get_args(Recipe)

_MOST_STATES = 64


class TagSequence(NamedTuple):
    """Tags of a sentence, their share among all sequences, and log p(words, tags)."""

    tags: list[str]
    share: float
    log_p: float


class TagAnswer(NamedTuple):
    """All about one sentence.

    ``posteriors``  (n, T) of the tagger's ``tags_``;  ``log_p`` log p(words)
    ``negative``    share of posteriors below zero before they were clipped (moments only)
    ``fallback``    no model gave any weight: tags by the words alone
    """

    tags: list[str]
    posteriors: Floats
    n_best: list[TagSequence]
    log_p: float
    negative: float
    fallback: bool


class LatentTagger(BaseEstimator):  # type: ignore[misc]
    """A tagger whose tags have hidden states, learned by spectral methods.

    ``n_states``   most states of a tag (m); 1 is the bigram HMM tagger
    ``estimator``  clustering, moments (signed scores: the rate of negatives is reported), em, or
                   mixed: several models, clustering and moments in turn
    ``em``         EM iterations; None: one after clustering, 50 for em
    ``models``     number of models; several are trained with noise and multiplied
    ``decoder``    posterior: the best tag of each word; product: the best sequence
    ``per_state``  so many occurrences are needed for each state of a tag
    ``k_next``     weight of a tag's share in the transitions, in counts
    ``keep``       tags with less than this share of a word's best tag are not tried; 0 tries all
    ``kappa, dropout, noise``  of the spectral features; the latter two with several models only
    ``language``   english or generic: signatures of rare words
    ``smoothing, moment_smoothing``  strengths of the estimators' back-offs

    >>> tagger = LatentTagger(2).fit([[("the", "D"), ("cat", "N"), ("sat", "V")]] * 40)
    >>> tagger.tag(["the", "dog", "sat"])
    ['D', 'N', 'V']
    """

    tags_: tuple[str, ...]
    words_: WordTags
    chains_: list[Chain]
    n_sentences_: int

    def __init__(
        self,
        n_states: int = 16,
        *,
        estimator: Recipe = "clustering",
        em: int | None = None,
        models: int = 1,
        decoder: Decoder = "posterior",
        per_state: int = 10,
        k_next: float = 1.0,
        keep: float = 1e-4,
        kappa: float = 50.0,
        dropout: float = 0.3,
        noise: float = 0.3,
        language: Language = "generic",
        smoothing: Smoothing | None = None,
        moment_smoothing: MomentSmoothing | None = None,
        seed: int = 0,
    ) -> None:
        self.n_states = n_states
        self.estimator: Recipe = estimator
        self.em = em
        self.models = models
        self.decoder: Decoder = decoder
        self.per_state = per_state
        self.k_next = k_next
        self.keep = keep
        self.kappa = kappa
        self.dropout = dropout
        self.noise = noise
        self.language: Language = language
        self.smoothing = smoothing
        self.moment_smoothing = moment_smoothing
        self.seed = seed

    # ------------------------------------------------------------ training

    def fit(
        self,
        X: Iterable[Sequence[tuple[str, str]]],
        y: None = None,
        *,
        progress: Progress | None = None,
    ) -> LatentTagger:
        """Train on sentences of (word, tag) pairs; empty sentences are left out."""
        self._check_settings()
        data = numbered(X)
        self.tags_ = data.names
        self.words_ = WordTags.count(data.names, data.sentences, data.tags, keep=self.keep)
        self.n_sentences_ = len(data.sentences)
        self._fit_chains(data, progress)
        return self

    def _check_settings(self) -> None:
        if not isinstance(self.n_states, int) or not 1 <= self.n_states <= _MOST_STATES:
            raise SettingsError(
                f"n_states must lie between 1 and {_MOST_STATES}, not {self.n_states!r}"
            )
        for name in ("models", "per_state", "seed", "em"):
            value = getattr(self, name)
            if not isinstance(value, Integral) and not (name == "em" and value is None):
                raise SettingsError(f"{name} must be an integer, not {value!r}")
        if self.estimator not in RECIPES:
            raise SettingsError(
                f"estimator must be one of {', '.join(RECIPES)}, not {self.estimator!r}"
            )
        if self.estimator == "mixed" and self.models < 2:
            raise SettingsError("estimator mixed needs models of at least 2")
        if self.decoder not in DECODERS:
            raise SettingsError(
                f"decoder must be one of {', '.join(DECODERS)}, not {self.decoder!r}"
            )
        if self.language not in ("english", "generic"):
            raise SettingsError(f"language must be english or generic, not {self.language!r}")
        if self.models < 1 or self.per_state < 1 or self.seed < 0:
            raise SettingsError("models and per_state must be at least 1, seed at least 0")
        if self.em is not None and (self.em < 0 or (self.em and self.estimator == "moments")):
            raise SettingsError(
                f"em is {self.em}, but must be at least 0, and 0 or None with moments: EM cannot "
                "go on from signed numbers"
            )
        if not self.k_next > 0 or not 0 <= self.keep < 1 or not self.kappa >= 0:
            raise SettingsError("k_next must be above 0, keep in [0, 1), kappa at least 0")
        if not (0 <= self.dropout < 1 and 0 <= self.noise < 10):
            raise SettingsError("dropout must lie in [0, 1) and noise in [0, 10)")

    def _fit_chains(self, data: Tagged, progress: Progress | None) -> None:
        from eigentext.constituency.estimators import EstimatorSettings, fit_params
        from eigentext.constituency.learn_clusters import SpectralSettings
        from eigentext.constituency.params import MomentSmoothing, Smoothing
        from eigentext.linalg.determinism import single_threaded
        from eigentext.sequences.tagger_features import give_chain_views
        from eigentext.sequences.tagger_trees import skeletal_trees

        bank = give_chain_views(
            skeletal_trees(data.sentences, data.tags, len(data.names), language=self.language)
        )
        several = self.models > 1
        spectral = SpectralSettings(
            states=self.n_states,
            per_state=self.per_state,
            kappa=self.kappa,
            dropout=self.dropout if several else 0.0,
            noise=self.noise if several else 0.0,
        )
        in_turn: tuple[Estimator, ...] = (
            ("clustering", "moments") if self.estimator == "mixed" else (self.estimator,)
        )
        # roots are left as they are: ``k_next`` backs the first tag off to the shares of all tags
        smoothing = replace(self.smoothing or Smoothing(), k_root=0.0)
        of_moments = replace(self.moment_smoothing or MomentSmoothing(), k_root=0.0)
        self.chains_ = []
        with single_threaded():
            for number in range(self.models):
                settings = EstimatorSettings(
                    in_turn[number % len(in_turn)],
                    spectral,
                    self.em,
                    smoothing,
                    self.language,
                    moment_smoothing=of_moments,
                )
                params = fit_params(bank, settings, seed=self.seed + number, progress=progress)
                self.chains_.append(
                    Chain.of(params, self.words_, bank.labels, self.n_sentences_, self.k_next)
                )

    # ------------------------------------------------------------ tagging

    def tag(self, tokens: Sequence[str]) -> list[str]:
        """The tags of one sentence; [] for none."""
        chain, _, _ = self._chain_of(checked_tokens(tokens))
        if chain is None:
            return []
        if self.decoder == "product":
            best = chain.n_best(1)[0][0]
        else:
            c = chain.candidates
            best = c.tags[c.best_of_each(chain.marginals()[0])]
        return [self.tags_[tag] for tag in best.tolist()]

    def predict(self, X: Iterable[Sequence[str]]) -> list[list[str]]:
        """The tags of sentences, in order."""
        return list(self.stream(X))

    def stream(self, X: Iterable[Sequence[str]]) -> Iterator[list[str]]:
        """The same, sentence by sentence as they come."""
        for tokens in X:
            yield self.tag(tokens)

    def posteriors(self, tokens: Sequence[str]) -> Floats:
        """(n, T) the posterior of each of ``tags_`` at each token; rows sum to 1.

        >>> tagger = LatentTagger(1).fit([[("a", "X"), ("b", "Y")], [("a", "Y"), ("b", "X")]])
        >>> tagger.posteriors(["a"]).round(2).tolist()
        [[0.5, 0.5]]
        """
        words = checked_tokens(tokens)
        chain, _, _ = self._chain_of(words)
        return self._table(chain, len(words))

    def _table(self, chain: TagChain | None, n: int) -> Floats:
        found = np.zeros((n, len(self.tags_)))
        if chain is not None:
            c = chain.candidates
            found[np.repeat(np.arange(n), np.diff(c.ptr)), c.tags] = chain.marginals()[0]
        return found

    def n_best(self, tokens: Sequence[str], n: int = 5) -> list[TagSequence]:
        """The n sequences with the largest shares, best first; none for an empty sentence."""
        words = checked_tokens(tokens)
        chain, _, _ = self._chain_of(words)
        return self._sequences(chain, words, n)

    def _sequences(self, chain: TagChain | None, words: list[str], n: int) -> list[TagSequence]:
        if n < 1:
            raise SettingsError(f"n must be 1 or more, found {n}")
        if chain is None:
            return []
        rows, scores = chain.n_best(n)
        total = chain.marginals()[1]
        return [
            TagSequence(
                [self.tags_[tag] for tag in row],
                float(np.exp(score - total)),
                self._log_p_tagged(words, row),
            )
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
        ]

    def analyse(self, tokens: Sequence[str], *, n_best: int = 1) -> TagAnswer:
        """Tags, posteriors, n-best sequences and log p(words) at once."""
        words = checked_tokens(tokens)
        chain, negative, fallback = self._chain_of(words)
        return TagAnswer(
            self.tag(words),
            self._table(chain, len(words)),
            self._sequences(chain, words, n_best),
            self.log_probability(words),
            negative,
            fallback,
        )

    def log_probability(self, tokens: Sequence[str], tags: Sequence[str] | None = None) -> float:
        """log p(words), summed over the tags tried; or log p(words, tags).

        States are summed out; of several models, the mean probability.  With moments a score that
        is not positive has -inf.  A tag that training never saw has -inf.
        """
        words = checked_tokens(tokens)
        self._check_fitted()
        if tags is not None:
            if len(tags) != len(words):
                raise SettingsError(f"{len(tags)} tags for {len(words)} tokens")
            place = {tag: at for at, tag in enumerate(self.tags_)}
            if not set(tags) <= set(place):
                return float("-inf")
            return self._log_p_tagged(words, [place[tag] for tag in tags])
        return self._log_p(words, Candidates.of(words, self.words_)) if words else 0.0

    def _log_p_tagged(self, words: list[str], tags: Sequence[int]) -> float:
        return self._log_p(words, Candidates.given(words, tags, self.words_)) if words else 0.0

    def _log_p(self, words: list[str], candidates: Candidates) -> float:
        found = []
        for chain in self.chains_:
            value, sign = chain.log_score(words, candidates)
            found.append(value if sign > 0 else float("-inf"))
        constant = sum(self.words_.log_p_word(word) for word in words)
        return float(np.logaddexp.reduce(found) - np.log(len(found))) + constant

    def score(self, X: Iterable[Sequence[tuple[str, str]]], y: None = None) -> float:
        """Percent of right tags."""
        self._check_fitted()
        sentences = [list(sentence) for sentence in X]
        return evaluate_tagger(self.stream, self.words_.knows, sentences).accuracy

    def _chain_of(self, words: list[str]) -> tuple[TagChain | None, float, bool]:
        """The chain over tags, the share of negative posteriors, and is it the fallback?"""
        self._check_fitted()
        if not words:
            return None, 0.0, False
        candidates = Candidates.of(words, self.words_)
        found = [chain.posteriors(words, candidates) for chain in self.chains_]
        good = [one for one in found if one is not None]
        if good:
            negative = float(np.mean([one.negative for one in good]))
            return TagChain.of(candidates, good), negative, False
        p = np.concatenate(
            [self.words_.scores(word, first=at == 0).p for at, word in enumerate(words)]
        )
        return TagChain.of_words(candidates, p), 0.0, True

    def _check_fitted(self) -> None:
        if not hasattr(self, "chains_"):
            raise SettingsError("this tagger is not trained yet: call fit or load first")

    # ------------------------------------------------------------ storage

    def save(self, path: str | os.PathLike[str], *, data: dict[str, Any] | None = None) -> None:
        """Write a model file."""
        from eigentext.sequences.tagger_storage import save_tagger

        self._check_fitted()
        save_tagger(self, path, data=data)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LatentTagger:
        """Read a model file that :meth:`save` wrote."""
        from eigentext.sequences.tagger_storage import load_tagger

        return load_tagger(cls, path)
