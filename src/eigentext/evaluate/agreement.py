"""Do annotators agree, and how sure is that?

- One value per item: raw agreement P_o, and figures that take away what chance would give, P_e:

      kappa = (P_o - P_e) / (1 - P_e)

  With p_1(c), p_2(c) the shares of value c of the two annotators, P_e = sum_c p_1(c) p_2(c) (Cohen
  1960); with p(c) the share among all annotators, P_e = sum_c p(c)^2, and P_o is the mean over
  items of the share of agreeing pairs (Fleiss 1971).
- Krippendorff's alpha for nominal values (Krippendorff 2011) allows missing values: with n_c the
  times value c stands in items that have m >= 2 values, n their sum, and o_cc the pairs within an
  item that both are c, each weighted by 1 / (m - 1),

      alpha = 1 - (n - 1) (n - sum_c o_cc) / (n^2 - sum_c n_c^2)

Kappa and alpha are at most 1, and 0 where annotators agree as often as by chance; the others are
in percent.  A figure that is not defined (all values are one value; neither has a span) is nan.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from eigentext.base.types import Float64s
from eigentext.errors import SettingsError
from eigentext.evaluate.bootstrap import f1, interval
from eigentext.evaluate.parseval import score_pair
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.trees.constituent import Tree

Counts = Float64s
Triple = tuple[int, int, int]
Arc: TypeAlias = "tuple[int, str] | None"
Values: TypeAlias = "Sequence[Hashable | None]"  # of one annotator or item; None: missing
Groups: TypeAlias = "Sequence[Hashable] | None"  # the sentence of each item


@dataclass(frozen=True)
class Agreement:
    """A figure of agreement with its interval.

    ``n_items``   what was compared: words, spans of both, brackets of both
    ``n_groups``  what was drawn anew for the interval: sentences, or items by themselves
    """

    measure: str
    value: float
    low: float
    high: float
    n_items: int
    n_groups: int
    confidence: float = 0.95

    def as_record(self) -> dict[str, object]:
        """Plain data for JSON; None where the figure is not defined.

        >>> raw_agreement(["a"], ["a"]).as_record()["value"]
        100.0
        """
        numbers = {name: _plain(getattr(self, name)) for name in ("value", "low", "high")}
        return {
            "measure": self.measure,
            **numbers,
            "confidence": self.confidence,
            "items": self.n_items,
            "sentences": self.n_groups,
        }


def _plain(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 4)


def _drawn(
    measure: str,
    counts: Sequence[Sequence[float]] | Counts,
    figure: Callable[[Counts], Counts],
    n_items: int,
    n_samples: int,
    seed: int,
) -> Agreement:
    """The figure of counts by group, with its interval."""
    if not len(counts):
        return Agreement(measure, math.nan, math.nan, math.nan, 0, 0)
    drawn = interval(counts, figure=figure, n_samples=n_samples, seed=seed)
    ends = drawn.value, drawn.low, drawn.high
    return Agreement(measure, *ends, n_items, len(counts), drawn.confidence)


def _measured(
    measure: str,
    rows: Sequence[Mapping[int, float]],
    n_counts: int,
    figure: Callable[[Counts], Counts],
    groups: Sequence[Hashable],
    n_samples: int,
    seed: int,
) -> Agreement:
    """The figure of rows (count by column), added up within groups before groups are drawn."""
    number: dict[Hashable, int] = {}
    for group in groups:
        number.setdefault(group, len(number))
    counts = np.zeros((len(number), n_counts))
    for row, group in zip(rows, groups, strict=True):
        for column, times in row.items():
            counts[number[group], column] += times
    return _drawn(measure, counts, figure, len(rows), n_samples, seed)


def _ratio(part: Counts, whole: Counts) -> Counts:
    """part / whole, nan where there is nothing or, but for rounding, no room to disagree."""
    return np.divide(part, whole, out=np.full_like(whole, np.nan), where=whole > 1e-12)


# ---------------------------------------------------------------- one value per item


def _pairs(
    first: Values, second: Values, groups: Groups
) -> tuple[list[tuple[Hashable, Hashable]], list[Hashable]]:
    """Items that both gave a value, and the group of each."""
    if len(first) != len(second) or (groups is not None and len(groups) != len(first)):
        raise SettingsError(
            f"expected a value of both annotators, and a group if any, for each item; found "
            f"{len(first)} and {len(second)} values"
            + ("" if groups is None else f" and {len(groups)} groups")
        )
    kept = [k for k, (a, b) in enumerate(zip(first, second, strict=True)) if None not in (a, b)]
    values: list[tuple[Hashable, Hashable]] = [(first[k], second[k]) for k in kept]
    return values, [k if groups is None else groups[k] for k in kept]


def raw_agreement(
    first: Values, second: Values, *, groups: Groups = None, n_samples: int = 2_000, seed: int = 0
) -> Agreement:
    """Percentage of the items to which both gave the same value; chance is not taken away.

    >>> raw_agreement(["a", "b", "b", None], ["a", "b", "a", "a"]).n_items
    3
    """
    values, of = _pairs(first, second, groups)
    rows = [{0: a == b, 1: 1, 2: 1} for a, b in values]
    return _measured("agreement", rows, 3, f1, of, n_samples, seed)


def cohen_kappa(
    first: Values, second: Values, *, groups: Groups = None, n_samples: int = 2_000, seed: int = 0
) -> Agreement:
    """Cohen's kappa of two annotators; items without a value (None) of one are left out.

    ``groups`` names the sentence of each item: sentences are drawn anew, as their words hang
    together; without, items are.

    >>> round(cohen_kappa(["n", "n", "v", "v"], ["n", "n", "v", "n"]).value, 3)
    0.5
    """
    values, of = _pairs(first, second, groups)
    number: dict[Hashable, int] = {}
    # a value that one of the two never gives agrees with nothing, by chance neither
    for value in {a for a, _ in values} & {b for _, b in values}:
        number[value] = len(number)
    k = len(number)
    rows: list[dict[int, float]] = []
    for a, b in values:
        row: dict[int, float] = {0: a == b, 1: 1}
        if a in number:
            row[2 + number[a]] = 1
        if b in number:
            row[2 + k + number[b]] = 1
        rows.append(row)

    def kappa(counts: Counts) -> Counts:
        n = counts[..., 1]
        chance = (counts[..., 2 : 2 + k] * counts[..., 2 + k :]).sum(-1) / n**2
        return _ratio(counts[..., 0] / n - chance, 1.0 - chance)

    return _measured("Cohen's kappa", rows, 2 + 2 * k, kappa, of, n_samples, seed)


def _tallied(
    ratings: Iterable[Values], groups: Groups
) -> tuple[list[Counter[Hashable]], list[Hashable], dict[Hashable, int]]:
    """How often each value was given to each item, the items' groups, values by number."""
    tallies = [Counter(value for value in item if value is not None) for item in ratings]
    if groups is not None and len(groups) != len(tallies):
        raise SettingsError(f"found {len(groups)} groups for {len(tallies)} items")
    number: dict[Hashable, int] = {}
    for tally in tallies:
        for value in tally:
            number.setdefault(value, len(number))
    return tallies, list(range(len(tallies)) if groups is None else groups), number


