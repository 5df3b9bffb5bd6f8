"""``LPCFG``: fit on trees, parse and score sentences, save and load.

1. ``fit`` prepares the trees, learns latent states and estimates one or several sets of parameters
   over the same rules (``learn``).
2. ``parse`` prunes with the plain PCFG, runs every model over the surviving rule applications,
   puts their posteriors together and decodes; the user's own tokens and labels come back.
   With a reranker (``rerank``) the order of the best trees is its own.
3. ``log_prob`` and ``sentence_log_prob`` give log probabilities.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from eigentext.base.cores import Device
from eigentext.base.model import Model
from eigentext.base.parallel import in_order
from eigentext.base.progress import Progress
from eigentext.base.registry import part
from eigentext.base.remembering import Remembered
from eigentext.base.settings import values_of
from eigentext.base.tokens import checked_item, checked_tokens, each_sentence
from eigentext.base.values import Named, Whole
from eigentext.constituency.answer import (
    Parse,
    RankedTree,
    SentenceToParse,
    constituent_marginals,
    pieces,
    put_together,
    retagged,
    single_word,
    word_emissions,
)
from eigentext.constituency.brackets import learn_bracket_model
from eigentext.constituency.chart.coarse import (
    STEPS,
    Chart,
    CoarseGrammar,
    beam_for,
    best_pieces,
    build_chart,
)
from eigentext.constituency.chart.constraints import Constraints, Masks, build_masks
from eigentext.constituency.chart.decode import (
    DerivationForest,
    Skeleton,
    best_skeleton,
    decoder_scores,
    kbest_forest,
    viterbi_skeleton,
)
from eigentext.constituency.chart.fine import FinePass, coarse_pass, fine_pass
from eigentext.constituency.forms import capitals_tell
from eigentext.constituency.grammar import Grammar
from eigentext.constituency.learn.models import learn_models
from eigentext.constituency.learn.semi import FreeText, SemiResult
from eigentext.constituency.lexicon import Emission
from eigentext.constituency.rerank import N_TREES, LabelTable, Reranker, tree_list
from eigentext.constituency.scoring import (
    forest_log_p,
    log_mean,
    plain_log_p,
    skeleton_log_p,
    tree_log_p,
    words_log_p,
)
from eigentext.constituency.settings import DECODERS, MOST_WORDS, Decoder, LPCFGSettings, Smoothing
from eigentext.constituency.storage import MOST_MODELS, ParserContent
from eigentext.constituency.transform import head_rules, prepare_tree, read_treebank, restore
from eigentext.errors import SettingsError
from eigentext.features.word_classes import WordClasses
from eigentext.language.formats.ptb import each_tree
from eigentext.language.trees.constituent import Tree

Emissions = Sequence[Sequence[Emission]]  # of each model, of each word


_WIDER = 1e-3  # times beam and threshold: a chart with many more trees
_UNDER_TAGS = 0.01  # of the bracket threshold: required tags say what it cannot know
NO_STATES = "viterbi needs states, which models of the estimators clustering and em have"


class _Options(NamedTuple):
    """How a sentence is parsed."""

    decoder: Decoder
    kbest: int
    marginals: bool


class _Decoded(NamedTuple):
    """A binary tree, the decoder's score, and log p up to the words' constant if it is known."""

    score: float
    skeleton: Skeleton
    log_p: float | None = None


@dataclass(eq=False, repr=False)
class LPCFG(Model, LPCFGSettings):
    """A latent-variable PCFG parser.

    >>> from eigentext.datasets import load_english
    >>> from eigentext.language.trees.constituent import Tree
    >>> trees = [Tree.from_brackets(line) for line in load_english("train")]
    >>> parser = LPCFG(n_states=2).fit(trees)
    >>> print(parser.parse("The farmer sold the horse .".split()).tree)
    (TOP (S (NP (DT The) (NN farmer)) (VP (VBD sold) (NP (DT the) (NN horse))) (. .)))
    """

    KIND = "lpcfg"
    CONTENT = ParserContent
    SIZED_BY = Named({"n_models": Whole(1, MOST_MODELS)})

    def check(self) -> None:
        """Raise SettingsError for settings that are not as declared, or exclude each other."""
        super().check()
        if not isinstance(self.smoothing, Smoothing):
            raise SettingsError(f"smoothing is {self.smoothing!r}, expected a Smoothing")
        for name in ("inside", "outside"):
            if not getattr(self, name):
                raise SettingsError(f"{name} names no group of features, expected at least one")
        if self.estimator == "mixed" and self.n_models < 2:
            raise SettingsError("estimator mixed needs n_models of at least 2")
        if self.estimator == "moments" and self.n_iter:
            raise SettingsError("EM cannot go on from the signed numbers of moments")
        if self.decoder is not None:
            self._check_decoder(self.decoder)

    def _check_decoder(self, decoder: Decoder, kbest: int = 1) -> None:
        if decoder not in DECODERS:
            raise SettingsError(f"decoder must be one of {', '.join(DECODERS)}, not {decoder!r}")
        if decoder == "viterbi" and (kbest > 1 or self.n_models > 1):
            raise SettingsError(
                "viterbi gives the best tree of one model; for several trees or models use "
                "max-constituents, max-rule-product or max-recall"
            )
        if decoder == "viterbi" and self.estimator == "moments":
            raise SettingsError(NO_STATES)

    # -- learning ------------------------------------------------------------------------------

    def fit(
        self,
        X: Iterable[Tree],
        y: None = None,
        *,
        classes: WordClasses | None = None,
        text: FreeText | None = None,
        progress: Progress | None = None,
    ) -> LPCFG:
        """Learn from trees with words and labels of any kind: a list, a file, or a Doc.

        ``classes`` tell of rare and unknown words, ``text`` has sentences without trees.
        """
        self.check()
        settings = LPCFGSettings(**values_of(self))
        if text is not None and settings.estimator is None:
            settings = replace(settings, estimator="clustering")  # EM needs probabilities
        if self.rerank:
            X = list(each_tree(X))
        bank, wrapper = read_treebank(X, settings)
        bank = replace(bank, classes=classes)
        coarse = CoarseGrammar.from_treebank(bank, settings.smoothing.k_root)
        # scores, or a product of many: nobody asks for the probabilities of their states
        small = settings.n_models > 1 or settings.usual_estimator == "moments"
        models = learn_models(bank, settings, progress=progress)
        rank = settings.rank
        semi: SemiResult | None = None
        if text is not None:
            from eigentext.constituency.learn.semi import learn_semi

            grammar = Grammar(bank.labels, wrapper, coarse, tuple(models))
            grammar, semi = learn_semi(grammar, bank, text, settings, progress=progress)
            coarse, models, small = grammar.coarse, iter(grammar.params), False
        if rank is not None:
            models = (model.in_products(rank) for model in models)
        elif small:
            models = (model.in_low_rank() for model in models)
        grammar = Grammar(bank.labels, wrapper, coarse, tuple(models))
        if settings.bracket_weight:
            brackets = learn_bracket_model(
                bank, grammar.lexicon, seed=settings.seed, progress=progress
            )
            grammar = replace(grammar, brackets=brackets)
        self.grammar_, self.semi_ = grammar, semi
        self.reranker_ = self._learn_reranker(X, classes, progress) if self.rerank else None
        return self

    def _learn_reranker(
        self, trees: Iterable[Tree], classes: WordClasses | None, progress: Progress | None
    ) -> Reranker:
        """Learn from lists of parsers of one moments model each, which are trained fast."""
        from eigentext.constituency.rerank import learn_reranker

        single_model = {"n_models": 1, "estimator": "moments", "n_iter": None, "rerank": False}
        settings = {**values_of(self), **single_model, "decoder": "max-rule-product"}

        def fit(others: Sequence[Tree]) -> LPCFG:
            return LPCFG(**settings).fit(others, classes=classes)

        return learn_reranker(list(trees), fit, self.language, progress=progress)

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
        self.check_fitted()
        sentence = _checked_sentence(tokens)
        chosen = decoder or self.decoder or self._usual_decoder
        self.settings_._check_decoder(chosen, kbest)
        if chosen == "viterbi" and self.grammar_.signed:
            raise SettingsError(NO_STATES)
        if kbest < 1:
            raise SettingsError(f"kbest must be at least 1, not {kbest}")
        grammar, constraints = self.grammar_, constraints or Constraints()
        if len(sentence) > self.longest:
            if constraints:
                raise self._too_long(sentence, "constraints are for")
            spans = pieces(sentence, self.longest)
            parses = [
                self.parse(sentence[i:j], marginals=marginals, decoder=decoder) for i, j in spans
            ]
            starts = [i for i, _ in spans]
            whole = put_together(parses, starts, grammar.roots[:1], grammar.wrapper)
            return _with_flag(whole, "split", kbest)
        words = grammar.forms(sentence)
        options = _Options(chosen, kbest, marginals)

        def request_for(constraints: Constraints, *, stand_ins: bool = False) -> SentenceToParse:
            emissions = word_emissions(
                grammar.params, grammar.labels, words, constraints, stand_ins=stand_ins
            )
            spans = replace(constraints, tags=None) if stand_ins else constraints
            return SentenceToParse(sentence, words, emissions, self._masks(words, spans), spans)

        usual = request_for(constraints)
        answer = self._parsed(usual, options)
        if answer is None and constraints.tags:
            answer = self._parsed(request_for(constraints, stand_ins=True), options)
            if answer is not None:
                answer = _retagged(answer, constraints.tags)
        if answer is None:
            answer = _with_flag(self._in_pieces(usual, options), "fallback", kbest)
        if not all(map(grammar.lexicon.knows, words)):
            answer = _with_flag(answer, "unknown")
        return answer

    def _parsed(
        self, request: SentenceToParse, options: _Options, steps: Sequence[float] = STEPS
    ) -> Parse | None:
        """The best tree of the grammar; None where it has none."""
        chosen, kbest, marginals = options
        tokens, words, emissions, masks, _ = request
        chart, passes = self._chart(emissions, masks, self.beam, self.threshold, steps)
        if chart is None:
            return None
        flags = {"relaxed"} if chart.relaxed else set()
        candidates: list[RankedTree] = []
        if passes:
            skeletons = self._decode(chart, passes, emissions, chosen, kbest, words)
            candidates = self._distinct(skeletons, kbest, tokens, words, emissions, flags)
        if candidates and len(candidates) < kbest:
            # pruning left fewer trees than were asked for: those of a larger chart follow
            larger, more_passes = self._chart(
                emissions, masks.opened(), self.beam * _WIDER, self.threshold * _WIDER
            )
            if larger is not None and more_passes:
                skeletons = self._decode(larger, more_passes, emissions, chosen, kbest)
                more = self._distinct(skeletons, kbest, tokens, words, emissions)
                candidates = _followed_by(candidates, more, kbest)
        if not candidates and (coarse := coarse_pass(chart)) is not None:
            flags = (flags - {"negative"}) | {"coarse"}
            passes = [coarse]
            chosen = "max-rule-product" if chosen == "viterbi" else chosen
            skeletons = self._decode(chart, passes, emissions, chosen, kbest)
            candidates = self._distinct(skeletons, kbest, tokens, words, emissions)
        if not candidates:
            return None
        best = candidates[0]
        return Parse(
            best.tree,
            best.log_score,
            best.log_prob,
            tuple(candidates) if kbest > 1 else (),
            constituent_marginals(chart, passes, self.grammar_.labels) if marginals else {},
            frozenset(flags),
        )

    def _in_pieces(self, request: SentenceToParse, options: _Options) -> Parse:
        """A tree of the best pieces, each parsed as it is or again in pieces."""
        grammar, n = self.grammar_, len(request.words)
        if n == 1:
            return single_word(request, grammar)
        cuts = np.ones(n + 1, bool)
        for start, end, *_ in request.constraints.required:
            if (start, end) != (0, n):
                cuts[start + 1 : end] = False
        share = STEPS[-1]
        spans = best_pieces(
            grammar.coarse,
            grammar.params[0].lexicon,
            request.emissions[0],
            beam=beam_for(self.beam, n) * share,
            masks=request.masks.opened(share),
            cuts=cuts,
        )
        single_best = options._replace(kbest=1)
        parses = []
        for start, end in spans:
            piece = request.part(start, end)
            whole = self._parsed(piece, single_best, (share,)) if end - start > 1 else None
            parses.append(whole or self._in_pieces(piece, single_best))
        above = request.constraints.labels_of_all(n)
        above = [label for label in above if label != grammar.wrapper]
        forbidden = request.constraints.forbidden
        usual = [label for label in grammar.roots if (0, n, label) not in map(tuple, forbidden)]
        return put_together(
            parses, [i for i, _ in spans], above or usual[:1] or ["X"], grammar.wrapper
        )

    def parse_many(
        self,
        sentences: Iterable[Sequence[str]],
        *,
        jobs: int = 1,
        kbest: int = 1,
        marginals: bool = False,
        decoder: Decoder | None = None,
        device: Device = "cpu",
    ) -> Iterator[Parse | None]:
        """Parse sentences in their order; None for one without tokens.

        ``jobs`` processes share the work; the answers do not depend on it.  On a graphics card
        (``device`` "cuda") some thousand sentences are parsed at a time, by one process; "auto"
        takes the card if there is one and it can do what is asked.
        """
        self.check_fitted()
        if self.why_not_card(device, decoder, kbest=kbest, marginals=marginals) is None:
            chosen = decoder or self.decoder or self._usual_decoder
            # a sentence without tokens is one to be passed over
            checked = (_checked_sentence(s) if s else s for s in each_sentence(sentences))
            parses: Iterator[Parse | None] = self._on_the_card().parse_many(checked, chosen)
            return parses
        work = partial(_parse_all, kbest=kbest, marginals=marginals, decoder=decoder)
        answers = in_order(work, each_sentence(sentences), state=self, jobs=jobs)
        return (answer for _, answer in answers)

    def why_not_card(
        self,
        device: Device,
        decoder: Decoder | None = None,
        *,
        kbest: int = 1,
        marginals: bool = False,
    ) -> str | None:
        """Why :meth:`parse_many` parses on the processor; None where the card does it."""
        self.check_fitted()
        chosen = decoder or self.decoder or self._usual_decoder
        why: str | None = part("why no constituency parser on a card")(
            self, device, chosen, kbest, marginals
        )
        return why

    def _on_the_card(self) -> Any:
        """This parser with its grammar on the card, made once; no pickle has it."""
        memory: Remembered[str, Any] = vars(self).get("_on_card") or Remembered(4)
        parser = memory.get("card")
        if parser is None or parser.grammar is not self.grammar_:
            parser = memory.put("card", part("constituency parser on a card")(self))
            self._on_card = memory
        return parser

    def predict(self, X: Iterable[Sequence[str]], *, jobs: int = 1) -> list[Tree]:
        """The best trees of sentences."""
        answers = self.parse_many(map(_checked_sentence, each_sentence(X)), jobs=jobs)
        return [answer.tree for answer in answers if answer is not None]

    def score(self, X: Sequence[Tree], y: None = None) -> float:
        """F1 on the words of gold trees by EVALB's rules, from 0 to 1."""
        from eigentext.constituency.learn.search import f1_on

        self.check_fitted()
        return f1_on(self, list(each_tree(X))) / 100

    def _masks(self, words: Sequence[str], constraints: Constraints) -> Masks:
        """What the spans of a sentence may be, and what the bracket model says of them."""
        grammar = self.grammar_
        masks = build_masks(len(words), grammar.labels, constraints, grammar.wrapper)
        if grammar.brackets is None or len(words) < 3:
            return masks
        folded = not capitals_tell(words, grammar.lexicon.seen)
        brackets = grammar.brackets.judge(
            words, grammar.lexicon, folded=folded, required=constraints.required
        )
        share = _UNDER_TAGS if constraints.tags else 1.0
        return brackets.weigh(masks, self.bracket_weight, self.bracket_threshold * share)

    def _chart(
        self,
        emissions: Emissions,
        masks: Masks,
        beam: float,
        threshold: float,
        steps: Sequence[float] = STEPS,
    ) -> tuple[Chart | None, list[FinePass]]:
        grammar, n = self.grammar_, len(emissions[0])
        chart = build_chart(
            grammar.coarse,
            grammar.params[0].lexicon,
            emissions[0],
            beam=beam_for(beam, n),
            threshold=threshold,
            masks=masks,
            steps=steps,
        )
        if chart is None:
            return None, []
        passes = map(fine_pass, [chart] * len(emissions), grammar.params, emissions)
        return chart, [posteriors for posteriors in passes if posteriors is not None]

    def _decode(
        self,
        chart: Chart,
        passes: Sequence[FinePass],
        emissions: Emissions,
        decoder: Decoder,
        kbest: int,
        reranked: Sequence[str] | None = None,
    ) -> Iterator[_Decoded]:
        """Binary trees by falling score, or in the reranker's order, which looks at the words."""
        grammar, reranker = self.grammar_, self.reranker_
        if decoder == "viterbi":
            best = viterbi_skeleton(chart, grammar.params[0], emissions[0])
            return iter(() if best is None else (_Decoded(*best),))
        scores = decoder_scores(chart, passes, decoder, grammar.chains)
        if decoder != "max-rule-product" or reranked is None:
            reranker = None
        if kbest == 1 and reranker is None:
            best = best_skeleton(chart, scores)
            return iter(() if best is None else (_Decoded(*best),))
        table = self.label_table
        n_trees = kbest if reranker is None else max(kbest, N_TREES)
        forest = kbest_forest(chart, scores, n_trees, table.spliced)
        ranks = range(len(forest.roots))
        if reranker is not None and reranked is not None:
            trees = tree_list(forest, table)
            ranks = reranker.order(trees, len(passes), reranked, table).tolist()
        # of one tree alone log p is found faster from its skeleton
        log_p = forest_log_p(grammar, forest, emissions).tolist() if kbest > 1 else None
        return (
            _Decoded(float(forest.scores[rank]), forest.skeleton(rank), log_p and log_p[rank])
            for rank in ranks
        )

    @property
    def _usual_decoder(self) -> Decoder:
        """The best there is, unless told; a reranker is for the trees of max-rule-product."""
        reranks = self.reranker_ is not None and len(self.reranker_.weights.keys) > 0
        return "max-rule-product" if reranks else "max-constituents"

    @property
    def label_table(self) -> LabelTable:
        """Labels and rules of the grammar as the k best trees and the reranker see them."""
        self.check_fitted()
        grammar = self.grammar_
        cached: tuple[Grammar, LabelTable] | None = vars(self).get("_label_table")
        if cached is None or cached[0] is not grammar:
            rules = head_rules(self.settings_)
            cached = grammar, LabelTable.of(grammar.labels, grammar.coarse.rules, rules)
            self._label_table = cached
        return cached[1]

    def forest(self, tokens: Sequence[str], k: int) -> DerivationForest | None:
        """The k best trees by max-rule-product as a forest; None where the models have none."""
        self.check_fitted()
        grammar = self.grammar_
        words = grammar.forms(_checked_sentence(tokens))
        if len(words) > self.longest:
            return None
        emissions = word_emissions(grammar.params, grammar.labels, words, None)
        masks = self._masks(words, Constraints())
        chart, passes = self._chart(emissions, masks, self.beam, self.threshold)
        if chart is None or not passes:
            return None
        scores = decoder_scores(chart, passes, "max-rule-product", grammar.chains)
        return kbest_forest(chart, scores, k, self.label_table.spliced)

    def _distinct(
        self,
        decoded: Iterator[_Decoded],
        kbest: int,
        tokens: Sequence[str],
        words: Sequence[str],
        emissions: Emissions,
        flags: set[str] | None = None,
    ) -> list[RankedTree]:
        """The first k that are still different when the binarisation is undone."""
        # ``tokens`` stand in the trees, ``words`` are their forms in the treebank.  ``flags`` say
        # whether the models have no log p of the best.
        grammar = self.grammar_
        trees: set[Tree] = set()
        candidates: list[RankedTree] = []
        of_words = words_log_p(words, grammar)
        for score, skeleton, log_p in decoded:
            tree = restore(skeleton.tree(grammar.labels, tokens), grammar.wrapper)
            if tree in trees:
                continue
            trees.add(tree)
            if log_p is None:
                log_p = skeleton_log_p(grammar, skeleton, emissions)
            if log_p == float("-inf"):
                log_p = plain_log_p(grammar, skeleton, emissions[0])
                if flags is not None and not candidates:
                    flags.add("negative")
            candidates.append(RankedTree(score, tree, log_p + of_words))
            if len(candidates) == kbest:
                break
        return candidates

    # -- probabilities -------------------------------------------------------------------------

    def log_prob(self, tree: Tree) -> float:
        """log p(tree, words); -inf for one with a rule or a tag that training never saw.

        Under the plain PCFG where the models' score is not above zero, as moments' may be.
        Traces, function tags and the wrapper on top are taken off first, as in training.
        """
        self.check_fitted()
        tree = checked_item(Tree, tree, "a tree")
        binary = prepare_tree(tree, self.settings_, head_rules(self.settings_))
        return float("-inf") if binary is None else tree_log_p(self.grammar_, binary)

    def sentence_log_prob(self, tokens: Sequence[str], *, exact: bool = False) -> float:
        """log p(words): the sum over all trees that pruning leaves, or over all (``exact``).

        Tags that the lexicon holds 100,000 times less likely than a word's best are not summed.
        Where the models' sum is not above zero it is the plain PCFG's; where the grammar has no
        tree, the ``log_prob`` of the tree that :meth:`parse` puts together.
        """
        self.check_fitted()
        grammar = self.grammar_
        words = grammar.forms(_checked_sentence(tokens))
        if len(words) > self.longest:
            raise self._too_long(words, "log p(words) is for")
        emissions = word_emissions(grammar.params, grammar.labels, words, None)
        pruning = (0.0, 0.0) if exact else (self.beam, self.threshold)
        masks = build_masks(len(words), grammar.labels, None, grammar.wrapper)
        chart, passes = self._chart(emissions, masks, *pruning)
        if chart is None:
            return self.parse(tokens).log_prob
        lost = len(grammar.params) - len(passes)
        log_zs = [p.log_z if p.sign > 0 else float("-inf") for p in passes]
        log_z = log_mean(log_zs + [float("-inf")] * lost)
        if log_z == float("-inf"):
            log_z = chart.log_z
        return log_z + words_log_p(words, grammar)

    def _too_long(self, tokens: Sequence[str], what: str) -> SettingsError:
        return SettingsError(
            f"{what} sentences of at most {self.longest} words, not {len(tokens)}; the setting "
            f"longest may be up to {MOST_WORDS}"
        )

    # -- files ---------------------------------------------------------------------------------

    def _summary(self) -> str:
        labels, rules = len(self.grammar_.labels), len(self.grammar_.coarse.rules)
        return f"{labels:,} nonterminals, {rules:,} rules"


