"""``LPCFG``: fit on trees, parse sentences, save and load.

1. ``fit`` prepares the trees, learns latent states (clustering, and EM if asked) and estimates one
   or several sets of parameters over the same rules.
2. ``parse`` prunes with the plain PCFG, runs every model over the surviving rule applications,
   multiplies their posteriors and decodes; the user's own tokens and labels come back.
3. ``save`` and ``load`` go through a model file of kind ``lpcfg``.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.constituency.chart import CoarseGrammar, build_chart
from eigentext.constituency.constraints import Constraints, build_masks
from eigentext.constituency.decode import DECODERS, best_trees, decoder_scores
from eigentext.constituency.fine import fine_pass
from eigentext.constituency.grammar import GrammarSettings, read_treebank, restore
from eigentext.constituency.learn_clusters import SpectralSettings, cluster_states
from eigentext.constituency.learn_em import run_em
from eigentext.constituency.lexicon import build_lexicon
from eigentext.constituency.params import LatentParams, Smoothing, count_states, estimate
from eigentext.errors import SettingsError
from eigentext.linalg.determinism import single_threaded
from eigentext.trees.constituent import Tree

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sequence

    from eigentext.constituency.treebank import Treebank

    Progress = Callable[[int, int, str], None]

__all__ = ["LPCFG", "Parse"]


@dataclass(frozen=True)
class Parse:
    """The answer for one sentence.

    ``tree``       the best tree; its words are the tokens as they were given
    ``log_score``  log of the product of rule posteriors (max-rule-product), or the decoder's own
    ``kbest``      (log_score, tree) of the k best different trees, the best first
    ``marginals``  (start, end, label) -> posterior of that constituent
    ``flags``      ``relaxed`` pruning had to be loosened, ``fallback`` no parse: a flat tree,
                   ``unknown`` a word was never seen in training
    """

    tree: Tree
    log_score: float
    kbest: tuple[tuple[float, Tree], ...] = ()
    marginals: dict[tuple[int, int, str], float] = field(default_factory=dict)
    flags: frozenset[str] = frozenset()


class LPCFG:
    """A latent-variable PCFG parser.

    ``states``      most latent states a nonterminal may have (m); 1 is the plain PCFG
    ``ensemble``    number of models; more than one are trained with noise on the features
    ``em``          EM iterations after the spectral start
    ``decoder``     max-rule-product, max-recall or viterbi
    ``beam, threshold``  pruning of the coarse pass

    >>> from eigentext.datasets import load_english
    >>> trees = [Tree.from_brackets(line) for line in load_english("train")]
    >>> parser = LPCFG(states=2).fit(trees)
    >>> print(parser.parse("The farmer sold the horse .".split()).tree)
    (TOP (S (NP (DT The) (NN farmer)) (VP (VBD sold) (NP (DT the) (NN horse))) (. .)))
    """

    def __init__(
        self,
        *,
        states: int = 16,
        ensemble: int = 1,
        em: int = 0,
        decoder: str = "max-rule-product",
        beam: float = 1e-4,
        threshold: float = 1e-4,
        per_state: int = 10,
        kappa: float = 5.0,
        dropout: float = 0.2,
        noise: float = 0.2,
        grammar: GrammarSettings | None = None,
        smoothing: Smoothing | None = None,
        seed: int = 0,
    ) -> None:
        if decoder not in DECODERS:
            raise SettingsError(f"decoder must be one of {', '.join(DECODERS)}, not {decoder!r}")
        if not 1 <= states <= 64:
            raise SettingsError(f"states must lie between 1 and 64, not {states}")
        if ensemble < 1 or em < 0:
            raise SettingsError("ensemble must be at least 1 and em at least 0")
        self.states = states
        self.ensemble = ensemble
        self.em = em
        self.decoder = decoder
        self.beam = beam
        self.threshold = threshold
        self.per_state = per_state
        self.kappa = kappa
        self.dropout = dropout
        self.noise = noise
        self.grammar = grammar or GrammarSettings()
        self.smoothing = smoothing or Smoothing()
        self.seed = seed

    # -- learning ------------------------------------------------------------------------------

    def fit(self, trees: Iterable[Tree], *, progress: Progress | None = None) -> LPCFG:
        """Learn from trees with words and labels of any kind."""
        bank, self.wrapper_ = read_treebank(trees, self.grammar)
        self.labels_ = bank.labels
        self.coarse_ = CoarseGrammar.from_treebank(bank)
        with single_threaded():
            self.params_ = [
                self._fit_one(bank, number, progress) for number in range(self.ensemble)
            ]
        return self

    def _fit_one(self, bank: Treebank, number: int, progress: Progress | None) -> LatentParams:
        alone = self.ensemble == 1
        settings = SpectralSettings(
            states=self.states,
            per_state=self.per_state,
            kappa=self.kappa,
            dropout=0.0 if alone else self.dropout,
            noise=0.0 if alone else self.noise,
        )
        state, m = cluster_states(bank, settings, seed=self.seed + number, progress=progress)
        over_words = np.flatnonzero(bank.token >= 0)
        lexicon = build_lexicon(bank, m, state[over_words], None, language=self.grammar.language)
        params = estimate(bank, m, count_states(bank, state, m), lexicon, self.smoothing)
        if self.em:
            params = run_em(
                bank, params, self.em, self.smoothing, self.grammar.language, progress=progress
            ).params
        return params

    # -- parsing -------------------------------------------------------------------------------

    def parse(
        self,
        tokens: Sequence[str],
        *,
        kbest: int = 1,
        marginals: bool = False,
        constraints: Constraints | None = None,
    ) -> Parse:
        """Parse one tokenised sentence; there is always a tree."""
        if isinstance(tokens, str):
            raise TypeError("parse takes a list of tokens, not a str; did you mean text.split()?")
        words = list(tokens)
        if not words:
            raise SettingsError("cannot parse a sentence without tokens")
        flags = set()
        if not all(self.params_[0].lexicon.knows(word) for word in words):
            flags.add("unknown")
        masks = build_masks(len(words), self.labels_, constraints)
        emissions = [
            [params.lexicon.emission(word, first=i == 0) for i, word in enumerate(words)]
            for params in self.params_
        ]
        chart = build_chart(
            self.coarse_, self.params_[0].lexicon, emissions[0],
            beam=self.beam, threshold=self.threshold, masks=masks,
        )  # fmt: skip
        passes = []
        if chart is not None:
            found = map(fine_pass, [chart] * len(emissions), self.params_, emissions)
            passes = [p for p in found if p is not None]
        if chart is None or not passes:
            return Parse(self._flat(words), float("-inf"), flags=frozenset(flags | {"fallback"}))
        if chart.relaxed:
            flags.add("relaxed")
        scores = decoder_scores(chart, passes, self.decoder)
        trees: dict[Tree, float] = {}
        # Different binary trees may be one tree after undoing: look at more until k are different.
        for score, tree in best_trees(
            chart, scores, self.labels_, words, max(kbest * 10, 1) if kbest > 1 else 1
        ):
            trees.setdefault(restore(tree, self.wrapper_), score)
            if len(trees) == kbest:
                break
        ranked = tuple((score, tree) for tree, score in trees.items())
        best_score, best = ranked[0]
        return Parse(
            best,
            best_score,
            ranked if kbest > 1 else (),
            self._marginals(chart, passes) if marginals else {},
            frozenset(flags),
        )

    def _flat(self, words: Sequence[str]) -> Tree:
        """A tree for a sentence that the grammar cannot parse: tags under one node."""
        lexicon = self.params_[0].lexicon
        tags = []
        for i, word in enumerate(words):
            emission = lexicon.emission(word, first=i == 0)
            label = lexicon.tags[emission.tags[int(np.argmax(emission.scores))]]
            tags.append((self.labels_[label], word))
        top = self.wrapper_ if self.wrapper_ else "X"
        bare = restore(Tree.from_nested(("X", *tags)), None)
        return restore(bare, top if top != "X" else None)

    def _marginals(self, chart: Any, passes: Any) -> dict[tuple[int, int, str], float]:
        from eigentext.trees.binarise import is_intermediate
        from eigentext.trees.unary import split_chain

        posterior = np.mean([p.items for p in passes], axis=0)
        spans = chart.spans
        found: dict[tuple[int, int, str], float] = {}
        for item, value in enumerate(posterior.tolist()):
            label = self.labels_[chart.item_label[item]]
            if is_intermediate(label):
                continue
            start, end = spans[chart.item_span[item]].tolist()
            for name in dict.fromkeys(split_chain(label)):
                key = (start, end, name)
                found[key] = found.get(key, 0.0) + value
        return found

    # -- files ---------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, by name (scikit-learn manners)."""
        return {
            "states": self.states, "ensemble": self.ensemble, "em": self.em,
            "decoder": self.decoder, "beam": self.beam, "threshold": self.threshold,
            "per_state": self.per_state, "kappa": self.kappa, "dropout": self.dropout,
            "noise": self.noise, "grammar": self.grammar, "smoothing": self.smoothing,
            "seed": self.seed,
        }  # fmt: skip

    def save(self, path: str | os.PathLike[str], *, data: dict[str, Any] | None = None) -> None:
        """Write a model file of kind ``lpcfg``."""
        from eigentext.constituency.storage import save_model

        settings = self.get_params()
        settings["grammar"] = asdict(self.grammar)
        settings["smoothing"] = asdict(self.smoothing)
        save_model(
            path, settings, self.labels_, self.wrapper_, self.coarse_, self.params_, data=data
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LPCFG:
        """Read a model file of kind ``lpcfg``; parses come out the same."""
        from eigentext.constituency.storage import load_model

        settings, labels, wrapper, coarse, params = load_model(path)
        settings["grammar"] = GrammarSettings(**settings["grammar"])
        settings["smoothing"] = Smoothing(**settings["smoothing"])
        model = cls(**settings)
        model.labels_, model.wrapper_ = labels, wrapper
        model.coarse_, model.params_ = coarse, params
        return model
