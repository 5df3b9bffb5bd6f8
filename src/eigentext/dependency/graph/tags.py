"""Tags of our own: a tagger, and tags for the training set by jackknifing.

A parser that will see predicted tags must learn from such tags: the sentences are cut into
stretches, and each is tagged by a tagger trained on the others.  The tagger kept for later is
trained on all of them.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from eigentext.base.parallel import side_by_side
from eigentext.dependency.sentence import TaggedSentence, with_other_upos

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from eigentext.base.progress import Progress
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.tagging.morphology import Morphology, MorphTagger
    from eigentext.tagging.sequence import SequenceTagger

WAYS = 5  # stretches of the training set


class OwnTags:
    """Morphology of words by a tagger of our own; one that saw no tags in training has none.

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> first = make_sentence(["a", "b"], upos=["X", "Y"])
    >>> other = make_sentence(["b", "a"], upos=["Y", "X"])
    >>> OwnTags().fit([first, other] * 3).tag([("b", "a")])[0].upos
    ('Y', 'X')
    """

    def __init__(self, *, clusters: Any = None, vectors: Any = None, seed: int = 0) -> None:
        self.settings = {"clusters": clusters, "vectors": vectors, "seed": seed}
        self.morphology: MorphTagger | None = None
        self.xpos_alone = False  # without upos xpos is the part of speech to the tagger
        # of files made before there was one: a tagger for upos and one for xpos
        self.taggers: dict[str, SequenceTagger] = {}

    def fit(self, sentences: Sequence[ConlluBlock]) -> OwnTags:
        """Train on the columns of a treebank."""
        from eigentext.tagging.morphology import MorphTagger

        if _has_tags(sentences):
            self.xpos_alone = _xpos_alone(sentences)
            bank = _xpos_as_upos(sentences) if self.xpos_alone else sentences
            self.morphology = MorphTagger(**self.settings).fit(bank)
        return self

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[TaggedSentence]:
        """Tags for sentences of which only the forms are known."""
        if self.morphology is not None:
            tagged = self.morphology.tag(sentences)
            return [
                _tagged(forms, tags, xpos_alone=self.xpos_alone)
                for forms, tags in zip(sentences, tagged, strict=True)
            ]
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

    def by_name(self) -> dict[str, Any]:
        """The taggers by their names in a file."""
        if self.morphology is None:
            return dict(self.taggers)
        name = "morphology_of_xpos" if self.xpos_alone else "morphology"
        return {**self.taggers, name: self.morphology}

    @classmethod
    def of(cls, taggers: Mapping[str, Any]) -> OwnTags:
        """The other way; a tagger that there is not may be None."""
        tags = cls()
        rest = {name: tagger for name, tagger in taggers.items() if tagger is not None}
        tags.xpos_alone = "morphology_of_xpos" in rest
        both = rest.pop("morphology", None), rest.pop("morphology_of_xpos", None)
        tags.morphology, tags.taggers = both[tags.xpos_alone], rest
        return tags


def jackknifed(
    sentences: Sequence[ConlluBlock],
    *,
    ways: int = WAYS,
    progress: Progress | None = None,
    **settings: Any,
) -> list[TaggedSentence]:
    """The sentences with tags predicted by taggers that have not seen them.

    ``settings`` are those of :class:`OwnTags`.  With fewer sentences than ``ways`` there are as
    many stretches as sentences; a single sentence keeps its tags.
    """
    works, tagged = _fold_works(sentences, ways, settings)
    return tagged(side_by_side(works), progress)


def fitted_and_jackknifed(
    sentences: Sequence[ConlluBlock], *, progress: Progress | None = None, **settings: Any
) -> tuple[OwnTags, list[TaggedSentence]]:
    """Taggers of all sentences, and what :func:`jackknifed` says: all trained side by side."""
    works, tagged = _fold_works(sentences, WAYS, settings)
    whole: Callable[[], Any] = partial(OwnTags(**settings).fit, sentences)
    answers = side_by_side([whole, *works])  # the longest work first
    return next(answers), tagged(answers, progress)


def _fold_works(
    sentences: Sequence[ConlluBlock], ways: int, settings: dict[str, Any]
) -> tuple[list[Callable[[], Any]], Callable[..., list[TaggedSentence]]]:
    """What is to be done for each stretch, and what makes tagged sentences of the answers."""
    from eigentext.tagging.morphology import MorphTagger, fold_works

    ways = min(ways, len(sentences))
    if ways < 2 or not _has_tags(sentences):
        return [], lambda _, __: [TaggedSentence.from_conllu(sentence) for sentence in sentences]
    alone = _xpos_alone(sentences)
    bank = _xpos_as_upos(sentences) if alone else sentences
    works: list[Callable[[], Any]] = list(fold_works(bank, MorphTagger(**settings), ways=ways))

    def tagged(answers: Iterator[Any], progress: Progress | None) -> list[TaggedSentence]:
        morphology: list[Morphology] = []
        for way, stretch in enumerate(answers, start=1):
            morphology += stretch
            if progress is not None:
                progress(way, ways, "tagging out of sample")
        return [
            _tagged(sentence.forms, tags, xpos_alone=alone)
            for sentence, tags in zip(sentences, morphology, strict=True)
        ]

    return works, tagged


def with_tags(sentence: ConlluBlock, tagged: TaggedSentence) -> ConlluBlock:
    """A CoNLL-U sentence with these tags in the place of its own."""
    misc: Sequence[str] = sentence.column("misc")
    return sentence.with_columns(
        upos=tagged.upos,
        xpos=tagged.xpos,
        feats=tagged.feats,
        lemma=tagged.lemmas,
        misc=list(map(with_other_upos, misc, tagged.others or ("_",) * len(misc))),
    )


def _tagged(forms: Sequence[str], tags: Morphology, *, xpos_alone: bool) -> TaggedSentence:
    others = tags.others if set(tags.others) != {"_"} else ()
    upos, xpos = (tags.xpos, tags.upos) if xpos_alone else (tags.upos, tags.xpos)
    return TaggedSentence(tuple(forms), upos, xpos, tags.feats, tags.lemmas, others)


def _xpos_alone(sentences: Sequence[ConlluBlock]) -> bool:
    """Is there no upos?"""
    return all(set(sentence.column("upos")) == {"_"} for sentence in sentences)


def _xpos_as_upos(sentences: Sequence[ConlluBlock]) -> list[ConlluBlock]:
    """The columns upos and xpos in each other's place."""
    return [
        sentence.with_columns(upos=sentence.column("xpos"), xpos=sentence.column("upos"))
        for sentence in sentences
    ]


def _has_tags(sentences: Sequence[ConlluBlock]) -> bool:
    """Does upos or xpos say anything?"""
    return any(
        len({tag for sentence in sentences for tag in sentence.column(name)}) > 1
        for name in ("upos", "xpos")
    )