def _parse_all(
    parser: LPCFG, sentences: list[Sequence[str]], **options: Any
) -> list[Parse | None]:
    return [parser.parse(tokens, **options) if tokens else None for tokens in sentences]


def _with_flag(answer: Parse, flag: str, kbest: int = 1) -> Parse:
    """The same with one flag more; with several trees asked for, the only one there is."""
    kept = answer.kbest or (
        (RankedTree(answer.log_score, answer.tree, answer.log_prob),) if kbest > 1 else ()
    )
    return replace(answer, flags=answer.flags | {flag}, kbest=kept)


def _retagged(answer: Parse, tags: Mapping[int, str]) -> Parse:
    """The same with the tags required in place of those that stood in for them."""
    kept = tuple(each._replace(tree=retagged(each.tree, tags)) for each in answer.kbest)
    return replace(
        answer, tree=retagged(answer.tree, tags), kbest=kept, flags=answer.flags | {"fallback"}
    )


def _followed_by(
    candidates: Sequence[RankedTree], more: Iterable[RankedTree], kbest: int
) -> list[RankedTree]:
    """The first k of both lists; scores of two charts differ a little, and still do not rise."""
    earlier = {candidate.tree for candidate in candidates}
    least = min(candidate.log_score for candidate in candidates)
    new = [candidate for candidate in more if candidate.tree not in earlier]
    following = [each._replace(log_score=min(each.log_score, least)) for each in new]
    return [*candidates, *following][:kbest]


def _checked_sentence(tokens: object) -> list[str]:
    """The tokens of a sentence that can be parsed."""
    checked = checked_tokens(tokens)
    if not checked or "" in checked:
        raise SettingsError("cannot parse a sentence without tokens, or with an empty token")
    return checked
