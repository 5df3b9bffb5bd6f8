"""A latent tagger as a model file of kind ``latent-tagger``, and back."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeVar

from eigentext.base import modelfile
from eigentext.base.fields import (
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
from eigentext.constituency.params import MomentSmoothing, Smoothing
from eigentext.constituency.storage import PackedParams, pack_params, unpack_params
from eigentext.constituency.storage_fields import (
    LANGUAGE,
    LEXICON,
    MOST_MODELS,
    params_fields,
    params_fit,
)
from eigentext.sequences.tagger_chain import Chain
from eigentext.sequences.tagger_looks import LookModel
from eigentext.sequences.tagger_words import WordTags

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import numpy as np

    from eigentext.sequences.tagger import LatentTagger

__all__ = ["KIND", "VERSION", "load_tagger", "save_tagger"]

KIND = "latent-tagger"
VERSION = 1
_SETTINGS = (
    "n_states",
    "estimator",
    "em",
    "models",
    "decoder",
    "per_state",
    "k_next",
    "keep",
    "kappa",
    "dropout",
    "noise",
    "language",
    "seed",
)
_WORD_ARRAYS = ("word_ptr", "word_tag", "word_n", "look_ptr", "look_tag", "look_n")
_WORD_NUMBERS = ("k_word", "k_look", "k_lower", "keep")
Tagger = TypeVar("Tagger", bound="LatentTagger")


def _parts(settings: dict[str, Any]) -> Parts:
    arrays, strings = params_fields(settings["lexicon"], settings["models"])
    counted: dict[str, Any] = {"low": 0, "high": 1e12}
    return Parts(
        {
            "rules": Ints(("rules", 3), low=0, below="labels"),
            **arrays,
            "tags.word_ptr": Pointers("tagged_words", "word_tags"),
            "tags.word_tag": Ints(("word_tags",), low=0, below="tags"),
            "tags.word_n": Reals(("word_tags",), **counted),
            "tags.look_ptr": Pointers("looks", "look_tags"),
            "tags.look_tag": Ints(("look_tags",), low=0, below="tags"),
            "tags.look_n": Reals(("look_tags",), **counted),
            "look_weights": Reals(
                ("look_features+1", "tags"), ("float32",), -1e6, 1e6, optional=True
            ),
        },
        {
            **strings,
            "tags": Strings("tags", distinct=True),
            "labels": Strings("labels", distinct=True),
            "tagged_words": Strings("tagged_words", distinct=True),
            "looks": Strings("looks", distinct=True),
            "look_features": Strings("look_features", distinct=True),
        },
    )


def _holds(arrays: Mapping[str, np.ndarray], strings: object, settings: dict[str, Any]) -> None:
    import numpy as np

    params_fit(arrays, settings["lexicon"], settings["models"])
    n, ptr = arrays["tags.word_n"], arrays["tags.word_ptr"]
    seen = np.diff(np.concatenate([[0.0], np.cumsum(n)])[ptr])
    if not len(n) or float(seen.min()) <= 0:
        raise ValueError("array 'tags.word_n' has a word that was never seen")


SPEC = Spec(
    {
        "models": Whole(1, MOST_MODELS),
        "lexicon": LEXICON,
        "language": LANGUAGE,
        "word_tags": Named({name: Real(0, 1e12) for name in _WORD_NUMBERS}, closed=True),
        "n_sentences": Whole(1),
    },
    _parts,
    _holds,
)


def save_tagger(
    tagger: LatentTagger,
    path: str | os.PathLike[str],
    *,
    data: Mapping[str, Any] | None = None,
) -> None:
    """Write everything that tagging needs."""
    params = [chain.params for chain in tagger.chains_]
    packed = pack_params(params)
    words = tagger.words_
    arrays: dict[str, np.ndarray] = {"rules": params[0].rules, **packed.arrays}
    arrays.update({f"tags.{name}": getattr(words, name) for name in _WORD_ARRAYS})
    if words.model is not None:
        arrays["look_weights"] = words.model.weights
    settings: dict[str, Any] = {name: getattr(tagger, name) for name in _SETTINGS}
    for name in ("smoothing", "moment_smoothing"):
        value = getattr(tagger, name)
        settings[name] = None if value is None else asdict(value)
    settings.update(
        lexicon=packed.numbers,
        word_tags={name: getattr(words, name) for name in _WORD_NUMBERS},
        n_sentences=tagger.n_sentences_,
    )
    modelfile.save(
        path,
        KIND,
        arrays,
        settings=settings,
        format_version=VERSION,
        strings={
            **packed.strings,
            "tags": tagger.tags_,
            "labels": tagger.chains_[0].labels,
            "tagged_words": words.words,
            "looks": words.looks,
            "look_features": () if words.model is None else words.model.features,
        },
        seed=tagger.seed,
        data=data,
    )


def load_tagger(kind: type[Tagger], path: str | os.PathLike[str]) -> Tagger:
    """Read what :func:`save_tagger` wrote."""
    file = modelfile.load(path, KIND, {VERSION}, SPEC)
    with file.fitting():
        settings, strings, arrays = file.header.settings, file.strings, file.arrays
        made: dict[str, Any] = {name: settings[name] for name in _SETTINGS}
        if settings["smoothing"] is not None:
            made["smoothing"] = Smoothing(**settings["smoothing"])
        if settings["moment_smoothing"] is not None:
            made["moment_smoothing"] = MomentSmoothing(**settings["moment_smoothing"])
        tagger = kind(**made)
        tagger._check_settings()
        tagger.tags_ = tuple(strings["tags"])
        tagger.n_sentences_ = settings["n_sentences"]
        counts: dict[str, Any] = {name: arrays[f"tags.{name}"] for name in _WORD_ARRAYS}
        model = None
        if "look_weights" in arrays:
            model = LookModel(tuple(strings["look_features"]), arrays["look_weights"])
        tagger.words_ = WordTags(
            tagger.tags_,
            words=tuple(strings["tagged_words"]),
            looks=tuple(strings["looks"]),
            model=model,
            **counts,
            **settings["word_tags"],
        )
        packed = PackedParams(arrays, strings, settings["lexicon"])
        labels = tuple(strings["labels"])
        tagger.chains_ = [
            Chain.of(params, tagger.words_, labels, tagger.n_sentences_, tagger.k_next)
            for params in unpack_params(packed, arrays["rules"], tagger.models, tagger.language)
        ]
    return tagger
