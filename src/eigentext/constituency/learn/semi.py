"""EM that goes on from trees to sentences without trees, or with only some brackets (section 8).

Each round:

1. E-step on the trees, as in ``em``: expected states of known skeletons.
2. E-step on each sentence: the pruned chart within its brackets, both sweeps of each model (the
   cores in use share out the sentences), and from them the expected rules, words and roots with
   states, as in a tree, times a weight.
3. M-step: ``params.estimate`` on the sum of both; the coarse grammar gets the same counts without
   states, so that it goes on pruning for the grammar that there is now.

The counts of the trees stay in the sum with weight 1: no rule of the treebank can vanish.  A word
that only the sentences have becomes a word of the lexicon with its expected, weighted counts.
With ``Smoothing.none()``, no pruning and weight 1 this is EM, and the likelihood of trees and
sentences never falls (up to single precision).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from eigentext.base.cores import in_turn
from eigentext.base.progress import Progress
from eigentext.base.tokens import checked_tokens
from eigentext.base.types import Float64s, Int64s
from eigentext.constituency.answer import word_emissions
from eigentext.constituency.chart.coarse import STEPS, Chart, CoarseGrammar, build_chart
from eigentext.constituency.chart.constraints import Constraints, build_masks
from eigentext.constituency.chart.fine import Sweeps, fine_sweeps
from eigentext.constituency.grammar import Grammar
from eigentext.constituency.learn.em import expect_states
from eigentext.constituency.lexicon import Lexicon, build_lexicon
from eigentext.constituency.params import LatentCounts, LatentParams, RuleTotals, estimate
from eigentext.constituency.settings import LPCFGSettings
from eigentext.constituency.treebank import Treebank
from eigentext.errors import SettingsError
from eigentext.language.trees.clean import WRAPPERS, clean
from eigentext.language.trees.constituent import Tree
from eigentext.linalg.ties import single_threaded

_Swept = tuple[Chart, list[Sweeps | None]]


_BLANK = ("", "X")  # labels that say "a constituent" and no more


@dataclass(frozen=True)
class FreeText:
    """Sentences without trees.

    Settings of the parser say what an expected count is worth (``unlabelled_weight``,
    ``partial_weight``), and how many rounds of EM there are (``unlabelled_rounds``).
    """

    unlabelled: Iterable[Sequence[str]] = ()  # lists of tokens
    # pairs of tokens and what is known of the tree
    partial: Iterable[tuple[Sequence[str], Constraints]] = ()
    longest: int = 40  # longer sentences are skipped and counted
    least: float = 1e-4  # posteriors of so much or less count for nothing

    def __post_init__(self) -> None:
        if self.longest < 1:
            raise SettingsError(f"longest must be 1 or more, not {self.longest}")
        if not 0 <= self.least < 1:
            raise SettingsError(f"least must be at least 0 and less than 1, not {self.least}")


@dataclass(frozen=True)
class SemiResult:
    """What became of the sentences.

    ``log_likelihoods``  weighted, of trees and sentences before each round, mean of the models;
    tags that are given are taken for granted
    ``n_used, n_long, n_unparsed``  sentences: learned from in the last round, too long, without a
    parse (or with a label that the treebank does not have)
    """

    log_likelihoods: tuple[float, ...]
    n_used: int
    n_long: int
    n_unparsed: int


class _Sentence(NamedTuple):
    words: list[str]
    constraints: Constraints | None
    weight: float


class Expected(NamedTuple):
    """What the sentences add to one model's counts: flat tensors, roots, and (word, ts) pairs."""

    tensor: Float64s
    roots: Float64s
    pairs: list[tuple[str, Int64s, Float64s]]

    @classmethod
    def none(cls, params: LatentParams) -> Expected:
        """Nothing yet."""
        return cls(np.zeros(len(params.tensor)), np.zeros(int(params.m.sum())), [])

    def words(self) -> tuple[Int64s, Float64s]:
        """The (tag, state) of all words end to end, and how often each is expected."""
        ts = np.concatenate([np.empty(0, np.int64), *(ts for _, ts, _ in self.pairs)])
        return ts, np.concatenate([np.empty(0), *(n for _, _, n in self.pairs)])


def partial_brackets(tree: Tree, *, cut_tags: bool = False) -> tuple[list[str], Constraints]:
    """What a tree with some brackets says: labels X and none at all mean any constituent.

    A bracket without a label around a single word says nothing; ``cut_tags`` as in training.

    >>> from eigentext.language.trees.constituent import Tree
    >>> tokens, known = partial_brackets(Tree.from_brackets("(X (NP the (X big) (NN dog)) barks)"))
    >>> tokens, known.required, known.tags
    (['the', 'big', 'dog', 'barks'], ((0, 4), (0, 3, 'NP')), {2: 'NN'})
    """
    cleaned = clean(tree, tag_functions=cut_tags)
    if cleaned is None:
        raise SettingsError("a tree with some brackets needs at least one word")
    required: list[tuple[int, int] | tuple[int, int, str]] = []
    tags: dict[int, str] = {}
    n = len(cleaned)
    for label, size, (start, end) in zip(
        cleaned.labels, cleaned.sizes.tolist(), cleaned.spans().tolist(), strict=True
    ):
        if size == 1 or (label in WRAPPERS and (start, end) == (0, n)):
            continue
        if size == 2:
            if label not in _BLANK:
                tags[start] = label
        elif label not in _BLANK:
            required.append((start, end, label))
        elif end - start > 1:
            required.append((start, end))
    return list(cleaned.words), Constraints(tuple(required), (), tags or None)


