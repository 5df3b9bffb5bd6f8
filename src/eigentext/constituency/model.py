"""``LPCFG``: fit on trees, parse and score sentences, save and load.

1. ``fit`` prepares the trees, learns latent states and estimates one or several sets of parameters
   over the same rules (``estimators``).
2. ``parse`` prunes with the plain PCFG, runs every model over the surviving rule applications,
   multiplies their posteriors and decodes; the user's own tokens and labels come back.
3. ``score_tree`` and ``sentence_log_score`` give log probabilities.
4. ``save`` and ``load`` go through a model file of kind ``lpcfg``.
"""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cached_property
from inspect import signature
from typing import TYPE_CHECKING, Any

from eigentext.constituency.answer import (
    Candidate,
    Parse,
    checked_tokens,
    constituent_posteriors,
    flat_tree,
    likeliest_tags,
    word_emissions,
)
from eigentext.constituency.chart import CoarseGrammar, beam_for, build_chart
from eigentext.constituency.choose_states import States, checked_states
from eigentext.constituency.constraints import Constraints, build_masks
from eigentext.constituency.decode import (
    DECODERS,
    Decoder,
    best_trees,
    decoder_scores,
    viterbi_tree,
)
from eigentext.constituency.features import INSIDE_GROUPS, OUTSIDE_GROUPS, checked_groups
from eigentext.constituency.fine import coarse_pass, fine_pass
from eigentext.constituency.forms import treebank_forms
from eigentext.constituency.grammar import (
    GrammarSettings,
    read_treebank,
    restore,
)
from eigentext.constituency.long_sentences import (
    LONGEST,
    MOST,
    checked_longest,
    pieces,
    put_together,
)
from eigentext.constituency.params import MomentSmoothing, Smoothing
from eigentext.constituency.scoring import (
    RuleNumbers,
    log_mean,
    skeleton_log_score,
    skeleton_of,
    tree_log_score,
    words_log_p,
)
from eigentext.constituency.training import RECIPES, Recipe, TrainingSettings, learn_models
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from eigentext.constituency.chart import Chart
    from eigentext.constituency.fine import FinePass
    from eigentext.constituency.learn_moments import Scheme
    from eigentext.constituency.learn_semi import FreeText, SemiResult
    from eigentext.constituency.lexicon import Emission
    from eigentext.constituency.params import LatentParams
    from eigentext.constituency.word_classes import WordClasses
    from eigentext.trees.constituent import Tree

    Progress = Callable[[int, int, str], None]

__all__ = ["LPCFG", "Parse"]

_MORE = 10  # so many binary trees are looked at for each tree wanted


