"""``LatentTagger``: tagged sentences in, a tagger with hidden states behind every tag out.

1. ``fit`` turns sentences into right-branching skeletal trees, gives each node its two views
   (``trees``) and lets an estimator of ``constituency`` find the states: clustering, moments, EM.
2. Each model becomes a chain over (tag, state) pairs (``chain``); a sentence goes through
   it backward and forward, and states are summed out.
3. ``tag``, ``kbest`` and ``marginals`` answer from the chains; ``log_prob`` gives log p(words) or
   log p(words, tags).

With one state a tag it is exactly the bigram HMM tagger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from eigentext.base.fields import Ints, Pointers, Reals, Strings
from eigentext.base.model import Model
from eigentext.base.progress import Progress
from eigentext.base.records import As, Called, Group, Inner, Record, stored
from eigentext.base.registry import part
from eigentext.base.tokens import checked_tagged, checked_words, each_sentence
from eigentext.base.types import Float32s, Float64s, Int64s
from eigentext.base.values import Named, Real, Whole
from eigentext.constituency.storage import LANGUAGE, MOST_MODELS, RULES, ParamsContent
from eigentext.errors import DataError, SettingsError
from eigentext.sequences.settings import LatentTaggerSettings
from eigentext.sequences.tagger.chain import Chain, TagCandidates, TagChain
from eigentext.sequences.tagger.evaluation import evaluate_tagger
from eigentext.sequences.tagger.words import ShapeModel, WordTags

_K_WORDS = ("k_word", "k_shape", "k_lower", "keep")
_COUNTED: dict[str, Any] = {"low": 0, "high": 1e12}
_TAGS = Group(
    word_ptr=Pointers("tagged_words", "word_tags"),
    word_tag=Ints(("word_tags",), low=0, below="tags"),
    word_n=Reals(("word_tags",), **_COUNTED),
    shape_ptr=Pointers("tagged_shapes", "shape_tags"),
    shape_tag=Ints(("shape_tags",), low=0, below="tags"),
    shape_n=Reals(("shape_tags",), **_COUNTED),
    prefix="tags.",
)
# automata of characters, and their power; both or neither
_CHARACTERS = Group(
    optional=True,
    automata=Called("characters", Inner("class-automata")),
    power=Called(
        "characters_power", As(Reals((1,), low=0, high=1), lambda power: [power], np.ndarray.item)
    ),
)


@dataclass
class LatentTaggerContent:
    """What a file holds."""

    rules: Int64s = stored(RULES, of=lambda tagger: tagger.chains_[0].params.rules)
    labels: tuple[str, ...] = stored(
        Strings("labels", distinct=True), of=lambda tagger: tagger.chains_[0].labels
    )
    params: ParamsContent = stored(
        Record(ParamsContent), of=lambda tagger: [chain.params for chain in tagger.chains_]
    )
    tags_: tuple[str, ...] = stored(Strings("tags", distinct=True))
    tagged_words: tuple[str, ...] = stored(
        Strings("tagged_words", distinct=True), of="words_.words"
    )
    tagged_shapes: tuple[str, ...] = stored(
        Strings("tagged_shapes", distinct=True), of="words_.shapes"
    )
    counts: SimpleNamespace = stored(_TAGS, of="words_")
    shape_features: tuple[str, ...] = stored(
        Strings("shape_features", distinct=True),
        of=lambda tagger: getattr(tagger.words_.model, "features", ()),
    )
    shape_weights: Float32s | None = stored(
        Reals(("shape_features+1", "tags"), ("float32",), -1e6, 1e6, optional=True),
        of=lambda tagger: getattr(tagger.words_.model, "weights", None),
    )
    characters: SimpleNamespace | None = stored(_CHARACTERS, of="words_.characters")
    word_tags: dict[str, Any] = stored(
        Named(dict.fromkeys(_K_WORDS, Real(0, 1e12)), closed=True),
        of=lambda tagger: {name: getattr(tagger.words_, name) for name in _K_WORDS},
    )
    n_sentences_: int = stored(Whole(1))

    def _holds(self) -> None:
        n, ptr = self.counts.word_n, self.counts.word_ptr
        of_word = np.diff(np.concatenate([[0.0], np.cumsum(n)])[ptr])
        if not len(n) or float(of_word.min()) <= 0:
            raise ValueError("array 'tags.word_n' has a word that was never seen")
        if self.characters is not None:
            unknown = sorted({*self.characters.automata.classes_} - {*self.tags_})
            if unknown:
                why = f"array 'characters' has the tag {unknown[0]!r}, which is not known"
                raise ValueError(why)

    def restore(self, tagger: LatentTagger) -> None:
        """Set what ``fit`` would have learned."""
        model = characters = None
        if self.shape_weights is not None:
            model = ShapeModel(self.shape_features, self.shape_weights)
        if self.characters is not None:
            characters = part("automata of characters")(self.tags_, **vars(self.characters))
        tagger.words_ = WordTags(
            self.tags_,
            words=self.tagged_words,
            shapes=self.tagged_shapes,
            model=model,
            characters=characters,
            **vars(self.counts),
            **self.word_tags,
        )
        tagger.chains_ = [
            Chain.of(params, tagger.words_, self.labels, self.n_sentences_, tagger.k_next)
            for params in self.params.params(self.rules, tagger.language)
        ]


class TagSequence(NamedTuple):
    """Tags of a sentence, their share among all sequences, and log p(words, tags)."""

    tags: list[str]
    share: float
    log_prob: float


class TagAnswer(NamedTuple):
    """All about one sentence."""

    tags: list[str]
    marginals: Float64s  # (n, T) of the tagger's ``tags_``
    kbest: list[TagSequence]
    log_prob: float  # log p(words)
    negative: float  # share of marginals below zero before they were clipped (moments only)
    fallback: bool  # no model gave any weight: tags by the words alone


@dataclass(eq=False, repr=False)
class LatentTagger(Model, LatentTaggerSettings):
    """A tagger whose tags have hidden states, learned by spectral methods.

    Settings: :class:`LatentTaggerSettings`.  After ``fit``: ``tags_``, ``words_`` (what is known
    of each word), ``chains_`` (one of each model) and ``n_sentences_``.

    >>> tagger = LatentTagger(2).fit([["the", "cat", "sat"]] * 40, [["D", "N", "V"]] * 40)
    >>> tagger.tag(["the", "dog", "sat"])
    ['D', 'N', 'V']
    """

    KIND = "latent-tagger"
    CONTENT = LatentTaggerContent
    SIZED_BY = Named({"n_models": Whole(1, MOST_MODELS), "language": LANGUAGE})

    # ------------------------------------------------------------ training

    def fit(
        self,
        X: Iterable[Sequence[str]],
        y: Iterable[Sequence[str]],
        *,
        progress: Progress | None = None,
    ) -> LatentTagger:
        """Train on sentences and their tags; empty sentences are left out."""
        self.check()
        sentences, names = ([row for row in rows if row] for rows in checked_tagged(X, y))
        if not sentences:
            raise DataError("<training sentences>", None, "no tokens, expected some to learn from")
        self.tags_ = tuple(sorted({tag for row in names for tag in row}))
        number_of = {tag: number for number, tag in enumerate(self.tags_)}
        tags = [[number_of[tag] for tag in row] for row in names]
        self.words_ = WordTags.count(
            self.tags_, sentences, tags, characters=self.characters, keep=self.keep
        )
        self.n_sentences_ = len(sentences)
        self._fit_chains(sentences, tags, progress)
        return self

    def check(self) -> None:
        """Raise SettingsError for a setting that is not what was declared."""
        super().check()
        if self.estimator == "mixed" and self.n_models < 2:
            raise SettingsError("estimator is 'mixed': that needs n_models of at least 2")
        if self.estimator == "moments" and self.n_iter:
            raise SettingsError(
                f"n_iter is {self.n_iter}, but EM cannot go on from the signed numbers of moments"
            )

    def _fit_chains(
        self, sentences: list[list[str]], tags: list[list[int]], progress: Progress | None
    ) -> None:
        from eigentext.constituency.learn.models import learn_models
        from eigentext.constituency.settings import LPCFGSettings, Smoothing
        from eigentext.sequences.tagger.trees import give_chain_views, skeletal_trees

        bank = give_chain_views(
            skeletal_trees(sentences, tags, len(self.tags_), language=self.language)
        )
        settings = LPCFGSettings(
            n_states=self.n_states,
            estimator=self.estimator,
            n_models=self.n_models,
            n_iter=self.n_iter,
            per_state=self.per_state,
            kappa=self.kappa,
            language=self.language,
            # ``k_next`` backs the first tag off to the shares of all tags, so roots are left alone
            smoothing=Smoothing(k_root=0.0),
            seed=self.seed,
        )
        self.chains_ = [
            Chain.of(params, self.words_, bank.labels, self.n_sentences_, self.k_next)
            for params in learn_models(bank, settings, progress=progress)
        ]

    # ------------------------------------------------------------ tagging

    def tag(self, tokens: Sequence[str]) -> list[str]:
        """The tags of one sentence; [] for none."""
        chain, _, _ = self._chain_of(checked_words(tokens))
        if chain is None:
            return []
        if self.decoder == "product":
            best = chain.kbest(1)[0][0]
        else:
            c = chain.candidates
            best = c.tags[c.best_of_each(chain.marginals()[0])]
        return [self.tags_[tag] for tag in best.tolist()]

    def predict(self, X: Iterable[Sequence[str]]) -> list[list[str]]:
        """The tags of sentences, in order."""
        return list(self.stream(X))

    def stream(self, X: Iterable[Sequence[str]]) -> Iterator[list[str]]:
        """The same, sentence by sentence as they come."""
        for tokens in each_sentence(X):
            yield self.tag(tokens)

    def marginals(self, tokens: Sequence[str]) -> Float64s:
        """(n, T) the probability of each of ``tags_`` at each token; rows sum to 1.

        >>> tagger = LatentTagger(1).fit([["a", "b"], ["a", "b"]], [["X", "Y"], ["Y", "X"]])
        >>> tagger.marginals(["a"]).round(2).tolist()
        [[0.5, 0.5]]
        """
        words = checked_words(tokens)
        chain, _, _ = self._chain_of(words)
        return self._table(chain, len(words))

    def _table(self, chain: TagChain | None, n: int) -> Float64s:
        table = np.zeros((n, len(self.tags_)))
        if chain is not None:
            c = chain.candidates
            table[np.repeat(np.arange(n), np.diff(c.ptr)), c.tags] = chain.marginals()[0]
        return table

    def kbest(self, tokens: Sequence[str], k: int = 5) -> list[TagSequence]:
        """The k sequences with the largest shares, best first; none for an empty sentence."""
        words = checked_words(tokens)
        chain, _, _ = self._chain_of(words)
        return self._sequences(chain, words, k)

    def _sequences(self, chain: TagChain | None, words: list[str], k: int) -> list[TagSequence]:
        if k < 1:
            raise SettingsError(f"k is {k}, expected a whole number of at least 1")
        if chain is None:
            return []
        rows, scores = chain.kbest(k)
        total = chain.marginals()[1]
        return [
            TagSequence(
                [self.tags_[tag] for tag in row],
                float(np.exp(score - total)),
                self._log_prob_tagged(words, row),
            )
            for row, score in zip(rows.tolist(), scores.tolist(), strict=True)
        ]

    def analyse(self, tokens: Sequence[str], *, kbest: int = 1) -> TagAnswer:
        """Tags, marginals, k-best sequences and log p(words) at once."""
        words = checked_words(tokens)
        chain, negative, fallback = self._chain_of(words)
        return TagAnswer(
            self.tag(words),
            self._table(chain, len(words)),
            self._sequences(chain, words, kbest),
            self.log_prob(words),
            negative,
            fallback,
        )

    def log_prob(self, tokens: Sequence[str], tags: Sequence[str] | None = None) -> float:
        """log p(words), summed over the tags tried; or log p(words, tags).

        States are summed out; of several models, the mean probability.  With moments a score that
        is not positive has -inf.  A tag that training never saw has -inf.
        """
        words = checked_words(tokens)
        self.check_fitted()
        if tags is not None:
            if len(tags) != len(words):
                raise SettingsError(f"{len(tags)} tags for {len(words)} tokens")
            tag_id = {tag: at for at, tag in enumerate(self.tags_)}
            if not set(tags) <= set(tag_id):
                return float("-inf")
            if words:
                return self._log_prob_tagged(words, [tag_id[tag] for tag in tags])
        return self._log_prob_of(words, TagCandidates.of(words, self.words_)) if words else 0.0

    def _log_prob_tagged(self, words: list[str], tags: Sequence[int]) -> float:
        return self._log_prob_of(words, TagCandidates.tagged(words, tags, self.words_))

    def _log_prob_of(self, words: list[str], candidates: TagCandidates) -> float:
        log_scores = []
        for chain in self.chains_:
            value, sign = chain.log_score(words, candidates)
            log_scores.append(value if sign > 0 else float("-inf"))
        constant = sum(self.words_.log_p_word(word) for word in words)
        return float(np.logaddexp.reduce(log_scores) - np.log(len(log_scores))) + constant

    def score(self, X: Iterable[Sequence[str]], y: Iterable[Sequence[str]]) -> float:
        """Share of right tags."""
        self.check_fitted()
        sentences, tags = checked_tagged(X, y)
        if not any(sentences):
            raise DataError("<sentences>", None, "no tokens to score")
        return evaluate_tagger(self.stream, self.words_.knows, sentences, tags).accuracy / 100

    def _chain_of(self, words: list[str]) -> tuple[TagChain | None, float, bool]:
        """The chain over tags, the share of negative posteriors, and is it the fallback?"""
        self.check_fitted()
        if not words:
            return None, 0.0, False
        candidates = TagCandidates.of(words, self.words_)
        posteriors = [chain.posteriors(words, candidates) for chain in self.chains_]
        good = [p_model for p_model in posteriors if p_model is not None]
        if good:
            negative = float(np.mean([p_model.negative for p_model in good]))
            return TagChain.of(candidates, good), negative, False
        p = np.concatenate(
            [self.words_.scores(word, first=at == 0).p for at, word in enumerate(words)]
        )
        return TagChain.of_words(candidates, p), 0.0, True

    # ------------------------------------------------------------ storage

    def _summary(self) -> str:
        return f"{len(self.tags_)} tags, {len(self.words_.words):,} words"
