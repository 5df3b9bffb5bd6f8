"""Bracket scores of constituent trees by the rules of EVALB, to the last digit.

Flow of the datum, for each pair of trees:

1. both trees become terminals and labelled brackets; a terminal whose tag is in DELETE_LABEL is
   taken out, so that spans count what is left; the length counts all gold terminals but those in
   DELETE_LABEL_FOR_LENGTH;
2. a prediction without words is *skipped* (status 2); different numbers of words, or different
   words, are an *error* (status 1);
3. brackets over nothing are dropped, labels are cut at the first ``-`` or ``=``, and brackets with
   a deleted label are dropped;
4. brackets are matched one to one, in order, on span and label (EQ_LABEL pairs count as equal);
   a test bracket that crosses any gold bracket is a crossing;
5. the counts become a :class:`SentenceScore`; counts add, and :class:`Summary` divides them:

       recall = matched / gold     precision = matched / test     F1 = 2 P R / (P + R)

Only valid sentences (status 0) enter the figures, as in EVALB.  That flatters: a parser that takes
a word for punctuation loses its whole sentence, and the sentence is left out.  So the brackets of
errors and of skipped sentences are counted apart, and ``f1_with_errors`` takes them as misses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.brackets import Bracketing, Rules
from eigentext.language.formats.blocks import is_file
from eigentext.language.formats.prm import EvalbSettings
from eigentext.language.formats.ptb import each_tree, parse_tree
from eigentext.language.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eigentext.base.files.opening import Source
    from eigentext.language.doc import Doc

Failed = Literal["skip", "empty"]
VALID, ERROR, SKIP = 0, 1, 2
_OF_SENTENCES = ("complete_match", "average_crossing", "no_crossing", "two_or_less_crossing")
_ADDED = ("matched", "gold", "test", "crossing", "words", "correct_tags")


def _percent(part: int, whole: int) -> float:
    return 100.0 * part / whole if whole else 0.0


class BracketFigures:
    """Percentages of added counts."""

    __slots__ = ()
    matched: int
    gold: int
    test: int
    words: int
    correct_tags: int

    @property
    def recall(self) -> float:
        """Percentage of the gold brackets that are in the test tree."""
        return _percent(self.matched, self.gold)

    @property
    def precision(self) -> float:
        """Percentage of the test brackets that are in the gold tree."""
        return _percent(self.matched, self.test)

    @property
    def tag_accuracy(self) -> float:
        """Percentage of the words with the gold tag."""
        return _percent(self.correct_tags, self.words)


@dataclass(frozen=True, slots=True)
class SentenceScore(BracketFigures):
    """The counts of one sentence; of one that is not valid, the last two alone."""

    number: int
    length: int
    status: int = VALID  # 0, or 1 (error) or 2 (skipped)
    matched: int = 0
    gold: int = 0
    test: int = 0
    crossing: int = 0
    words: int = 0
    correct_tags: int = 0
    why: str = ""  # what was wrong
    lost_gold: int = 0  # the brackets of its two trees, where it is not valid
    lost_test: int = 0

    @property
    def f1(self) -> float:
        """Harmonic mean of the two, in percent."""
        return _percent(2 * self.matched, self.gold + self.test)

    @property
    def complete(self) -> bool:
        """Whether the two trees have the same brackets."""
        return self.matched == self.gold == self.test


@dataclass(frozen=True, slots=True)
class Summary(BracketFigures):
    """Totals over sentences; the percentages are over the valid ones."""

    n_sentences: int
    n_errors: int
    n_skipped: int
    matched: int
    gold: int
    test: int
    crossing: int
    words: int
    correct_tags: int
    n_complete: int
    n_no_crossing: int
    n_two_or_less: int
    lost_gold: int
    lost_test: int

    @classmethod
    def of(cls, scores: Iterable[SentenceScore]) -> Summary:
        """Add the counts of sentences up."""
        scores = list(scores)
        valid = [score for score in scores if score.status == VALID]
        return cls(
            n_sentences=len(scores),
            n_errors=sum(score.status == ERROR for score in scores),
            n_skipped=sum(score.status == SKIP for score in scores),
            **{name: sum(getattr(score, name) for score in valid) for name in _ADDED},
            n_complete=sum(score.complete for score in valid),
            n_no_crossing=sum(score.crossing == 0 for score in valid),
            n_two_or_less=sum(score.crossing <= 2 for score in valid),
            lost_gold=sum(score.lost_gold for score in scores),
            lost_test=sum(score.lost_test for score in scores),
        )

    @property
    def n_valid(self) -> int:
        """Sentences that are neither errors nor skipped."""
        return self.n_sentences - self.n_errors - self.n_skipped

    @property
    def f1(self) -> float:
        """Bracketing F1, percent: 2 P R / (P + R)."""
        recall, precision = self.recall, self.precision
        return 2 * precision * recall / (precision + recall) if self.matched else 0.0

    @property
    def f1_with_errors(self) -> float:
        """F1 where all brackets of errors and skipped sentences, of both trees, are misses."""
        brackets = self.gold + self.test + self.lost_gold + self.lost_test
        return _percent(2 * self.matched, brackets)

    @property
    def complete_match(self) -> float:
        """Percentage of the valid sentences with exactly the gold brackets."""
        return _percent(self.n_complete, self.n_valid)

    @property
    def average_crossing(self) -> float:
        """Crossing brackets per valid sentence."""
        return self.crossing / self.n_valid if self.n_valid else 0.0

    @property
    def no_crossing(self) -> float:
        """Percentage of the valid sentences without crossing brackets."""
        return _percent(self.n_no_crossing, self.n_valid)

    @property
    def two_or_less_crossing(self) -> float:
        """Percentage of the valid sentences with at most two crossing brackets."""
        return _percent(self.n_two_or_less, self.n_valid)

    def as_dict(self) -> dict[str, float | int]:
        """The figures by name, for JSON."""
        counts = ("sentences", "errors", "skipped", "valid")
        return {
            **{name: getattr(self, f"n_{name}") for name in counts},
            **{name: getattr(self, name) for name in ("recall", "precision", "f1")},
            "f1_with_errors_as_misses": self.f1_with_errors,
            **{name: getattr(self, name) for name in _OF_SENTENCES},
            "tag_accuracy": self.tag_accuracy,
        }


@dataclass(frozen=True)
class ParsevalResult:
    """All sentences, their summary, and the summary of those no longer than the cut-off."""

    sentences: tuple[SentenceScore, ...]
    settings: EvalbSettings
    all: Summary
    short: Summary

    @property
    def evalb_would_stop(self) -> bool:
        """Whether EVALB itself, with this MAX_ERROR, would have given up on the way."""
        return self.all.n_errors > self.settings.max_error + 1

    def counts(self) -> list[tuple[int, int, int]]:
        """(matched, gold, test) of every sentence: what a paired bootstrap works on."""
        return [(score.matched, score.gold, score.test) for score in self.sentences]


class LengthBucket(NamedTuple):
    """Sentences of a range of lengths, both ends included."""

    shortest: int
    longest: int
    summary: Summary


def parse_prediction(line: str) -> Tree | None:
    """A line of a parser's output; ``()``, ``(())`` and an empty line are a failed parse.

    >>> parse_prediction("(())") is None
    True
    >>> parse_prediction("(NP (NN dog))").words
    ('dog',)
    """
    if not line.replace("(", "").replace(")", "").strip():
        return None
    return parse_tree(line)


def score_pair(
    gold: Tree,
    test: Tree | None,
    settings: EvalbSettings | None = None,
    *,
    number: int = 1,
    failed: Failed = "skip",
) -> SentenceScore:
    """Score one predicted tree; ``None`` is a failed parse.

    >>> gold = Tree.from_brackets("(S (NP (PRP We)) (VP (VBP see) (NP (NNS stars))))")
    >>> test = Tree.from_brackets("(S (NP (PRP We)) (VP (VBP see)) (NP (NNS stars)))")
    >>> score = score_pair(gold, test)
    >>> score.matched, score.gold, score.test
    (3, 4, 4)
    """
    return _score(gold, test, Rules.of(settings or EvalbSettings()), number, failed)


def _score(
    gold: Tree, test: Tree | None, rules: Rules, number: int, failed: Failed
) -> SentenceScore:
    reference = Bracketing.of(gold, rules)
    length = reference.length
    prediction = Bracketing.of(test, rules) if test is not None else None

    def invalid(status: int, why: str) -> SentenceScore:
        lost = [len(side.scored(rules)) if side else 0 for side in (reference, prediction)]
        return SentenceScore(number, length, status, why=why, lost_gold=lost[0], lost_test=lost[1])

    if prediction is None or not prediction.words:
        if failed == "empty" and reference.words:
            n_gold = len(reference.scored(rules))
            n_words = len(reference.words)
            return SentenceScore(number, length, gold=n_gold, words=n_words, why="failed")
        return invalid(SKIP, "no words in the test tree")
    if len(reference.words) != len(prediction.words):
        if rules.quote_labels:
            reference.mend_quotes(prediction, rules)
        n_gold, n_test = len(reference.words), len(prediction.words)
        if n_gold != n_test:
            return invalid(ERROR, f"Length unmatch ({n_gold}|{n_test})")
    for mine, its in zip(reference.words, prediction.words, strict=True):
        if mine != its and not rules.same_word(mine, its):
            return invalid(ERROR, f"Words unmatch ({mine}|{its})")
    gold_brackets, test_brackets = reference.scored(rules), prediction.scored(rules)
    return SentenceScore(
        number,
        length,
        matched=rules.n_matched(gold_brackets, test_brackets),
        gold=len(gold_brackets),
        test=len(test_brackets),
        crossing=rules.n_crossing(gold_brackets, test_brackets),
        words=len(reference.words),
        correct_tags=sum(
            mine == its or rules.same_label(mine, its)
            for mine, its in zip(reference.tags, prediction.tags, strict=True)
        ),
    )


def evaluate(
    gold: Source | Doc | Iterable[Tree],
    test: Source | Doc | Iterable[Tree | None],
    settings: EvalbSettings | None = None,
    *,
    failed: Failed = "skip",
    names: tuple[str, str] = ("<gold trees>", "<test trees>"),
) -> ParsevalResult:
    """Score predicted trees against gold trees, pair by pair, in order.

    A prediction that is ``None`` is a failed parse: skipped as EVALB does, or, with
    ``failed="empty"``, a tree without brackets, which costs recall.  No gold trees at all are a
    DataError: a score of nothing would look like a bad parser.  ``names`` are for its message.
    Either side may be a Doc; two files are read as those of :mod:`eigentext.evaluate.tree_files`.

    >>> tree = Tree.from_brackets("(S (NP (PRP We)) (VP (VBP sing)))")
    >>> evaluate([tree, tree], [tree, None]).all.f1
    100.0
    >>> round(evaluate([tree, tree], [tree, None], failed="empty").all.recall, 2)
    50.0
    """
    if is_file(gold) and is_file(test):
        from eigentext.evaluate.tree_files import evaluate_files

        return evaluate_files(gold, test, settings, failed=failed)
    right, tried = map(_trees_of, (gold, test))
    settings = settings or EvalbSettings()
    if failed not in ("skip", "empty"):
        raise SettingsError(f"failed={failed!r}, expected 'skip' or 'empty'")
    rules = Rules.of(settings)
    scores = tuple(
        _score(gold_tree, test_tree, rules, number, failed)
        for number, (gold_tree, test_tree) in enumerate(_paired(right, tried, *names), start=1)
    )
    short = [score for score in scores if score.length <= settings.cutoff_len]
    return ParsevalResult(scores, settings, Summary.of(scores), Summary.of(short))


def _trees_of(side: Any) -> Iterable[Any]:
    from eigentext.language.doc import Doc

    trees: Iterable[Any] = each_tree(side) if is_file(side) or isinstance(side, Doc) else side
    return trees


def _paired(
    gold: Iterable[Tree], test: Iterable[Tree | None], gold_name: str, test_name: str
) -> Iterator[tuple[Tree, Tree | None]]:
    missing = object()
    tests = iter(test)
    number = 0
    for number, gold_tree in enumerate(gold, start=1):
        test_tree = next(tests, missing)
        if test_tree is missing:
            why = f"it has {number - 1} trees, but the gold trees go on"
            raise DataError(test_name, None, why)
        if not (isinstance(gold_tree, Tree) and isinstance(test_tree, Tree | None)):
            raise TypeError("evaluate needs Tree objects; formats.ptb reads them from a file")
        yield gold_tree, test_tree
    if number == 0:
        raise DataError(gold_name, None, "no trees, expected at least one")
    if next(tests, missing) is not missing:
        raise DataError(gold_name, None, f"it has {number} trees, but the test trees go on")


def by_length(scores: Sequence[SentenceScore], width: int = 10) -> list[LengthBucket]:
    """Summaries by length of the sentence: 1 to width, width + 1 to 2 width, and so on.

    >>> tree = Tree.from_brackets("(S (NP (PRP We)) (VP (VBP sing)))")
    >>> [bucket] = by_length(evaluate([tree], [tree]).sentences)
    >>> bucket.shortest, bucket.longest, bucket.summary.f1
    (1, 10, 100.0)
    """
    if width < 1:
        raise SettingsError(f"width of the length buckets is {width}, expected 1 or more")
    buckets: dict[int, list[SentenceScore]] = {}
    for score in scores:
        buckets.setdefault(max(score.length - 1, 0) // width, []).append(score)
    return [
        LengthBucket(bucket * width + 1, (bucket + 1) * width, Summary.of(buckets[bucket]))
        for bucket in sorted(buckets)
    ]


# ---------------------------------------------------------------- as the EVALB program prints it

_HEAD = """\
  Sent.                        Matched  Bracket   Cross        Correct Tag
 ID  Len.  Stat. Recal  Prec.  Bracket gold test Bracket Words  Tags Accracy
