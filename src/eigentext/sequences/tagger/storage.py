"""A latent tagger as parts of a model file, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import (
    Bits,
    Ints,
    Named,
    Parts,
    Pointers,
    Real,
    Reals,
    Spec,
    Strings,
    Whole,
)
from eigentext.base.model import Packed
from eigentext.base.registry import class_of, part
from eigentext.constituency.storage import PackedParams, pack_params, unpack_params
from eigentext.constituency.storage_fields import (
    LANGUAGE,
    LEXICON,
    MOST_MODELS,
    params_fields,
    params_fit,
)
from eigentext.sequences.tagger.chain import Chain
from eigentext.sequences.tagger.shapes import ShapeModel
from eigentext.sequences.tagger.words import WordTags

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.sequences.tagger.model import LatentTagger

__all__ = ["SPEC", "pack_tagger", "restore_tagger"]

_WORD_ARRAYS = ("word_ptr", "word_tag", "word_n", "shape_ptr", "shape_tag", "shape_n")
_WORD_NUMBERS = ("k_word", "k_shape", "k_lower", "keep")


def _parts(settings: dict[str, Any]) -> Parts:
    arrays, strings = params_fields(settings["lexicon"], settings["n_models"])
    counted: dict[str, Any] = {"low": 0, "high": 1e12}
    return Parts(
        {
            "rules": Ints(("rules", 3), low=0, below="labels"),
            **arrays,
            "tags.word_ptr": Pointers("tagged_words", "word_tags"),
            "tags.word_tag": Ints(("word_tags",), low=0, below="tags"),
            "tags.word_n": Reals(("word_tags",), **counted),
            "tags.shape_ptr": Pointers("tagged_shapes", "shape_tags"),
            "tags.shape_tag": Ints(("shape_tags",), low=0, below="tags"),
            "tags.shape_n": Reals(("shape_tags",), **counted),
            "shape_weights": Reals(
                ("shape_features+1", "tags"), ("float32",), -1e6, 1e6, optional=True
            ),
            # automata of characters, and their power; both or neither
            "characters": Bits(("bytes_of_characters",), optional=True),
            "characters_power": Reals((1,), low=0, high=1, optional=True),
        },
        {
            **strings,
            "tags": Strings("tags", distinct=True),
            "labels": Strings("labels", distinct=True),
            "tagged_words": Strings("tagged_words", distinct=True),
            "tagged_shapes": Strings("tagged_shapes", distinct=True),
            "shape_features": Strings("shape_features", distinct=True),
        },
    )


def _holds(arrays: Mapping[str, np.ndarray], strings: object, settings: dict[str, Any]) -> None:
    params_fit(arrays, settings["lexicon"], settings["n_models"])
    n, ptr = arrays["tags.word_n"], arrays["tags.word_ptr"]
    seen = np.diff(np.concatenate([[0.0], np.cumsum(n)])[ptr])
    if not len(n) or float(seen.min()) <= 0:
        raise ValueError("array 'tags.word_n' has a word that was never seen")
    if ("characters" in arrays) != ("characters_power" in arrays):
        raise ValueError("array 'characters' and array 'characters_power': expected both of them")


SPEC = Spec(
    {
        "n_models": Whole(1, MOST_MODELS),
        "lexicon": LEXICON,
        "language": LANGUAGE,
        "word_tags": Named({name: Real(0, 1e12) for name in _WORD_NUMBERS}, closed=True),
        "n_sentences": Whole(1),
    },
    _parts,
    _holds,
)


def pack_tagger(tagger: LatentTagger) -> Packed:
    """Everything that tagging needs."""
    params = [chain.params for chain in tagger.chains_]
    packed = pack_params(params)
    words = tagger.words_
    arrays: dict[str, np.ndarray] = {"rules": params[0].rules, **packed.arrays}
    arrays.update({f"tags.{name}": getattr(words, name) for name in _WORD_ARRAYS})
    if words.model is not None:
        arrays["shape_weights"] = words.model.weights
    if words.characters is not None:
        arrays["characters"] = np.frombuffer(words.characters.automata.to_bytes(), np.uint8)
        arrays["characters_power"] = np.array([words.characters.power])
    strings = {
        **packed.strings,
        "tags": tagger.tags_,
        "labels": tagger.chains_[0].labels,
        "tagged_words": words.words,
        "tagged_shapes": words.shapes,
        "shape_features": () if words.model is None else words.model.features,
    }
    facts = {
        "lexicon": packed.numbers,
        "word_tags": {name: getattr(words, name) for name in _WORD_NUMBERS},
        "n_sentences": tagger.n_sentences_,
    }
    return Packed(arrays, strings, facts)


def restore_tagger(tagger: LatentTagger, packed: Packed) -> None:
    """Set what :func:`pack_tagger` kept."""
    arrays, strings, facts = packed.arrays, packed.strings, packed.facts
    tagger.tags_ = tuple(strings["tags"])
    tagger.n_sentences_ = facts["n_sentences"]
    counts: dict[str, Any] = {name: arrays[f"tags.{name}"] for name in _WORD_ARRAYS}
    model = None
    if "shape_weights" in arrays:
        model = ShapeModel(tuple(strings["shape_features"]), arrays["shape_weights"])
    characters = None
    if "characters" in arrays:
        automata = class_of("class-automata").from_bytes(arrays["characters"].tobytes())
        if unknown := sorted({*automata.classes_} - {*tagger.tags_}):
            raise ValueError(f"array 'characters' has the tag {unknown[0]!r}, which is not known")
        power = float(arrays["characters_power"][0])
        characters = part("automata of characters")(tagger.tags_, automata, power)
    tagger.words_ = WordTags(
        tagger.tags_,
        words=tuple(strings["tagged_words"]),
        shapes=tuple(strings["tagged_shapes"]),
        model=model,
        characters=characters,
        **counts,
        **facts["word_tags"],
    )
    params = PackedParams(dict(arrays), dict(strings), facts["lexicon"])
    labels = tuple(strings["labels"])
    tagger.chains_ = [
        Chain.of(params, tagger.words_, labels, tagger.n_sentences_, tagger.k_next)
        for params in unpack_params(params, arrays["rules"], tagger.n_models, tagger.language)
    ]
