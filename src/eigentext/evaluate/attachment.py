"""Attachment scores of dependency trees by the rules of the CoNLL 2018 shared task.

The text may be cut into words and sentences differently: words are aligned by characters.

    precision = correct / system words     recall = correct / gold words     F1 = 2 P R / (P + R)

With the same words on both sides the three are one number, the accuracy.  Relations are compared
without subtypes (``nsubj:pass`` is ``nsubj``) unless they are asked for.  UAS: heads agree; LAS:
heads and relations; CLAS: LAS over content relations only; MLAS: CLAS with tags, features and
function words; BLEX: CLAS with lemmas.  These three are defined for the relations of Universal
Dependencies; for a treebank with others there are none.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from eigentext.base.engines import using_cluster
from eigentext.base.parallel import side_by_side
from eigentext.errors import SettingsError
from eigentext.evaluate.alignment import Words
from eigentext.evaluate.attachment_counts import (
    AlignedTexts,
    DistanceRow,
    LengthRow,
    RelationRow,
    WordScore,
    always,
    by_distance,
    by_length,
    by_relation,
    other_relations,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from eigentext.evaluate import bootstrap
    from eigentext.language.formats.conllu import Treebank


@dataclass(frozen=True)
class AttachmentResult:
    """All scores; ``scores`` by name, the usual ones as attributes too (F1 in percent).

    ``sentence_counts`` and ``head_counts`` have for each gold sentence the words with the right
    head and relation, and with the right head: (correct, gold, system).  ``other_relations`` has
    the gold relations that are not those of Universal Dependencies, where a treebank goes by such.
    """

    scores: dict[str, WordScore]
    sentence_counts: tuple[WordScore, ...] = field(repr=False)
    head_counts: tuple[WordScore, ...] = field(repr=False)
    by_relation: tuple[RelationRow, ...] = field(repr=False)
    by_length: tuple[LengthRow, ...] = field(repr=False)
    by_distance: tuple[DistanceRow, ...] = field(repr=False)
    other_relations: tuple[str, ...] = field(default=(), repr=False)

    @property
    def uas(self) -> float:
        """Unlabelled attachment score."""
        return self.scores["UAS"].f1

    @property
    def las(self) -> float:
        """Labelled attachment score."""
        return self.scores["LAS"].f1

    @property
    def clas(self) -> float | None:
        """Labelled attachment score of content words; None where relations are not UD's."""
        return self.scores["CLAS"].f1 if "CLAS" in self.scores else None

    @property
    def n_complete(self) -> int:
        """Gold sentences whose every word has the right head and relation."""
        return sum(0 < score.gold == score.correct for score in self.sentence_counts)

    @property
    def complete_match(self) -> float:
        """Percentage of the gold sentences whose every word has the right head and relation."""
        return _complete(self.sentence_counts)

    @property
    def unlabelled_complete_match(self) -> float:
        """Percentage of the gold sentences whose every word has the right head."""
        return _complete(self.head_counts)

    def as_dict(self) -> dict[str, float | None]:
        """F1 of every measure, and complete matches, in percent; None: not defined here."""
        figures: dict[str, float | None] = {name: score.f1 for name, score in self.scores.items()}
        figures |= dict.fromkeys(_CONTENT_MEASURES if self.other_relations else ())
        complete = {"UCM": self.unlabelled_complete_match, "LCM": self.complete_match}
        return {**figures, **complete}


_CONTENT_MEASURES = ("CLAS", "MLAS", "BLEX")


def _complete(counts: Sequence[WordScore]) -> float:
    """Share of the sentences all of whose counted words are right; none counted: left out."""
    whole = [score.correct == score.gold for score in counts if score.gold]
    return 100.0 * sum(whole) / len(whole) if whole else 0.0


def spans_score(gold: list[tuple[int, int]], system: list[tuple[int, int]]) -> WordScore:
    """How many spans both sides have."""
    common = Counter(gold) & Counter(system)
    return WordScore(common.total(), len(gold), len(system))