def learn_semi(
    grammar: Grammar,
    bank: Treebank,
    text: FreeText,
    settings: LPCFGSettings,
    *,
    progress: Progress | None = None,
) -> tuple[Grammar, SemiResult]:
    """Rounds of EM over the trees that the grammar was learned from and over the text."""
    if grammar.signed:
        raise SettingsError(
            "sentences without trees need the estimator clustering or em: EM cannot go on from "
            "the signed numbers of moments"
        )
    sentences = list(_sentences(grammar, text, settings))
    short = [sentence for sentence in sentences if len(sentence.words) <= text.longest]
    history, n_used = [], 0
    with single_threaded():
        for number in range(settings.unlabelled_rounds):
            params = grammar.params
            expected = [Expected.none(model) for model in params]
            # E-step of the sentences: every model adds to its own expected counts
            likelihood, n_used = 0.0, 0
            swept = in_turn(partial(_sweep, grammar, settings), short)
            for done, (sentence, posteriors) in enumerate(zip(short, swept, strict=True)):
                if progress is not None:
                    progress(done, len(short), f"sentences without trees, round {number + 1}")
                gained = _expect(grammar, sentence, posteriors, text.least, expected)
                if gained is not None:
                    n_used += 1
                    likelihood += gained
            # M-step, with the E-step of the trees in it
            totals = RuleTotals.of(bank)
            added = [_totals(model, new) for model, new in zip(params, expected, strict=True)]
            steps = [
                _maximise(settings, bank, model, new, totals.plus(more))
                for model, new, more in zip(params, expected, added, strict=True)
            ]
            # the models share one chart, so the coarse grammar gets the mean of what they expect
            mean = RuleTotals(*(np.mean(column, axis=0) for column in zip(*added, strict=True)))
            k_root = settings.smoothing.k_root
            coarse = CoarseGrammar.from_treebank(bank, k_root, totals.plus(mean))
            grammar = replace(grammar, coarse=coarse, params=tuple(model for model, _ in steps))
            history.append(likelihood + float(np.mean([log_p for _, log_p in steps])))
    n_long = len(sentences) - len(short)
    return grammar, SemiResult(tuple(history), n_used, n_long, len(short) - n_used)


def _sentences(grammar: Grammar, text: FreeText, settings: LPCFGSettings) -> Iterable[_Sentence]:
    unlabelled = ((tokens, None, settings.unlabelled_weight) for tokens in text.unlabelled)
    partial = ((tokens, brackets, settings.partial_weight) for tokens, brackets in text.partial)
    for raw, brackets, weight in chain(unlabelled, partial):
        tokens = checked_tokens(raw)
        if tokens and weight:
            yield _Sentence(grammar.forms(tokens), brackets, weight)


def _sweep(grammar: Grammar, settings: LPCFGSettings, sentence: _Sentence) -> _Swept | None:
    """What the cores in use share out: the chart of a sentence, and both sweeps of every model."""
    # None when the sentence has no parse, and where a model gives it no weight.
    params, words = grammar.params, sentence.words
    try:
        masks = build_masks(len(words), grammar.labels, sentence.constraints, grammar.wrapper)
    except SettingsError:  # a label that the treebank does not have, or brackets that cross
        return None
    emissions = word_emissions(params, grammar.labels, words, sentence.constraints)
    chart = build_chart(
        grammar.coarse,
        params[0].lexicon,
        emissions[0],
        beam=settings.beam,
        threshold=settings.threshold,
        masks=masks,
        steps=STEPS[:1],
    )
    if chart is None:
        return None
    return chart, [fine_sweeps(chart, *model) for model in zip(params, emissions, strict=True)]


def _expect(
    grammar: Grammar,
    sentence: _Sentence,
    swept: _Swept | None,
    least: float,
    expected: Sequence[Expected],
) -> float | None:
    """Add what a sentence says: its weighted log-likelihood, or None when it has no parse."""
    if swept is None:
        return None
    chart, all_sweeps = swept
    log_ps = []
    for model, sweeps, into in zip(grammar.params, all_sweeps, expected, strict=True):
        if sweeps is None or sweeps.sign < 0:
            continue
        add_sentence(chart, model, sweeps, sentence.words, sentence.weight, least, into)
        log_ps.append(sweeps.log_z + sum(map(model.lexicon.log_p_word, sentence.words)))
    return sentence.weight * float(np.mean(log_ps)) if log_ps else None


