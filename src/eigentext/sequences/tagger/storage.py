"""A latent tagger as parts of a model file, and back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import Ints, Pointers, Reals, Strings
from eigentext.base.records import As, Called, Group, Inner, Record, stored
from eigentext.base.registry import part
from eigentext.base.values import Named, Real, Whole
from eigentext.constituency.storage import RULES, ParamsContent
from eigentext.sequences.tagger.chain import Chain
from eigentext.sequences.tagger.shapes import ShapeModel
from eigentext.sequences.tagger.words import WordTags

if TYPE_CHECKING:
    from types import SimpleNamespace

    from eigentext.base.types import Float32s, Int64s
    from eigentext.sequences.tagger.model import LatentTagger

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
    power=Called(
        "characters_power", As(Reals((1,), low=0, high=1), lambda power: [power], np.ndarray.item)
    ),
)


@dataclass
class Content:
    """What a file holds."""

    rules: Int64s = stored(RULES, of=lambda tagger: tagger.chains_[0].params.rules)
    labels: tuple[str, ...] = stored(
        Strings("labels", distinct=True), of=lambda tagger: tagger.chains_[0].labels
    )
    params: ParamsContent = stored(
        Record(ParamsContent), of=lambda tagger: [chain.params for chain in tagger.chains_]
    )
    tags_: tuple[str, ...] = stored(Strings("tags", distinct=True))
    tagged_words: tuple[str, ...] = stored(
        Strings("tagged_words", distinct=True), of="words_.words"
    )
    tagged_shapes: tuple[str, ...] = stored(
        Strings("tagged_shapes", distinct=True), of="words_.shapes"
    )
    counts: SimpleNamespace = stored(_TAGS, of="words_")
    shape_features: tuple[str, ...] = stored(
        Strings("shape_features", distinct=True),
        of=lambda tagger: getattr(tagger.words_.model, "features", ()),
    )
    shape_weights: Float32s | None = stored(
        Reals(("shape_features+1", "tags"), ("float32",), -1e6, 1e6, optional=True),
        of=lambda tagger: getattr(tagger.words_.model, "weights", None),
    )
    characters: SimpleNamespace | None = stored(_CHARACTERS, of="words_.characters")
    word_tags: dict[str, Any] = stored(
        Named(dict.fromkeys(_K_WORDS, Real(0, 1e12)), closed=True),
        of=lambda tagger: {name: getattr(tagger.words_, name) for name in _K_WORDS},
    )
    n_sentences_: int = stored(Whole(1))

    def _holds(self) -> None:
        n, ptr = self.counts.word_n, self.counts.word_ptr
        of_word = np.diff(np.concatenate([[0.0], np.cumsum(n)])[ptr])
        if not len(n) or float(of_word.min()) <= 0:
            raise ValueError("array 'tags.word_n' has a word that was never seen")
        if self.characters is not None:
            unknown = sorted({*self.characters.automata.classes_} - {*self.tags_})
            if unknown:
                why = f"array 'characters' has the tag {unknown[0]!r}, which is not known"
                raise ValueError(why)

    def restore(self, tagger: LatentTagger) -> None:
        """Set what ``fit`` would have learned."""
        model = characters = None
        if self.shape_weights is not None:
            model = ShapeModel(self.shape_features, self.shape_weights)
        if self.characters is not None:
            characters = part("automata of characters")(self.tags_, **vars(self.characters))
        tagger.words_ = WordTags(
            self.tags_,
            words=self.tagged_words,
            shapes=self.tagged_shapes,
            model=model,
            characters=characters,
            **vars(self.counts),
            **self.word_tags,
        )
        tagger.chains_ = [
            Chain.of(params, tagger.words_, self.labels, self.n_sentences_, tagger.k_next)
            for params in self.params.params(self.rules, tagger.language)
        ]
