"""A pipeline held against a treebank, by all measures of the CoNLL 2018 shared task."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from eigentext.evaluate.conll18 import Measure, evaluate
from eigentext.language.doc import Doc
from eigentext.language.formats import conllu
from eigentext.pipeline.drafts import checked_level

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.pipeline.model import Pipeline


def score(
    pipeline: Pipeline,
    gold: Sequence[conllu.ConlluBlock],
    *,
    keep: str | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> dict[str, Measure]:
    """The measures of the pipeline's answers for the raw text of a treebank.

    With ``keep``, its sentences, tokens, words or tags are those of the treebank.
    """
    return evaluate(gold, answers(pipeline, gold, keep=keep, jobs=jobs, progress=progress))


def answers(
    pipeline: Pipeline,
    gold: Sequence[conllu.ConlluBlock],
    *,
    keep: str | None = None,
    jobs: int = 1,
    progress: Progress | None = None,
) -> list[conllu.ConlluBlock]:
    """What the pipeline makes of the text of a treebank."""
    from eigentext.pipeline.pieces import cut
    from eigentext.tagging.segmentation import raw_text

    sources: list[object]
    if checked_level(keep) is None:
        sources = list(cut(iter([raw_text(gold)])))
    else:
        parts = (gold[at : at + _SENTENCES] for at in range(0, len(gold), _SENTENCES))
        sources = [_without_answers(Doc.from_conllu(part), keep) for part in parts]
    blocks: list[conllu.ConlluBlock] = []
    docs = pipeline.pipe(sources, keep=keep, jobs=jobs)
    for done, doc in enumerate(docs, start=1):
        blocks += conllu.parse_sentences(doc.to_conllu(newdoc=False), source="<pipeline>")
        if progress is not None:
            progress(done, len(sources), "annotating")
    return blocks


_SENTENCES = 256  # of a treebank annotated at a time
_TREES = ("heads", "deprels", "deps")
_TAGS = ("lemmas", "upos", "xpos", "feats")


def _without_answers(doc: Doc, keep: str | None) -> Doc:
    """The Doc of a treebank without the columns that are asked for, which would count as right."""
    blank: Json = dict.fromkeys(_TREES if keep == "tags" else (*_TREES, *_TAGS))
    sentences = (
        replace(sentence.with_columns(**blank), empty_nodes=()) for sentence in doc.sentences
    )
    return replace(doc, sentences=tuple(sentences))
