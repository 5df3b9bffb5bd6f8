"""A morphological tagger as parts of a model file, and back.

The file holds the tags, the forms of the training text with counts, lemma rules and XPOS, the
weights as bytes, and the bits of clusters and vectors that new text needs.  What is counted by
endings is counted again when a file is read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base.fields import Ints, Pointers, Reals, Strings
from eigentext.base.records import (
    BitsOfWords,
    Called,
    Group,
    Numbers,
    Record,
    RecordColumns,
    When,
    stored,
)
from eigentext.base.values import Flag, Listed, Real, Text
from eigentext.errors import EigentextError
from eigentext.tagging.morphology.learn import ByteWeights
from eigentext.tagging.morphology.lemmas import CASES, LEMMA_BITS, LemmaRule, Lemmatiser
from eigentext.tagging.morphology.tags import MorphTagSet, OtherXpos
from eigentext.tagging.morphology.words import FormLexicon

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import SimpleNamespace

    from eigentext.base.fields import Size
    from eigentext.lexical.analysis import Analyzer
    from eigentext.tagging.morphology.tagger import MorphTagger


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


def _reopened(name: str) -> Analyzer | None:
    """The analyzer that the tagger in this file learned with."""
    try:
        return opened(name)
    except EigentextError as error:
        why = f"the tagger learned with the analyzer {name!r}, which cannot be opened: {error}"
        raise ValueError(why) from error


class _Tag(NamedTuple):
    upos: str
    xpos: str
    feats: str


_RULE: dict[str, Any] = dict.fromkeys(LemmaRule._fields, Strings("rules"))


def _entries(below: str) -> Numbers:
    return Numbers(Ints(("entries",), ("int32",), 0, below))


def _bytes(prefix: str, size: Size) -> Record:
    table = Called("weights", Ints((size,), ("int8",)))
    return Record(ByteWeights, prefix=prefix, table=table, scale=Reals((), low=0, high=1e9))


@dataclass
class MorphContent:
    """What a file holds."""

    tags: tuple[_Tag, ...] = stored(
        RecordColumns(_Tag, upos=Strings("tags"), xpos=Strings("tags"), feats=Strings("tags")),
        of=lambda tagger: list(map(_Tag._make, tagger.tag_set_.triples)),
    )
    lexicon_: FormLexicon = stored(
        Record(
            FormLexicon,
            forms=Strings("forms", distinct=True),
            ptr=Called("starts", Pointers("forms", "entries")),
            tags=Ints(("entries",), ("int32",), 0, "tags"),
            counts=Ints(("entries",), ("int32",), 1),
        )
    )
    rules: tuple[LemmaRule, ...] = stored(
        RecordColumns(LemmaRule, prefix="rule_", **_RULE), of="lemmatiser_.rules"
    )
    rule_of: Sequence[int] = stored(_entries("rules"), "rules", of="lemmatiser_.rule_of")
    weights_: ByteWeights = stored(_bytes("", lambda values: 1 << values["bits"]))
    lemma_weights: ByteWeights = stored(
        _bytes("lemma_", 1 << LEMMA_BITS), of="lemmatiser_.weights"
    )
    has_other_xpos: bool = stored(
        Flag(), "other_xpos", of=lambda tagger: tagger.other_xpos_ is not None
    )
    other_xpos: SimpleNamespace | None = stored(
        When(
            lambda values: bool(values["other_xpos"]),
            Group(
                values=Called("other_xpos", Strings("values", distinct=True)),
                of_tag=Called("xpos_of_tag", Numbers(Ints(("tags",), ("int32",), 0, "values"))),
                of_entry=Called("xpos_of_entry", _entries("values")),
            ),
        ),
        of="other_xpos_",
    )
    clusters_: dict[str, str] = stored(BitsOfWords("cluster"))
    near_: dict[str, str] = stored(BitsOfWords("vector"))
    heat_: float = stored(Real(1e-3, 1e3))
    # of words that training saw, and others
    coverage_: tuple[float, float] = stored(Listed(Real(0, 1), 2))
    analyzer_name_: str = stored(Text(), "analyzer")

    def _holds(self) -> None:
        if not self.tags or not self.lexicon_.forms:
            raise ValueError("no tags or no forms, expected some")
        if list(self.tags) != sorted(set(self.tags)):
            raise ValueError("the tags are not in order, or some are alike")
        if bool(np.any(np.diff(self.lexicon_.ptr) == 0)):
            raise ValueError("array 'starts' tells of a form without a tag")
        if {rule.case for rule in self.rules} - set(CASES):
            raise ValueError(f"strings 'rule_case' hold others than {', '.join(CASES)}")
        if len(self.lexicon_.entry) < len(self.lexicon_.tags):
            raise ValueError("array 'tags' has a tag of a form twice")

    def restore(self, tagger: MorphTagger) -> None:
        """Set what ``fit`` would have learned."""
        tagger.tag_set_ = MorphTagSet((tag.upos, tag.xpos, tag.feats) for tag in self.tags)
        tagger.lemmatiser_ = Lemmatiser(
            self.lexicon_, tagger.tag_set_, self.rules, self.rule_of, self.lemma_weights
        )
        tagger.other_xpos_, other = None, self.other_xpos
        if other is not None:
            tagger.other_xpos_ = OtherXpos(self.lexicon_.entry, **vars(other))
        tagger.analyzer_ = _reopened(self.analyzer_name_)
        # settings as well, so that a tagger of the same settings can be trained
        tagger.clusters, tagger.vectors = self.clusters_ or None, self.near_ or None