============================================================================"""


def _sentence_line(score: SentenceScore) -> str:
    return (
        f"{score.number:4d}  {score.length:3d}    {score.status:d}  "
        f"{score.recall:6.2f} {score.precision:6.2f}   {score.matched:3d}    {score.gold:3d}  "
        f"{score.test:3d}    {score.crossing:3d}   {score.words:4d}  {score.correct_tags:4d}   "
        f"{score.tag_accuracy:6.2f}"
    )


def _summary_lines(title: str, summary: Summary) -> list[str]:
    return [
        "",
        f"-- {title} --",
        f"Number of sentence        = {summary.n_sentences:6d}",
        f"Number of Error sentence  = {summary.n_errors:6d}",
        f"Number of Skip  sentence  = {summary.n_skipped:6d}",
        f"Number of Valid sentence  = {summary.n_valid:6d}",
        f"Bracketing Recall         = {summary.recall:6.2f}",
        f"Bracketing Precision      = {summary.precision:6.2f}",
        f"Bracketing FMeasure       = {summary.f1:6.2f}",
        f"Complete match            = {summary.complete_match:6.2f}",
        f"Average crossing          = {summary.average_crossing:6.2f}",
        f"No crossing               = {summary.no_crossing:6.2f}",
        f"2 or less crossing        = {summary.two_or_less_crossing:6.2f}",
        f"Tagging accuracy          = {summary.tag_accuracy:6.2f}",
    ]


def format_report(result: ParsevalResult) -> str:
    """The report as EVALB prints it, spelling included (0.00 where EVALB divides zero by zero)."""
    total = result.all
    lines = [_HEAD, *map(_sentence_line, result.sentences), _HEAD.rsplit("\n", 1)[1]]
    brackets = ""
    if total.gold and total.test:
        brackets = (
            f"                {total.recall:6.2f} {total.precision:6.2f} {total.matched:6d} "
            f"{total.gold:5d} {total.test:5d}  {total.crossing:5d}"
        )
    tags = f"  {total.words:5d} {total.correct_tags:5d}   {total.tag_accuracy:6.2f}"
    lines += [brackets + tags, "=== Summary ==="]
    lines += _summary_lines("All", total)
    lines += _summary_lines(f"len<={result.settings.cutoff_len}", result.short)
    return "\n".join(lines) + "\n"
