"""Tags of our own: a tagger, and tags for the training set by jackknifing.

A parser that will see predicted tags must learn from such tags: the sentences are cut into
stretches, and each is tagged by a tagger trained on the others.  The tagger kept for later is
trained on all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eigentext.dependency.sentence import TaggedSentence, with_other_upos
from eigentext.tagging import SequenceTagger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.progress import Progress
    from eigentext.formats.conllu import Sentence
    from eigentext.morphology import Morphology, MorphTagger

__all__ = ["OwnTags", "jackknifed", "with_tags"]

WAYS = 5  # stretches of the training set


class OwnTags:
    """Morphology of words by a tagger of our own; one that saw no tags in training has none.

    ``morphology``  the tagger, or None
    ``taggers``     of files made before there was one: a tagger for upos and one for xpos

    >>> from eigentext.formats.conllu import make_sentence
    >>> first = make_sentence(["a", "b"], upos=["X", "Y"])
    >>> other = make_sentence(["b", "a"], upos=["Y", "X"])
    >>> OwnTags().fit([first, other] * 3).tag([("b", "a")])[0].upos
    ('Y', 'X')
    """

    def __init__(self, *, clusters: Any = None, vectors: Any = None, seed: int = 0) -> None:
        self.settings = {"clusters": clusters, "vectors": vectors, "seed": seed}
        self.morphology: MorphTagger | None = None
        self.taggers: dict[str, SequenceTagger] = {}

    def fit(self, sentences: Sequence[Sentence]) -> OwnTags:
        """Train on the columns of a treebank."""
        from eigentext.morphology import MorphTagger

        if _has_tags(sentences):
            self.morphology = MorphTagger(**self.settings).fit(sentences)
        return self

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[TaggedSentence]:
        """Tags for sentences of which only the forms are known."""
        if self.morphology is not None:
            return list(map(_tagged, sentences, self.morphology.tag(sentences)))
        tags: dict[str, Sequence[Sequence[str]]] = {
            name: tagger.predict(sentences) for name, tagger in self.taggers.items()
        }
        answers = []
        for number, forms in enumerate(sentences):
            blank = ("_",) * len(forms)
            upos, xpos = (
                tuple(tags[name][number]) if name in tags else blank for name in ("upos", "xpos")
            )
            answers.append(TaggedSentence(tuple(forms), upos, xpos, blank, blank))
        return answers

    def as_arrays(self) -> dict[str, npt.NDArray[np.uint8]]:
        """The model file of each tagger as bytes."""
        models: dict[str, Any] = dict(self.taggers)
        if self.morphology is not None:
            models["morphology"] = self.morphology
        return {name: np.frombuffer(model.to_bytes(), np.uint8) for name, model in models.items()}

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[np.uint8]]) -> OwnTags:
        """The other way."""
        from eigentext.morphology import MorphTagger

        own = cls()
        for name, raw in arrays.items():
            if name == "morphology":
                own.morphology = MorphTagger.from_bytes(raw.tobytes(), name="tagger_morphology")
            else:
                tagger = SequenceTagger.from_bytes(raw.tobytes(), name=f"tagger_{name}")
                own.taggers[name] = tagger
        return own


def jackknifed(
    sentences: Sequence[Sentence],
    *,
    ways: int = WAYS,
    progress: Progress | None = None,
    **settings: Any,
) -> list[TaggedSentence]:
    """The sentences with tags predicted by taggers that have not seen them.

    ``settings`` are those of :class:`OwnTags`.  With fewer sentences than ``ways`` there are as
    many stretches as sentences; a single sentence keeps its tags.
    """
    from eigentext.morphology import MorphTagger
    from eigentext.morphology import jackknifed as each_by_the_others

    ways = min(ways, len(sentences))
    if ways < 2 or not _has_tags(sentences):
        return [TaggedSentence.from_conllu(sentence) for sentence in sentences]
    found = each_by_the_others(sentences, MorphTagger(**settings), ways=ways, progress=progress)
    return [_tagged(sentence.forms, tags) for sentence, tags in zip(sentences, found, strict=True)]


def with_tags(sentence: Sentence, tagged: TaggedSentence) -> Sentence:
    """A CoNLL-U sentence with these tags in the place of its own."""
    misc: Sequence[str] = sentence.column("misc")
    return sentence.with_columns(
        upos=tagged.upos,
        xpos=tagged.xpos,
        feats=tagged.feats,
        lemma=tagged.lemmas,
        misc=list(map(with_other_upos, misc, tagged.others or ("_",) * len(misc))),
    )


def _tagged(forms: Sequence[str], tags: Morphology) -> TaggedSentence:
    others = tags.others if set(tags.others) != {"_"} else ()
    return TaggedSentence(tuple(forms), tags.upos, tags.xpos, tags.feats, tags.lemmas, others)


def _has_tags(sentences: Sequence[Sentence]) -> bool:
    """Does upos or xpos say anything?"""
    return any(
        len({tag for sentence in sentences for tag in sentence.column(name)}) > 1
        for name in ("upos", "xpos")
    )
