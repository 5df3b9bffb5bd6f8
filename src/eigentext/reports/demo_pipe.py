"""The demo's pipeline: trained on the sample treebank, then raw text parsed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from eigentext.drawing.arcs import arcs_svg
from eigentext.evaluate.conll18 import MEASURES
from eigentext.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from eigentext.language.doc import Doc
    from eigentext.language.token import Word
    from eigentext.reports.html import Report

_RAW = (
    "Anna's dog can't sleep. The old farmer who sold the boat saw two horses near the river, "
    "and he waited!\n\nWhere did you find the key?"
)


def pipeline_section(report: Report, target: Path, say: Callable[[str], None]) -> None:
    """Add the section, and write ``english.pipe`` and ``parsed.conllu`` to the folder."""
    sample = target / "sample"
    began = time.process_time()
    trained = Pipeline().fit(sample / "treebank.conllu", dev=sample / "treebank-dev.conllu")
    seconds = time.process_time() - began
    trained.save(target / "english.pipe", data={"name": "sample", "licence": "Apache-2.0"})
    nlp = Pipeline.load(target / "english.pipe")
    report.section("Pipeline").text(
        f"From raw text to everything: a segmenter, a morphological tagger and a parser of "
        f"{nlp.counts_['sentences']} sentences of our own, trained in {seconds:.1f} CPU seconds. "
        "The parser learned from tags of taggers that had not seen the sentences. The scores are "
        "F1 on the raw text of 23 further sentences, by the rules of the CoNLL 2018 shared task."
    )
    scores = nlp.dev_scores_
    report.table(
        MEASURES, [tuple(scores[name] for name in MEASURES)], caption="From raw text", digits=1
    )
    say(
        f"pipe: raw text: Words {scores['Words']:.1f}, UPOS {scores['UPOS']:.1f}, "
        f"Lemmas {scores['Lemmas']:.1f}, LAS {scores['LAS']:.1f}; {seconds:.1f} s to train"
    )
    doc = nlp(_RAW, probabilities=True)
    (target / "parsed.conllu").write_bytes(doc.to_conllu(offsets=True).encode())
    _shown(report, doc)
    for sentence in doc.sentences:
        say(f"pipe: {_line(sentence.words)}")


def _shown(report: Report, doc: Doc) -> None:
    report.table(
        ("sentence", "place", "form", "lemma", "UPOS", "features", "head", "relation"),
        [
            (number, f"{token.start}-{token.end}", *_cells(word))
            for number, sentence in enumerate(doc.sentences, start=1)
            for token in sentence.tokens
            for word in sentence.words[token.first - 1 : token.last]
        ],
        caption="Raw text, parsed: words, and where their tokens stand in the text",
    )
    for sentence in doc.sentences:
        columns, alternatives = sentence.columns, sentence.alternatives
        report.figure(
            arcs_svg(
                columns.forms,
                list(columns.heads or ()),
                columns.deprels,
                tags=columns.upos,
                width=840,
                probabilities=None
                if alternatives is None or alternatives.arcs_p is None
                else [min(1.0, chance) for chance in alternatives.arcs_p],
            ),
            f"“{sentence.text}”: an arc is as strong as it is probable",
        )


def _cells(word: Word) -> tuple[str | int | None, ...]:
    return word.form, word.lemma, word.upos, word.feats, word.head, word.deprel


def _line(words: Iterable[Word]) -> str:
    """``dogs/NOUN bark/VERB``."""
    return " ".join(f"{word.form}/{word.upos}" for word in words)