def fleiss_kappa(
    ratings: Iterable[Values], *, groups: Groups = None, n_samples: int = 2_000, seed: int = 0
) -> Agreement:
    """Fleiss' kappa: for each item the values of the same number of annotators, in any order.

    >>> round(fleiss_kappa([["a", "a", "b"], ["b", "b", "b"], ["a", "a", "a"]]).value, 3)
    0.55
    """
    tallies, of, number = _tallied(ratings, groups)
    sizes = {tally.total() for tally in tallies}
    if len(sizes) > 1 or (sizes and min(sizes) < 2):
        raise SettingsError(
            f"Fleiss' kappa needs the same number of values for every item, at least 2; found "
            f"{', '.join(map(str, sorted(sizes)))}: Krippendorff's alpha allows missing ones"
        )
    rows = []
    for tally in tallies:
        m = tally.total()
        alike = sum(times * (times - 1) for times in tally.values()) / (m * (m - 1))
        rows.append({0: alike, 1: 1} | {2 + number[v]: times for v, times in tally.items()})

    def kappa(counts: Counts) -> Counts:
        values = counts[..., 2:]
        chance = ((values / values.sum(-1, keepdims=True)) ** 2).sum(-1)
        return _ratio(counts[..., 0] / counts[..., 1] - chance, 1.0 - chance)

    return _measured("Fleiss' kappa", rows, 2 + len(number), kappa, of, n_samples, seed)


