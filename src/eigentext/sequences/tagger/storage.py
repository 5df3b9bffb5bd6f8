"""A latent tagger as parts of a model file, and back."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import Ints, Pointers, Reals, Strings
from eigentext.base.records import Called, Group, Inner, Numbers, Record, stored
from eigentext.base.values import Named, Real, Whole
from eigentext.constituency.storage import RULES, ParamsContent
from eigentext.lab.automata.characters import CharacterTags
from eigentext.sequences.tagger.chain import Chain
from eigentext.sequences.tagger.shapes import ShapeModel
from eigentext.sequences.tagger.words import WordTags

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from eigentext.sequences.tagger.model import LatentTagger

__all__ = ["Content"]

_K_WORDS = ("k_word", "k_shape", "k_lower", "keep")
_COUNTED: dict[str, Any] = {"low": 0, "high": 1e12}
_TAGS = Group(
    word_ptr=Pointers("tagged_words", "word_tags"),
    word_tag=Ints(("word_tags",), low=0, below="tags"),
    word_n=Reals(("word_tags",), **_COUNTED),
    shape_ptr=Pointers("tagged_shapes", "shape_tags"),
    shape_tag=Ints(("shape_tags",), low=0, below="tags"),
    shape_n=Reals(("shape_tags",), **_COUNTED),
    prefix="tags.",
)
# automata of characters, and their power; both or neither
_CHARACTERS = Group(
    optional=True,
    automata=Called("characters", Inner("class-automata")),
    power=Called("characters_power", Numbers(Reals((1,), low=0, high=1))),
)


@dataclass
class Content:
    """What a file holds."""

    rules: npt.NDArray[np.int64] = stored(RULES)
    labels: Sequence[str] = stored(Strings("labels", distinct=True))
    params: ParamsContent = stored(Record(ParamsContent))
    tags: Sequence[str] = stored(Strings("tags", distinct=True))
    tagged_words: Sequence[str] = stored(Strings("tagged_words", distinct=True))
    tagged_shapes: Sequence[str] = stored(Strings("tagged_shapes", distinct=True))
    counts: SimpleNamespace | WordTags = stored(_TAGS)
    shape_features: Sequence[str] = stored(Strings("shape_features", distinct=True))
    shape_weights: npt.NDArray[np.float32] | None = stored(
        Reals(("shape_features+1", "tags"), ("float32",), -1e6, 1e6, optional=True)
    )
    characters: SimpleNamespace | None = stored(_CHARACTERS)
    word_tags: dict[str, Any] = stored(Named(dict.fromkeys(_K_WORDS, Real(0, 1e12)), closed=True))
    n_sentences: int = stored(Whole(1))

    def _holds(self) -> None:
        n, ptr = self.counts.word_n, self.counts.word_ptr
        of_word = np.diff(np.concatenate([[0.0], np.cumsum(n)])[ptr])
        if not len(n) or float(of_word.min()) <= 0:
            raise ValueError("array 'tags.word_n' has a word that was never seen")
        if self.characters is not None:
            unknown = sorted({*self.characters.automata.classes_} - {*self.tags})
            if unknown:
                why = f"array 'characters' has the tag {unknown[0]!r}, which is not known"
                raise ValueError(why)

    @classmethod
    def of(cls, tagger: LatentTagger) -> Content:
        """Everything that tagging needs."""
        words, params = tagger.words_, [chain.params for chain in tagger.chains_]
        model, characters = words.model, words.characters
        return cls(
            rules=params[0].rules,
            labels=tagger.chains_[0].labels,
            params=ParamsContent.of(params),
            tags=tagger.tags_,
            tagged_words=words.words,
            tagged_shapes=words.shapes,
            counts=words,
            shape_features=() if model is None else model.features,
            shape_weights=None if model is None else model.weights,
            characters=None
            if characters is None
            else SimpleNamespace(automata=characters.automata, power=[characters.power]),
            word_tags={name: getattr(words, name) for name in _K_WORDS},
            n_sentences=tagger.n_sentences_,
        )

    def restore(self, tagger: LatentTagger) -> None:
        """Set what ``fit`` would have learned."""
        tagger.tags_, tagger.n_sentences_ = tuple(self.tags), self.n_sentences
        model = characters = None
        if self.shape_weights is not None:
            model = ShapeModel(tuple(self.shape_features), self.shape_weights)
        if self.characters is not None:
            automata, (power,) = self.characters.automata, self.characters.power
            characters = CharacterTags(tagger.tags_, automata, power)
        tagger.words_ = WordTags(
            tagger.tags_,
            words=tuple(self.tagged_words),
            shapes=tuple(self.tagged_shapes),
            model=model,
            characters=characters,
            **vars(self.counts),
            **self.word_tags,
        )
        labels = tuple(self.labels)
        tagger.chains_ = [
            Chain.of(params, tagger.words_, labels, tagger.n_sentences_, tagger.k_next)
            for params in self.params.params(self.rules, tagger.language)
        ]