def add_sentence(
    chart: Chart,
    params: LatentParams,
    swept: Sweeps,
    words: Sequence[str],
    weight: float,
    least: float,
    into: Expected,
) -> None:
    """Add the expected counts of one chart."""
    # E[rule, h1, h2, h3] = sum over applications of outside[parent][h1] tensor[r][h1, h2, h3]
    #                       inside[left][h2] inside[right][h3] / Z
    from eigentext.constituency.kernels.fine import chart_counts

    chart_counts(
        chart.applications, params.tensors, chart.item_span, swept, weight, least, into.tensor
    )
    # inside * outside is the posterior of a state: of the roots and of the words it is the count
    posterior = (swept.inside * swept.outside).astype(float)  # p(item, h | words)
    for item in chart.root_items:
        a = chart.item_label[item]
        states = slice(params.label_ptr[a], params.label_ptr[a + 1])
        into.roots[states] += weight * posterior[swept.item_ptr[item] : swept.item_ptr[item + 1]]
    lexicon = params.lexicon
    for item in np.flatnonzero(chart.word_of_item >= 0).tolist():
        t = int(np.searchsorted(lexicon.tags, chart.item_label[item]))
        n = posterior[swept.item_ptr[item] : swept.item_ptr[item + 1]]
        if n.sum() > least:
            ts = np.arange(lexicon.tag_ptr[t], lexicon.tag_ptr[t + 1])
            into.pairs.append((words[chart.word_of_item[item]], ts, weight * n))


def _totals(params: LatentParams, new: Expected) -> RuleTotals:
    """The expected counts without states."""
    n_labels, lexicon = len(params.m), params.lexicon
    rules = np.add.reduceat(np.append(new.tensor, 0.0), params.rule_ptr[:-1])[: len(params.rules)]
    ts, n = new.words()
    over_words = np.bincount(lexicon.tags[lexicon.ts_tag[ts]], n, n_labels).astype(float)
    labels = over_words + np.bincount(params.rules[:, 0], rules, n_labels).astype(float)
    roots = np.add.reduceat(new.roots, params.label_ptr[:-1])  # over the states
    return RuleTotals(rules, labels, over_words, roots)


def _maximise(
    chosen: LPCFGSettings, bank: Treebank, params: LatentParams, new: Expected, totals: RuleTotals
) -> tuple[LatentParams, float]:
    """One model's M-step, and the log-likelihood of the trees before it."""
    counts, words, log_prob = expect_states(bank, params)
    log_prob += sum(map(params.lexicon.log_p_word, bank.words))
    lexicon = build_lexicon(bank, params.m, words, chosen.smoothing)
    states = counts.states + _states(params, new)  # n(a, h) of trees and sentences
    if new.pairs:
        lexicon = _with_words(lexicon, new)
    summed = LatentCounts(counts.tensor + new.tensor, states, counts.roots + new.roots)
    return estimate(bank, params.m, summed, lexicon, chosen.smoothing, totals), log_prob


def _states(params: LatentParams, new: Expected) -> Float64s:
    """(sum m,) expected states: as parents of rules and over words, so that they share to one."""
    a, b, c = params.rules.T
    m, n_states = params.m, int(params.m.sum())
    parent = np.repeat(np.arange(len(params.rules)), m[a])
    first = np.cumsum(m[a]) - m[a]
    x = np.arange(len(parent)) - first[parent]
    width = (m[b] * m[c])[parent]  # numbers of a tensor for one state of the parent
    states = np.zeros(n_states)
    if len(width):
        starts = params.rule_ptr[:-1][parent] + x * width
        sums = np.add.reduceat(new.tensor, starts)  # n(r, h1): over the states of both children
        states += np.bincount(params.label_ptr[a][parent] + x, sums, minlength=n_states)
    lexicon, (ts, n) = params.lexicon, new.words()
    tag = lexicon.ts_tag[ts]
    np.add.at(states, params.label_ptr[lexicon.tags[tag]] + ts - lexicon.tag_ptr[tag], n)
    return states


def _with_words(lexicon: Lexicon, new: Expected) -> Lexicon:
    """The lexicon with expected counts added, and with words that only the sentences have."""
    from scipy.sparse import coo_array, csr_array

    number = dict(lexicon.word_number)
    row = [number.setdefault(word, len(number)) for word, _, _ in new.pairs]
    rows = np.repeat(row, [len(ts) for _, ts, _ in new.pairs])
    ts, n = new.words()
    shape = (len(number), lexicon.n_ts)
    ends = np.append(
        lexicon.word_ptr, np.full(len(number) - len(lexicon.words), len(lexicon.word_n))
    )
    in_trees = csr_array((lexicon.word_n, lexicon.word_ts, ends), shape=shape)
    both = (in_trees + coo_array((n, (rows, ts)), shape=shape).tocsr()).tocsr()
    both.sum_duplicates()
    return replace(
        lexicon,
        words=tuple(number),
        word_ptr=both.indptr.astype(np.int64),
        word_ts=both.indices.astype(np.int64),
        word_n=both.data.astype(float),
    )
