"""A reranker of the parser's trees, kept if it was asked for or if it pays.

It learns from the sentences as the parser does, with out-of-sample tags, from lists of parsers
that have not seen them (``dependency.rerank``).  Whether it pays is seen there too: weights of
the other folds choose a tree from each list, and its words with right head and relation count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.hashing import fingerprint
from eigentext.base.settings import declared
from eigentext.dependency.long_sentences import MOST_WORDS
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.dependency import DependencyParser, Reranker
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.pipeline.model import Pipeline
    from eigentext.pipeline.training import WorkFolder

# Unless told: experts look at the endings of rare words of any language.
_USUAL = {"latent": {"language": "generic"}, "generative": {"language": "generic"}}


def trained_reranker(
    pipeline: Pipeline,
    trees: Sequence[ConlluBlock],
    parser: DependencyParser,
    files: WorkFolder,
    progress: Progress | None,
) -> tuple[Reranker | None, Json]:
    """The reranker, or None where it does not pay; and what was chosen, with its figures."""
    from eigentext.dependency import Reranker

    settings = {**_USUAL, "seed": pipeline.seed, **(pipeline.reranker_settings or {})}
    for name in settings.keys() - declared(Reranker).keys():
        raise SettingsError(f"reranker_settings.{name} is not known here")
    reranker, measure = Reranker(**settings), pipeline.rerank == "auto"
    reranker.check()
    # a longer sentence is parsed in pieces, and has one tree
    short = [sentence for sentence in trees if len(sentence) <= MOST_WORDS]
    if measure and len(short) < reranker.folds:
        return None, {}
    about = [sentence.verbatim for sentence in short], parser.fingerprint()
    key = fingerprint(*about, reranker.get_params(), measure)
    # the lists are the same for other experts and penalties; only features of trees need relations
    labelled = reranker.features == "trees" and parser.relations_ is not None
    lists = fingerprint(*about, reranker.kbest, reranker.folds, labelled)
    folder = files.folder and files.folder / f"lists-{lists[:16]}"

    def fitted() -> Reranker:
        return reranker.fit(short, parser, folder=folder, measure=measure, progress=progress)

    model: Reranker = files.get_or_make("reranker", key, fitted)
    if not measure or model.held_out_ is None:
        return model, {}
    held_out = model.held_out_
    alone, reranked = held_out.attachment
    name = "las" if labelled else "uas"
    choice = {"kept": held_out.better, name: alone, f"reranked_{name}": reranked}
    return (model if held_out.better else None), {"reranker": choice}