def evaluate(
    gold: Treebank,
    system: Treebank,
    *,
    punctuation: bool = True,
    subtypes: bool = False,
    length_width: int = 10,
) -> AttachmentResult:
    """Score the system's trees against the gold trees of the same text.

    Either side is a file, a Doc, or a list of sentences or Docs.

    ``punctuation=False`` leaves words that the gold side calls punctuation (relation ``punct`` or
    tag ``PUNCT``) out of every count, complete matches and tables too; other words that hang from
    them still count.  ``subtypes=True`` compares relations as they stand.  Measures are counted
    side by side, by as many processes as there are cores in use.

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> words = ["dogs", "bark", "."]
    >>> gold = make_sentence(words, head=[2, 0, 2], deprel=["nsubj", "root", "punct"])
    >>> system = make_sentence(words, head=[2, 0, 1], deprel=["obj", "root", "punct"])
    >>> result = evaluate([gold], [system])
    >>> round(result.uas, 1), round(result.las, 1), result.scores["UAS without punct"].f1
    (66.7, 33.3, 100.0)
    >>> evaluate([gold], [system], punctuation=False).unlabelled_complete_match
    100.0
    """
    if length_width < 1:
        raise SettingsError(f"length_width is {length_width}, expected 1 or more")
    mine, its = Words.of(gold, subtypes=subtypes), Words.of(system, subtypes=subtypes)
    both = AlignedTexts(mine, its, punctuation=punctuation)
    spoken = AlignedTexts(mine, its, punctuation=False) if punctuation else both
    others = other_relations(mine)
    measures: dict[str, Callable[[], WordScore]] = {
        "Tokens": partial(spans_score, mine.token_spans, its.token_spans),
        "Sentences": partial(spans_score, mine.sentence_spans, its.sentence_spans),
        **{
            name: partial(both.count, *question)
            for name, question in both.questions().items()
            if not others or name not in _CONTENT_MEASURES
        },
        "UAS without punct": partial(spoken.count, spoken.same_head, always),
        "LAS without punct": partial(spoken.count, spoken.labelled, always),
    }
    tables: list[Callable[[], Any]] = [
        partial(both.by_sentence, both.same_head),
        partial(both.by_sentence, both.labelled),
        partial(by_relation, both),
        partial(by_distance, both),
    ]
    with using_cluster(None):  # to send all words there would take longer than to count
        counted = iter(list(side_by_side([*measures.values(), *tables])))
    scores = {name: next(counted) for name in measures}
    headed, labelled, relations, distances = counted
    return AttachmentResult(
        scores=scores,
        sentence_counts=labelled,
        head_counts=headed,
        by_relation=relations,
        by_length=by_length(mine.sizes, headed, labelled, length_width),
        by_distance=distances,
        other_relations=tuple(others),
    )


def compare_systems(
    first: AttachmentResult,
    second: AttachmentResult,
    *,
    measure: Literal["UAS", "LAS"] = "LAS",
    method: Literal["bootstrap", "permutation"] = "bootstrap",
    n_samples: int = 10_000,
    seed: int = 0,
) -> bootstrap.Comparison:
    """Paired test over sentences of two systems scored on the same gold trees.

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> gold = [make_sentence(["dogs", "bark"], head=[2, 0])] * 30
    >>> worse = [make_sentence(["dogs", "bark"], head=[0, 1])] * 5 + gold[5:]
    >>> found = compare_systems(evaluate(gold, gold), evaluate(gold, worse), measure="UAS")
    >>> round(found.difference, 2), found.p_value < 0.05
    (16.67, True)
    """
    from eigentext.evaluate.bootstrap import compare

    if measure not in ("UAS", "LAS"):
        raise SettingsError(f"measure {measure!r}, expected 'UAS' or 'LAS'")
    first_counts, second_counts = (
        result.head_counts if measure == "UAS" else result.sentence_counts
        for result in (first, second)
    )
    if [score.gold for score in first_counts] != [score.gold for score in second_counts]:
        raise SettingsError("the two systems were not scored on the same gold sentences")
    return compare(first_counts, second_counts, method=method, n_samples=n_samples, seed=seed)
