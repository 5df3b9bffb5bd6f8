"""The report that the EVALB program prints, from the scores of ``parseval``."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from eigentext.evaluate.parseval import ParsevalResult, SentenceScore, Summary

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
