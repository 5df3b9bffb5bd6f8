"""The demo's readings: a ranker of the Arabic sample, scored in folds, and a sentence it reads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from eigentext import datasets
from eigentext.lexical import LexicalRanker, load_scheme
from eigentext.lexical.crossval import MostFrequent, cross_validate, folds_by_document
from eigentext.lexical.documents import read_documents
from eigentext.lexical.output import shown_reading
from eigentext.reports.morphology import in_plain_words

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from eigentext.evaluate.ranking import RankingScores
    from eigentext.lexical import LexDocument
    from eigentext.reports.html import Report

_FOLDS = 4
_BITS = 16
_SHOWN = 3


def lexical_section(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``arabic.ranker`` to the folder, which holds the sample."""
    scheme = load_scheme("arabic14")
    documents = read_documents([str(target / "sample" / "arabic.jsonl")], scheme)
    forms = [word.form for document in documents for word in document.words()]
    mean = sum(len(datasets.analyse(form)) for form in forms) / len(forms)
    report.section("Arabic").text(
        f"{len(documents)} sentences of our own, {len(forms)} words; our small lexicon gives "
        f"{mean:.1f} analyses a word. A ranker learns which one is right in context; scored in "
        f"{_FOLDS} folds by sentence: A1 is how often the right label (lemma and all features) "
        "is first, A2 how often it is among the first two.",
        "So few sentences show what a ranking looks like; how good it is on newspapers, and what "
        "further passes add, stands in docs/guide/lexical.md.",
    )
    _folds(report, documents, say)
    fold = folds_by_document(documents, _FOLDS)
    training = [d for d, f in zip(documents, fold, strict=True) if f]
    ranker = LexicalRanker(bits=_BITS).fit(training)
    ranker.save(target / "arabic.ranker", data={"name": "sample", "licence": "Apache-2.0"})
    held_out = [d for d, f in zip(documents, fold, strict=True) if not f]
    _sentence(report, LexicalRanker.load(target / "arabic.ranker"), held_out)
    report.details(
        "Read and annotate texts of your own with this model, in a browser",
        "eigentext serve --lex-model arabic.ranker --annotations decisions.db",
        verbatim=True,
    )


def _folds(report: Report, documents: list[LexDocument], say: Callable[[str], None]) -> None:
    """A1 and A2 of the most frequent label of a word, and of the ranker."""
    makers: dict[str, Callable[[], Any]] = {
        "most frequent label": MostFrequent,
        "ranker": lambda: LexicalRanker(bits=_BITS),
    }
    LexicalRanker(bits=_BITS).fit(documents[:12]).rank(["كتب"])  # compile before the clock starts
    rows = []
    total: RankingScores | None = None
    for name, make in makers.items():
        began = time.process_time()
        results = list(cross_validate(documents, make, folds=_FOLDS))
        seconds = time.process_time() - began
        total = results[0].scores
        for result in results[1:]:
            total = total + result.scores
        full, unseen = total.full, total.untrained
        rows.append((name, full.a1, full.a2, total.reduced.a1, unseen.a1, full.words, seconds))
        say(
            f"lex: {name}: A1 {full.a1:.1f}, A2 {full.a2:.1f} on {full.words} held-out words, "
            f"{_FOLDS} folds in {seconds:.1f} s"
        )
    report.table(
        ("model", "A1", "A2", "A1 without case", "A1, unseen words", "words", "CPU s"),
        rows,
        caption="Analyses of words in unseen sentences",
        digits=1,
    )
    if total is not None:
        report.table(
            tuple(total.elements),
            [tuple(accuracy.a1 for accuracy in total.elements.values())],
            caption="The last of them, element by element: how often it is right",
            digits=1,
        )


def _sentence(report: Report, ranker: LexicalRanker, held_out: list[LexDocument]) -> None:
    """The longest sentence that the ranker has not seen, with the best readings of its words."""
    document = max(held_out, key=lambda item: (sum(map(len, item.sentences)), item.id))
    sentence = next(item for item in datasets.load_arabic() if item["id"] == document.id)
    words = document.sentences[0]
    rows = []
    for word, ranked in zip(words, ranker.rank([word.form for word in words]), strict=True):
        for rank, candidate in enumerate(ranked.candidates[:_SHOWN], start=1):
            reading = shown_reading(ranked, candidate, ranker)
            rows.append(
                (
                    word.form if rank == 1 else "",
                    rank,
                    100 * candidate.probability,
                    reading.vocalised if reading else "",
                    reading.gloss if reading else "",
                    in_plain_words(ranker.scheme_.as_mapping(candidate.label)),
                    "yes" if candidate.label == word.label else "",
                )
            )
    report.table(
        ("word", "rank", "%", "vocalised", "gloss", "morphology", "right"),
        rows,
        caption=f"The best readings in a held-out sentence: {sentence['text']} "
        f"({sentence['translation']})",
        digits=1,
    )