class LPCFG:
    """A latent-variable PCFG parser.

    ``states``      most latent states a nonterminal may have (m); 1 is the plain PCFG; auto: as
                    many as its singular values above the noise (``choose_states``)
    ``estimator``   clustering, em (from a random start), moments (signed scores),
                    or mixed (an ensemble of clustering and moments in turn); None: clustering for
                    one model, mixed for several
    ``ensemble``    number of models; more than one are trained with noise on the features
    ``em``          EM iterations; None: 50 for the em estimator, one after clustering
    ``decoder``     max-rule-product, max-recall or viterbi
    ``beam, threshold``  pruning of the coarse pass; 0 prunes nothing
    ``longest``     words of a sentence that is parsed whole; one of more is cut into pieces, see
                    ``long_sentences``
    ``per_state``   so many nodes of a nonterminal are needed for each of its states
    ``kappa, dropout, noise``  of the spectral features, see ``learn_clusters``
    ``inside, outside``  groups of features, see ``features``
    ``plain, scheme, moment_smoothing``  of moments: figure 4 as it is; all nodes of each tree or
                    one-per-tree; strengths of its back-offs

    >>> from eigentext.datasets import load_english
    >>> from eigentext.trees.constituent import Tree
    >>> trees = [Tree.from_brackets(line) for line in load_english("train")]
    >>> parser = LPCFG(states=2).fit(trees)
    >>> print(parser.parse("The farmer sold the horse .".split()).tree)
    (TOP (S (NP (DT The) (NN farmer)) (VP (VBD sold) (NP (DT the) (NN horse))) (. .)))
    """

    labels_: tuple[str, ...]
    wrapper_: str | None
    coarse_: CoarseGrammar
    params_: list[LatentParams]
    semi_: SemiResult  # of the last fit with ``text``

    def __init__(
        self,
        *,
        states: States = 16,
        estimator: Recipe | None = None,
        ensemble: int = 1,
        em: int | None = None,
        decoder: Decoder = "max-rule-product",
        beam: float = 1e-4,
        threshold: float = 1e-4,
        longest: int = LONGEST,
        per_state: int = 10,
        kappa: float = 50.0,
        dropout: float = 0.3,
        noise: float = 0.3,
        inside: Sequence[str] = INSIDE_GROUPS,
        outside: Sequence[str] = OUTSIDE_GROUPS,
        plain: bool = False,
        scheme: Scheme = "all",
        grammar: GrammarSettings | None = None,
        smoothing: Smoothing | None = None,
        moment_smoothing: MomentSmoothing | None = None,
        seed: int = 0,
    ) -> None:
        if estimator is not None and estimator not in RECIPES:
            raise SettingsError(
                f"estimator must be one of {', '.join(RECIPES)}, not {estimator!r}"
            )
        if estimator == "mixed" and ensemble < 2:
            raise SettingsError("a mixed ensemble has at least 2 models")
        if ensemble < 1 or per_state < 1:
            raise SettingsError("ensemble and per_state must be at least 1")
        if em is not None and em < 0:
            raise SettingsError(f"em must be at least 0, not {em}")
        if not (0 <= beam < 1 and 0 <= threshold < 1):
            raise SettingsError("beam and threshold must be at least 0 and less than 1")
        if estimator == "moments" and em:
            raise SettingsError("EM cannot go on from the signed numbers of moments")
        self.states: States = checked_states(states)
        self.estimator: Recipe | None = estimator
        self.ensemble = ensemble
        self.em = em
        self.decoder: Decoder = self._checked(decoder)
        self.beam = beam
        self.threshold = threshold
        self.longest = checked_longest(longest)
        self.per_state = per_state
        self.kappa = kappa
        self.dropout = dropout
        self.noise = noise
        self.inside, self.outside = checked_groups(inside, outside)
        self.plain = plain
        self.scheme: Scheme = scheme
        self.grammar = grammar or GrammarSettings()
        self.smoothing = smoothing or Smoothing()
        self.moment_smoothing = moment_smoothing or MomentSmoothing()
        self.seed = seed

    def _checked(self, decoder: Decoder, kbest: int = 1) -> Decoder:
        if decoder not in DECODERS:
            raise SettingsError(f"decoder must be one of {', '.join(DECODERS)}, not {decoder!r}")
        if decoder == "viterbi" and (kbest > 1 or self.ensemble > 1):
            raise SettingsError(
                "viterbi gives the best tree of one model; for several trees or models use "
                "max-rule-product or max-recall"
            )
        if decoder == "viterbi" and self.estimator == "moments":
            raise SettingsError("viterbi needs states; the moments estimator has none")
        return decoder

    # -- learning ------------------------------------------------------------------------------

    def fit(
        self,
        trees: Iterable[Tree],
        *,
        classes: WordClasses | None = None,
        text: FreeText | None = None,
        progress: Progress | None = None,
    ) -> LPCFG:
        """Learn from trees with words and labels of any kind.

        ``classes`` tell of rare and unknown words, ``text`` has sentences without trees.
        """
        bank, self.wrapper_ = read_treebank(trees, self.grammar)
        bank = replace(bank, classes=classes)
        self.labels_ = bank.labels
        self.coarse_ = CoarseGrammar.from_treebank(bank, self.smoothing.k_root)
        self.__dict__.pop("rule_numbers", None)
        settings = TrainingSettings(
            self.estimator,
            self.states,
            self.ensemble,
            self.em,
            self.per_state,
            self.kappa,
            self.dropout,
            self.noise,
            self.plain,
            self.scheme,
            self.smoothing,
            self.grammar.language,
            self.seed,
            self.moment_smoothing,
            self.inside,
            self.outside,
        )
        self.params_ = learn_models(bank, settings, progress=progress)
        if text is not None:
            from eigentext.constituency.learn_semi import learn_semi

            self.semi_ = learn_semi(self, bank, text, progress=progress)
        return self

    # -- parsing -------------------------------------------------------------------------------

    def parse(
        self,
        tokens: Sequence[str],
        *,
        kbest: int = 1,
        marginals: bool = False,
        constraints: Constraints | None = None,
        decoder: Decoder | None = None,
    ) -> Parse:
        """Parse one tokenised sentence; there is always a tree."""
        self._fitted()
        given = checked_tokens(tokens)
        chosen = self._checked(decoder or self.decoder, kbest)
        if kbest < 1:
            raise SettingsError(f"kbest must be at least 1, not {kbest}")
        if len(given) > self.longest:
            if constraints:
                raise self._too_long(given, "constraints are for")
            spans = pieces(given, self.longest)
            parses = [
                self.parse(given[i:j], kbest=kbest, marginals=marginals, decoder=decoder)
                for i, j in spans
            ]
            return put_together(parses, [i for i, _ in spans], self.wrapper_, kbest=kbest)
        words = self.forms(given)
        flags = set()
        if not all(map(self.params_[0].lexicon.knows, words)):
            flags.add("unknown")
        emissions = word_emissions(self.params_, self.labels_, words, constraints)
        chart, passes = self._chart(emissions, constraints, self.beam, self.threshold)
        candidates: list[Candidate] = []
        if chart is not None:
            if chart.relaxed:
                flags.add("relaxed")
            if passes:
                found = self._decode(chart, passes, emissions, chosen, given, kbest)
                candidates = self._distinct(found, kbest, words, emissions)
            if not candidates and (coarse := coarse_pass(chart)) is not None:
                flags.add("coarse")
                passes = [coarse]
                chosen = "max-recall" if chosen == "max-recall" else "max-rule-product"
                found = self._decode(chart, passes, emissions, chosen, given, kbest)
                candidates = self._distinct(found, kbest, words, emissions)
        if chart is None or not candidates:
            tags = likeliest_tags(self.params_[0].lexicon, emissions[0], self.labels_)
            required = constraints.required if constraints else ()
            tree = flat_tree(tags, given, required, self.wrapper_)
            return Parse(tree, float("-inf"), flags=frozenset(flags | {"fallback"}))
        best = candidates[0]
        if best.log_p == float("-inf") and "coarse" not in flags:
            flags.add("negative")
        return Parse(
            best.tree,
            best.log_score,
            best.log_p,
            tuple(candidates) if kbest > 1 else (),
            constituent_posteriors(chart, passes, self.labels_) if marginals else {},
            frozenset(flags),
        )

    def forms(self, tokens: Sequence[str]) -> list[str]:
        """The treebank's way to write each token: ``(`` is ``-LRB-`` in most of them."""
        return treebank_forms(tokens, self.params_[0].lexicon.seen)

    def _chart(
        self,
        emissions: Sequence[Sequence[Emission]],
        constraints: Constraints | None,
        beam: float,
        threshold: float,
    ) -> tuple[Chart | None, list[FinePass]]:
        masks = build_masks(len(emissions[0]), self.labels_, constraints, self.wrapper_)
        chart = build_chart(
            self.coarse_,
            self.params_[0].lexicon,
            emissions[0],
            beam=beam_for(beam, len(emissions[0])),
            threshold=threshold,
            masks=masks,
        )
        if chart is None:
            return None, []
        found = map(fine_pass, [chart] * len(emissions), self.params_, emissions)
        return chart, [one for one in found if one is not None]

    def _decode(
        self,
        chart: Chart,
        passes: Sequence[FinePass],
        emissions: Sequence[Sequence[Emission]],
        decoder: Decoder,
        words: Sequence[str],
        kbest: int,
    ) -> Iterator[tuple[float, Tree]]:
        """Binary trees by falling score."""
        if decoder == "viterbi":
            found = viterbi_tree(chart, self.params_[0], emissions[0], self.labels_, words)
            return iter(() if found is None else (found,))
        scores = decoder_scores(chart, passes, decoder)
        return best_trees(chart, scores, self.labels_, words, kbest * _MORE if kbest > 1 else 1)

    def _distinct(
        self,
        binary_trees: Iterator[tuple[float, Tree]],
        kbest: int,
        words: Sequence[str],
        emissions: Sequence[Sequence[Emission]],
    ) -> list[Candidate]:
        """The first k that are still different when the binarisation is undone."""
        seen: set[Tree] = set()
        found: list[Candidate] = []
        of_words = words_log_p(words, self.params_[0])
        for score, binary in binary_trees:
            tree = restore(binary, self.wrapper_)
            if tree in seen:
                continue
            seen.add(tree)
            skeleton = skeleton_of(binary, self.rule_numbers)
            if skeleton is None:
                raise LookupError("the chart holds a rule that the grammar does not have")
            log_p = log_mean(
                [
                    skeleton_log_score(skeleton, *model)
                    for model in zip(self.params_, emissions, strict=True)
                ]
            )
            found.append(Candidate(score, tree, log_p + of_words))
            if len(found) == kbest:
                break
        return found

    # -- scoring -------------------------------------------------------------------------------

    @cached_property
    def rule_numbers(self) -> RuleNumbers:
        """Names of labels and rules to numbers."""
        return RuleNumbers.of(self.labels_, self.coarse_.rules)

    def score_tree(self, tree: Tree) -> float:
        """log p(tree, words); -inf for one with a rule or a tag that training never saw."""
        self._fitted()
        return tree_log_score(self, tree)

    def sentence_log_score(self, tokens: Sequence[str], *, exact: bool = False) -> float:
        """log p(words): the sum over all trees that pruning leaves, or over all (``exact``).

        Tags that the lexicon holds 100,000 times less likely than a word's best are not summed.
        """
        self._fitted()
        words = self.forms(checked_tokens(tokens))
        if len(words) > self.longest:
            raise self._too_long(words, "log p(words) is for")
        emissions = word_emissions(self.params_, self.labels_, words, None)
        pruning = (0.0, 0.0) if exact else (self.beam, self.threshold)
        chart, passes = self._chart(emissions, None, *pruning)
        if chart is None or not passes:
            return float("-inf")
        lost = [float("-inf")] * (len(self.params_) - len(passes))
        log_z = log_mean([one.log_z if one.sign > 0 else float("-inf") for one in passes] + lost)
        return log_z + words_log_p(words, self.params_[0])

    def _too_long(self, tokens: Sequence[str], what: str) -> SettingsError:
        return SettingsError(
            f"{what} sentences of at most {self.longest} words, not {len(tokens)}; the setting "
            f"longest may be up to {MOST}"
        )

    def _fitted(self) -> None:
        if not hasattr(self, "params_"):
            raise SettingsError("this parser is not trained: call fit, or LPCFG.load")

    # -- files ---------------------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, by name (scikit-learn manners)."""
        return {name: getattr(self, name) for name in signature(LPCFG).parameters}

    def save(self, path: str | os.PathLike[str], *, data: dict[str, Any] | None = None) -> None:
        """Write a model file of kind ``lpcfg``."""
        from eigentext.constituency.storage import save_model

        self._fitted()
        settings = self.get_params()
        for name in ("grammar", "smoothing", "moment_smoothing"):
            settings[name] = asdict(settings[name])
        save_model(
            path, settings, self.labels_, self.wrapper_, self.coarse_, self.params_, data=data
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LPCFG:
        """Read a model file of kind ``lpcfg``; parses come out the same."""
        from eigentext.constituency.storage import load_model

        return load_model(cls, path)
