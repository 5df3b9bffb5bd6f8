"""A morphological tagger as parts of a model file, and back.

The file holds the tags, the forms of the training text with counts, lemma rules and XPOS, the
weights as bytes, and the bits of clusters and vectors that new text needs.  What is counted by
endings is counted again when a file is read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.base.fields import (
    Array,
    Flag,
    Ints,
    Listed,
    Parts,
    Pointers,
    Real,
    Reals,
    Spec,
    Strings,
    Text,
    Whole,
)
from eigentext.base.model import Packed
from eigentext.errors import EigentextError, ModelFileError
from eigentext.tagging.morphology.bytes import ByteWeights
from eigentext.tagging.morphology.lemmas import CASES, LEMMA_BITS, LemmaRule, Lemmatiser
from eigentext.tagging.morphology.tags import OtherXpos, TagSet
from eigentext.tagging.morphology.words import Lexicon

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.lexical.analysis import Analyzer
    from eigentext.tagging.morphology.tagger import MorphTagger

__all__ = ["SPEC", "name_of", "opened", "pack", "restore"]

_RULE = tuple(f"rule_{name}" for name in LemmaRule._fields)


def opened(analyzer: Analyzer | str | None) -> Analyzer | None:
    """The analyzer of this name; an analyzer is its own."""
    if not analyzer:
        return None
    from eigentext.lexical.analyzers import open_analyzer

    return open_analyzer(analyzer)


def name_of(analyzer: Analyzer | str | None) -> str:
    """The name that opens it again."""
    if not analyzer:
        return ""
    return analyzer if isinstance(analyzer, str) else analyzer.name


def _reopened(name: str, path: str) -> Analyzer | None:
    """The analyzer that the tagger in this file learned with."""
    try:
        return opened(name)
    except EigentextError as error:
        why = f"the tagger learned with the analyzer {name!r}, which cannot be opened: {error}"
        raise ModelFileError(path, why=why) from error


def _parts(settings: dict[str, Any]) -> Parts:
    arrays: dict[str, Array | Pointers] = {
        "weights": Ints((1 << settings["bits"],), ("int8",)),
        "scale": Reals((), low=0, high=1e9),
        "lemma_weights": Ints((1 << LEMMA_BITS,), ("int8",)),
        "lemma_scale": Reals((), low=0, high=1e9),
        "starts": Pointers("forms", "entries"),
        "tags": Ints(("entries",), ("int32",), 0, "tags"),
        "counts": Ints(("entries",), ("int32",), 1),
        "rules": Ints(("entries",), ("int32",), 0, "rules"),
    }
    strings = {name: Strings("tags") for name in ("upos", "xpos", "feats")}
    strings |= {"forms": Strings("forms", distinct=True)}
    strings |= {name: Strings("rules") for name in _RULE}
    if settings["other_xpos"]:
        strings["other_xpos"] = Strings("values", distinct=True)
        arrays["xpos_of_tag"] = Ints(("tags",), ("int32",), 0, "values")
        arrays["xpos_of_entry"] = Ints(("entries",), ("int32",), 0, "values")
    for name in ("cluster", "vector"):
        strings[f"{name}_words"] = Strings(f"{name}s", distinct=True)
        strings[f"{name}_bits"] = Strings(f"{name}s", bits=True)
    return Parts(arrays, strings)


def _holds(
    arrays: Mapping[str, np.ndarray], strings: Mapping[str, list[str]], settings: Any
) -> None:
    if not strings["upos"] or not strings["forms"]:
        raise ValueError("no tags or no forms, expected some")
    triples = list(zip(*(strings[name] for name in ("upos", "xpos", "feats")), strict=True))
    if triples != sorted(set(triples)):
        raise ValueError("the tags are not in order, or some are alike")
    if bool(np.any(np.diff(arrays["starts"]) == 0)):
        raise ValueError("array 'starts' tells of a form without a tag")
    if set(strings["rule_case"]) - set(CASES):
        raise ValueError(f"strings 'rule_case' hold others than {', '.join(CASES)}")


SPEC = Spec(
    {
        "bits": Whole(10, 26),
        "other_xpos": Flag(),
        "heat": Real(1e-3, 1e3),
        "coverage": Listed(Real(0, 1), 2),
        "analyzer": Text(),
    },
    _parts,
    _holds,
)


def pack(tagger: MorphTagger) -> Packed:
    """Everything that tagging needs, except the analyzer."""
    lexicon, lemmatiser, other = tagger.lexicon_, tagger.lemmatiser_, tagger.other_xpos_
    arrays = {
        "weights": tagger.weights_.table,
        "scale": np.array(tagger.weights_.scale),
        "lemma_weights": lemmatiser.weights.table,
        "lemma_scale": np.array(lemmatiser.weights.scale),
        "starts": lexicon.ptr,
        "tags": lexicon.tags,
        "counts": lexicon.counts,
        "rules": np.array(lemmatiser.rule_of, np.int32),
    }
    strings = dict(zip(("upos", "xpos", "feats"), tagger.tag_set_.columns, strict=True))
    strings["forms"] = lexicon.forms
    strings |= dict(zip(_RULE, zip(*lemmatiser.rules, strict=True), strict=True))
    if other is not None:
        strings["other_xpos"] = other.values
        arrays["xpos_of_tag"] = np.array(other.of_tag, np.int32)
        arrays["xpos_of_entry"] = np.array(other.of_entry, np.int32)
    for name, table in (("cluster", tagger.clusters_), ("vector", tagger.near_)):
        strings[f"{name}_words"] = tuple(table)
        strings[f"{name}_bits"] = tuple(table.values())
    facts = {
        "other_xpos": other is not None,
        "heat": tagger.heat_,
        "coverage": list(tagger.coverage_),
        "analyzer": tagger.analyzer_name_,
    }
    return Packed(arrays, strings, facts)


def restore(tagger: MorphTagger, packed: Packed) -> None:
    """Set what :func:`pack` kept."""
    a, strings, facts = packed.arrays, packed.strings, packed.facts
    tagger.tag_set_ = TagSet(zip(strings["upos"], strings["xpos"], strings["feats"], strict=True))
    tagger.lexicon_ = lexicon = Lexicon(
        tuple(strings["forms"]), a["starts"], a["tags"], a["counts"]
    )
    if len(lexicon.entry) < len(lexicon.tags):
        raise ValueError("array 'tags' has a tag of a form twice")
    rules = [LemmaRule(*rule) for rule in zip(*(strings[name] for name in _RULE), strict=True)]
    tagger.lemmatiser_ = Lemmatiser(
        lexicon,
        tagger.tag_set_,
        rules,
        a["rules"].tolist(),
        ByteWeights(a["lemma_weights"], float(a["lemma_scale"])),
    )
    tagger.other_xpos_ = None
    if facts["other_xpos"]:
        numbers = a["xpos_of_tag"].tolist(), a["xpos_of_entry"].tolist()
        tagger.other_xpos_ = OtherXpos(lexicon.entry, strings["other_xpos"], *numbers)
    tagger.weights_ = ByteWeights(a["weights"], float(a["scale"]))
    tagger.heat_ = float(facts["heat"])
    known, unknown = map(float, facts["coverage"])  # of words that training saw, and others
    tagger.coverage_ = known, unknown
    tagger.analyzer_name_ = facts["analyzer"]
    tagger.analyzer_ = _reopened(facts["analyzer"], packed.path)
    tagger.clusters_ = dict(zip(strings["cluster_words"], strings["cluster_bits"], strict=True))
    tagger.near_ = dict(zip(strings["vector_words"], strings["vector_bits"], strict=True))
    # settings as well, so that a tagger of the same settings can be trained
    tagger.clusters, tagger.vectors = tagger.clusters_ or None, tagger.near_ or None