def krippendorff_alpha(
    ratings: Iterable[Values], *, groups: Groups = None, n_samples: int = 2_000, seed: int = 0
) -> Agreement:
    """Krippendorff's alpha, nominal: for each item the annotators' values, None where missing.

    An item with fewer than two values says nothing of agreement and is left out.

    >>> round(krippendorff_alpha([["a", "a", None], ["b", "b", "b"], ["a", "b", None]]).value, 3)
    0.5
    """
    tallies, all_groups, number = _tallied(ratings, groups)
    kept = [k for k, tally in enumerate(tallies) if tally.total() > 1]
    rows = []
    for tally in (tallies[k] for k in kept):
        m = tally.total()
        alike = sum(times * (times - 1) for times in tally.values()) / (m - 1)
        rows.append({0: alike} | {1 + number[v]: times for v, times in tally.items()})

    def alpha(counts: Counts) -> Counts:
        n = counts[..., 1:].sum(-1)
        disagreement = (n - 1) * (n - counts[..., 0])
        return 1.0 - _ratio(disagreement, n**2 - (counts[..., 1:] ** 2).sum(-1))

    of = [all_groups[k] for k in kept]
    n_counts = 1 + len(number)
    return _measured("Krippendorff's alpha", rows, n_counts, alpha, of, n_samples, seed)


# ---------------------------------------------------------------- spans, trees


def _same_length(first: Sequence[object], second: Sequence[object], what: str) -> None:
    if len(first) != len(second):
        raise SettingsError(f"found {len(first)} and {len(second)} {what}: expected the same ones")


def f1_agreement(
    measure: str, counts: Sequence[Sequence[float]], *, n_samples: int = 2_000, seed: int = 0
) -> Agreement:
    """F1 of (common, of the first, of the second) by sentence; nan where neither has any.

    >>> f1_agreement("spans", [(3, 4, 4), (0, 0, 0)]).value
    75.0
    """

    def figure(added: Counts) -> Counts:
        return np.where(added[..., 1] + added[..., 2] > 0, f1(added), np.nan)

    n_items = int(sum(row[1] + row[2] - row[0] for row in counts))
    return _drawn(measure, counts, figure, n_items, n_samples, seed)


def span_counts(
    first: Sequence[Collection[Hashable]], second: Sequence[Collection[Hashable]]
) -> list[Triple]:
    """(common, of the first, of the second) for each sentence; a span counts as often as it is.

    A span is anything that can be compared, such as an `evaluate.ner.Entity` with its type.

    >>> span_counts([[("PER", 0, 2), ("LOC", 3, 4)]], [[("PER", 0, 2), ("ORG", 3, 4)]])
    [(1, 2, 2)]
    """
    _same_length(first, second, "sentences")
    return [
        ((Counter(mine) & Counter(its)).total(), len(mine), len(its))
        for mine, its in zip(first, second, strict=True)
    ]


def attachment_counts(
    first: Sequence[Sequence[Arc]],
    second: Sequence[Sequence[Arc]],
    *,
    labelled: bool,
    subtypes: bool = False,
) -> list[Triple]:
    """(agreeing, words, words) for each sentence, over the words that both have an arc for.

    An arc is (head, relation), None where an annotator has not decided.  Relations are compared
    without ``subtypes`` unless asked for, as by `evaluate.attachment`.
    """
    _same_length(first, second, "sentences")

    def same(a: tuple[int, str], b: tuple[int, str]) -> bool:
        if not labelled or a[0] != b[0]:
            return a[0] == b[0]
        if subtypes:
            return a[1] == b[1]
        return a[1].partition(":")[0] == b[1].partition(":")[0]

    counts = []
    for mine, its in zip(first, second, strict=True):
        _same_length(mine, its, "words in a sentence")
        both = [(a, b) for a, b in zip(mine, its, strict=True) if a is not None and b is not None]
        counts.append((sum(same(a, b) for a, b in both), len(both), len(both)))
    return counts


def bracket_counts(
    first: Sequence[Tree], second: Sequence[Tree], settings: EvalbSettings | None = None
) -> list[Triple]:
    """(common, of the first, of the second) brackets for each sentence by EVALB's rules.

    Where the two do not have the same words (one took a word for punctuation, which EVALB takes
    out by its tag), nothing is common.
    """
    _same_length(first, second, "trees")
    scores = [score_pair(a, b, settings) for a, b in zip(first, second, strict=True)]
    return [(s.matched, s.gold + s.lost_gold, s.test + s.lost_test) for s in scores]
