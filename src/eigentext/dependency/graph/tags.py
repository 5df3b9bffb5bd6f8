"""Part-of-speech tags of our own: taggers, and tags for the training set by jackknifing.

A parser that will see predicted tags must learn from such tags: the sentences are cut into ten
stretches, and each is tagged by taggers trained on the other nine.  The taggers kept for later are
trained on all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eigentext.base.folds import held_out
from eigentext.dependency.sentence import TaggedSentence
from eigentext.tagging import SequenceTagger

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.base.progress import Progress

__all__ = ["OwnTags", "jackknifed"]


class OwnTags:
    """One tagger for upos and one for xpos; a column that says nothing in training has none.

    >>> first = TaggedSentence.of(["a", "b"], upos=["X", "Y"])
    >>> other = TaggedSentence.of(["b", "a"], upos=["Y", "X"])
    >>> OwnTags(epochs=3).fit([first, other] * 3).tag([("b", "a")])[0].upos
    ('Y', 'X')
    """

    def __init__(
        self, *, clusters: Any = None, vectors: Any = None, epochs: int = 6, seed: int = 0
    ) -> None:
        self.settings = {"clusters": clusters, "vectors": vectors, "epochs": epochs, "seed": seed}
        self.taggers: dict[str, SequenceTagger] = {}

    def fit(self, sentences: Sequence[TaggedSentence]) -> OwnTags:
        """Train on the columns ``upos`` and ``xpos``."""
        for name in ("upos", "xpos"):
            tags = [getattr(sentence, name) for sentence in sentences]
            if len({tag for row in tags for tag in row}) > 1:
                tagger = SequenceTagger(scheme="plain", **self.settings)
                forms = [sentence.forms for sentence in sentences]
                self.taggers[name] = tagger.fit(forms, tags)
        return self

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[TaggedSentence]:
        """Tags for sentences of which only the forms are known."""
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
        """Each tagger's model file as bytes."""
        return {
            name: np.frombuffer(tagger.to_bytes(), np.uint8)
            for name, tagger in self.taggers.items()
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, npt.NDArray[np.uint8]]) -> OwnTags:
        """The other way."""
        own = cls()
        for name, raw in arrays.items():
            own.taggers[name] = SequenceTagger.from_bytes(raw.tobytes(), name=f"tagger_{name}")
        return own


def jackknifed(
    sentences: Sequence[TaggedSentence],
    *,
    ways: int = 10,
    progress: Progress | None = None,
    **settings: Any,
) -> list[TaggedSentence]:
    """The sentences with tags predicted by taggers that have not seen them.

    ``settings`` are those of :class:`OwnTags`.  With fewer sentences than ``ways`` there are as
    many stretches as sentences; a single sentence keeps its tags.
    """
    ways = min(ways, len(sentences))
    if ways < 2:
        return list(sentences)
    answers: list[TaggedSentence] = []
    for done, (others, fold) in enumerate(held_out(len(sentences), ways), start=1):
        own = OwnTags(**settings).fit([sentences[number] for number in others])
        answers += own.tag([sentences[number].forms for number in fold])
        if progress is not None:
            progress(done, ways, "tagging the training set")
    return answers
