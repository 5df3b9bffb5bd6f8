"""Templates of context features, and the sets of them that a ranker may have."""

from __future__ import annotations

from eigentext.features.templates import TemplateGrammar


def _listed(text: str) -> tuple[str, ...]:
    """Templates of a list written as one string."""
    return tuple(text.split(", "))


PAPER = _listed(
    "form@0, form@0 form@-1, form@0 form@1, form@0 first@-1, form@0 first@1, form@0 last@-1, "
    "form@0 last@1, form@-1, form@1, first@-1, first@1, last@-1, last@1"
)
"""The seven statistics of Shah et al. 2010 (table 3), and contexts without the word (2)."""

WIDE = _listed(
    "form@0, form@0 form@-1, form@0 form@1, norm@0, class@0, class@-1, class@1, class@0 "
    "class@-1, class@0 class@1, class@-1 class@0 class@1, class@0 form@-1, class@0 form@1, "
    "class@0 class@-1 class@-2, form@-1, form@1, form@-2, form@2, form@-1 form@1, start2@0, "
    "start3@0, end1@0, end2@0, end3@0, start2@0 end1@0, start2@0 end2@0, start2@0 form@-1, "
    "start2@0 form@1, start2@0 form@-2, start2@0 start2@-1, start2@0 start2@1, start2@0 "
    "end2@-1, start2@0 end2@1, start2@0 end1@0 form@-1, start2@-1 end1@-1 start2@1, form@-2 "
    "form@-1"
)
"""With token-free contexts, the word's own affixes, and what its candidates leave open."""

CLUSTERED = _listed(
    "cluster@0, cluster@-1, cluster@1, cluster6@0 cluster6@-1, cluster6@0 cluster6@1, "
    "cluster3@-1 cluster3@1, class@0 cluster@-1, class@0 cluster@1, start2@0 cluster@-1"
)
"""What clusters of the words add, where there are some."""

SECOND_PASS = _listed(
    "lemma@-1, lemma@1, morph@-1, morph@1, hard@-1, hard@1, hard@-2, hard@-1 hard@-2, hard@-1 "
    "hard@1, hard@1 hard@2, hard@-1 start2@0 end1@0, morph@-1 start2@0 end1@0, hard@-1 "
    "start2@0 hard@1, lemma@-1 start2@0, lemma@-1 hard@1, lemma@-2 hard@-1, lemma@-2 hard@-1 "
    "start2@0, hard@-3 hard@-2 hard@-1, lemma@-2 lemma@-1, form@0 hard@-1, form@0 hard@1, "
    "class@0 hard@-1, class@0 hard@1, class@0 hard@-1 hard@1, class@0 hard@-1 hard@-2, "
    "class@0 hard@1 hard@2, class@0 morph@-1, class@0 morph@1, class@0 lemma@-1, class@0 "
    "lemma@1, class@0 lemma@-2 hard@-1"
)
"""What the neighbours' predicted labels add."""


_GRAMMAR = TemplateGrammar("attribute@offset", most=99)


def parse(template: str) -> tuple[tuple[str, int], ...]:
    """The parts of a template.

    >>> parse("form@0 pos@-1")
    (('form', 0), ('pos', -1))
    """
    return tuple((item.attribute, item.offset) for item in _GRAMMAR.parse(template).items)
