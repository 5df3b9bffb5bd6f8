"""Templates of the graph-based parser: text such as ``h.xpos d.lower`` -> arrays for the kernels.

1. A template is a list of items ``role.attribute`` or ``role+1.attribute``: the attribute (of
   ``features.attributes.PARSING``) of the head ``h``, the modifier ``d``, the modifier's inner
   sibling ``s`` or the head's head ``g``, or of a word so far to the right or left of it.
2. An item ``~tags`` adds what lies between: ``~upos`` and ``~xpos`` fire once for each different
   tag in between, ``~kinds`` once with how many verbs, punctuation marks and conjunctions there
   are, ``~rivals`` once with how many words with the head's tag and with the modifier's,
   ``~agree`` once with whether both have the same case, number, gender and person.
3. All items of one role are hashed to one number per word (a *part*); a pair or triple of words
   only adds parts and mixes the sum once, into a *slot* of the weight table.

Every feature has a line of 16 weights: 0 and 1 for the direction, 2 to 15 for direction and
distance.  A template that names one role alone is summed once per word, not once per pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from eigentext.base.types import Int64s, UInt64s
from eigentext.errors import SettingsError
from eigentext.features.attributes import AFFIXES, PARSED_BITS, PARSING
from eigentext.features.templates import Template, TemplateGrammar, distinct, seeds_of

Keys = UInt64s


EXTRAS = ("", "~kinds", "~rivals", "~agree", "~upos", "~xpos")
GRAMMAR = TemplateGrammar("role.attribute", PARSING.names, "hdsg", EXTRAS[1:], most=6, reach=2)


class FeatureArrays(NamedTuple):
    """Templates as the kernels read them; rows of ``spec``: attribute (-1: none) and offset."""

    head_spec: Int64s  # (T, items, 2) templates of the head alone
    head_seeds: Keys  # (T,) a hash of each template's name and role, with which its parts begin
    mod_spec: Int64s  # (T, items, 2) of the modifier alone
    mod_seeds: Keys
    pair_spec: Int64s  # (2, T, items, 2) of head and modifier
    pair_seeds: Keys
    pair_bounds: Int64s  # (7,) of their groups: plain, ~kinds, ~rivals, ~agree, ~upos, ~xpos
    sib_spec: Int64s  # (3, T, items, 2) of head, sibling, modifier
    sib_seeds: Keys
    sib_bounds: Int64s  # (5,) without the head plain, ~kinds; all three plain, ~kinds
    grand_spec: Int64s  # (3, T, items, 2) of the head's head, head, modifier
    grand_seeds: Keys


def _parts(templates: Sequence[Template], roles: str) -> tuple[Int64s, Keys]:
    """(roles, T, items, 2) places of the items of each role, and seeds of their parts."""
    places = np.stack([GRAMMAR.places(templates, role) for role in roles])
    return places, np.stack([seeds_of(role, templates) for role in roles])


def compiled(
    arcs: Sequence[str], siblings: Sequence[str] = (), grand: Sequence[str] = ()
) -> FeatureArrays:
    """Templates as arrays; the order within the groups is that of the names.

    >>> arrays = compiled(["h.upos", "d.upos", "h.upos d.upos"])
    >>> arrays.pair_bounds.tolist(), arrays.sib_bounds.tolist()
    ([0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0])
    """
    # The kernels loop over groups, not over templates: those of one word alone, of a pair by what
    # they take from in between, of a triple by whether they look at the head
    alone: dict[str, list[Template]] = {"h": [], "d": []}
    pairs: dict[str, list[Template]] = {extra: [] for extra in EXTRAS}
    for template in map(GRAMMAR.parse, distinct(arcs)):
        roles = template.roles
        if not roles <= set("hd"):
            raise SettingsError(f"template {template.text!r}: an arc has no sibling s and no g")
        if len(roles) == 2:
            pairs[template.extra].append(template)
        elif template.extra:
            raise SettingsError(f"template {template.text!r}: {template.extra} needs both h and d")
        else:
            alone[min(roles)].append(template)
    triples: dict[tuple[bool, str], list[Template]] = {
        (full, extra): [] for full in (False, True) for extra in ("", "~kinds")
    }
    for template in map(GRAMMAR.parse, distinct(siblings)):
        group = "h" in template.roles, template.extra
        if not set("sd") <= template.roles <= set("hsd") or group not in triples:
            why = "expected s and d, perhaps h and ~kinds"
            raise SettingsError(f"template {template.text!r}: {why}")
        triples[group].append(template)
    grandparents = [GRAMMAR.parse(name) for name in distinct(grand)]
    for template in grandparents:
        if template.extra or not set("gd") <= template.roles <= set("ghd"):
            raise SettingsError(f"template {template.text!r}: expected g and d, perhaps h")
    head_spec, head_seeds = _parts(alone["h"], "h")
    mod_spec, mod_seeds = _parts(alone["d"], "d")
    pair_spec, pair_seeds = _parts(list(chain(*pairs.values())), "hd")
    sib_spec, sib_seeds = _parts(list(chain(*triples.values())), "hsd")
    grand_spec, grand_seeds = _parts(grandparents, "ghd")
    return FeatureArrays(
        head_spec[0],
        head_seeds[0],
        mod_spec[0],
        mod_seeds[0],
        pair_spec,
        pair_seeds,
        np.cumsum([0, *map(len, pairs.values())]).astype(np.int64),
        sib_spec,
        sib_seeds,
        np.cumsum([0, *map(len, triples.values())]).astype(np.int64),
        grand_spec,
        grand_seeds,
    )


def fitting(
    names: Sequence[str], *, fine: bool = True, feats: bool = True, lemmas: bool = True
) -> tuple[str, ...]:
    """Templates for what is known of the words: without what would only say the same again.

    ``fine``    is there a fine tag that says more than upos?
    ``feats``   are there features?
    ``lemmas``  are there lemmas?

    >>> fitting(["h.xpos d.lemma", "h.upos d.lower", "d.feats"], fine=False, feats=False)
    ('h.upos d.lemma', 'h.upos d.lower')
    """
    kept = []
    for name in names:
        if not feats and any(mark in name for mark in (".feats", ".morph", "~agree")):
            continue
        name = name if fine else name.replace("xpos", "upos")
        kept.append(name if lemmas else name.replace(".lemma", ".lower"))
    return tuple(dict.fromkeys(kept))


def arc_templates(
    *, clusters: bool = False, vectors: bool = False, others: bool = False
) -> tuple[str, ...]:
    """First-order templates after McDonald et al. (2005) and Koo et al. (2008).

    ``others``  where the tagger was in doubt, look at the upos that it had second
    """
    names = []
    for role in "hd":
        names += [f"{role}.{name}" for name in ("lower", "form", "xpos", "upos", "feats", "end")]
        names += [f"{role}.lemma", f"{role}.lower {role}.xpos", f"{role}.upos {role}.morph"]
        names += [f"{role}-1.xpos {role}.xpos {role}+1.xpos", f"{role}-1.lower {role}.xpos"]
        names += [f"{role}.xpos {role}+1.lower", f"{role}-2.upos {role}-1.upos {role}.xpos"]
        names += [f"{role}.xpos {role}+1.upos {role}+2.upos"]
    names += ["h.lemma h.xpos d.lemma d.xpos", "h.xpos d.lemma d.xpos", "h.lemma h.xpos d.xpos"]
    names += ["h.lower d.lower", "h.lower d.xpos", "h.xpos d.lower", "h.xpos d.xpos"]
    names += ["h.upos d.upos", "h.upos d.lemma", "h.lemma d.upos", "h.lemma d.lemma"]
    for tag in ("upos", "xpos"):
        names += [
            f"h.{tag} h{a}.{tag} d.{tag} d{b}.{tag}" for a in ("-1", "+1") for b in ("-1", "+1")
        ]
        names += [f"h.{tag} d-1.{tag} d.{tag} d+1.{tag}", f"h-1.{tag} h.{tag} h+1.{tag} d.{tag}"]
    names += ["h-1.upos h.upos h+1.upos d-1.upos d.upos d+1.upos"]
    names += ["h.feats d.feats", "h.upos h.morph d.upos d.morph", "h.upos d.feats d.upos"]
    names += ["h.upos h.feats d.upos", "h.lemma d.upos d.morph"]
    names += ["h.xpos d.end d.upos", "h.end h.upos d.xpos"]
    # endings say what a tagger got wrong: where cases are many and words new
    names += [f"{role}.{affix}" for role in "hd" for affix in AFFIXES]
    names += ["h.end2 d.end2", "h.end2 h.upos d.end2 d.upos", "h.upos d.end2 d.upos"]
    names += ["h.end2 h.upos d.upos", "h.upos d.end4", "h.end4 d.upos", "h.end d.end"]
    names += ["h.upos d-1.end2 d.end2", "h.upos d.end2 d+1.end2", "h.end2 d.end2 ~kinds"]
    names += ["h.upos d.upos ~kinds", "h.xpos d.xpos ~kinds", "h.upos d.lemma ~kinds"]
    names += ["h.upos d.upos ~rivals", "h.xpos d.xpos ~rivals", "h.lemma d.upos ~rivals"]
    names += ["h.upos d.upos ~agree", "h.xpos d.xpos ~agree"]
    names += ["h.upos d.upos ~upos", "h.xpos d.xpos ~xpos"]
    if others:
        for role in "hd":
            names += [f"{role}.other", f"{role}.either", f"{role}.upos {role}.other"]
            names += [f"{role}.lower {role}.other"]
        names += ["h.either d.either", "h.either d.upos", "h.upos d.either", "h.other d.other"]
        names += ["h.other d.upos", "h.upos d.other", "h.either d.lemma", "h.lemma d.either"]
        names += ["h.xpos d.other d.xpos", "h.other h.xpos d.xpos"]
    for used, (a, b, c) in zip((clusters, vectors), PARSED_BITS, strict=True):
        if used:
            for bits in (a, b, c):
                names += [f"{role}.{bits}" for role in "hd"]
                names += [f"h.{bits} d.{bits}", f"h.xpos d.{bits}", f"h.{bits} d.xpos"]
            names += [f"h.{a} h.upos d.{a} d.upos", f"h.{b} h.xpos d.{b} d.xpos"]
            names += [f"h.lower d.{b}", f"h.{b} d.lower", f"h.{a} d.{a} ~upos"]
            names += [f"h.{a} h+1.{a} d-1.{a} d.{a}", f"h-1.{a} h.{a} d.{a} d+1.{a}"]
    return tuple(names)


def coarse_templates() -> tuple[str, ...]:
    """The few templates that say which arcs are worth a look."""
    names = [f"{role}.{name}" for role in "hd" for name in ("lower", "xpos", "upos", "feats")]
    names += ["h.xpos d.xpos", "h.upos d.upos", "h.upos d.lower", "h.lower d.upos"]
    names += ["h.upos d-1.upos d.upos d+1.upos", "h-1.upos h.upos h+1.upos d.upos"]
    names += [f"h.upos h{a}.upos d.upos d{b}.upos" for a in ("-1", "+1") for b in ("-1", "+1")]
    names += ["h.upos h.morph d.upos d.morph", "h.lower d.lower"]
    names += ["h.upos d.upos ~kinds", "h.upos d.upos ~rivals"]
    return tuple(names)


def sibling_templates(*, clusters: bool = False, vectors: bool = False) -> tuple[str, ...]:
    """Second-order templates after McDonald and Pereira (2006) and Carreras (2007)."""
    names = ["s.upos d.upos", "s.xpos d.xpos", "s.lemma d.lemma", "s.lemma d.xpos"]
    names += ["s.xpos d.lemma", "s.feats d.feats", "s.upos d.upos ~kinds", "s.xpos d.lemma ~kinds"]
    names += ["h.upos s.upos d.upos", "h.xpos s.xpos d.xpos", "h.lemma s.upos d.upos"]
    names += ["h.upos s.lemma d.upos", "h.upos s.upos d.lemma", "h.upos s.lemma d.lemma"]
    names += ["h.lemma s.xpos d.xpos", "h.upos s.upos d.upos ~kinds"]
    names += ["h.upos s.upos s.morph d.upos d.morph"]
    for used, (a, b, c) in zip((clusters, vectors), PARSED_BITS, strict=True):
        if used:
            names += [f"s.{a} d.{a}", f"s.{b} d.{b}", f"s.{c} d.{c}", f"h.{a} s.{a} d.{a}"]
            names += [f"h.upos s.{b} d.{b}"]
    return tuple(names)


def grandparent_templates(*, clusters: bool = False, vectors: bool = False) -> tuple[str, ...]:
    """Templates of a modifier, its head and the head's head, after Carreras (2007)."""
    names = ["g.upos d.upos", "g.xpos d.xpos", "g.lemma d.lemma", "g.xpos d.lemma"]
    names += ["g.lemma d.xpos", "g.upos h.upos d.upos", "g.xpos h.xpos d.xpos"]
    names += ["g.lemma h.upos d.upos", "g.upos h.lemma d.upos", "g.upos h.upos d.lemma"]
    names += ["g.upos h.lemma d.lemma", "g.lemma h.lemma d.upos", "g.lemma h.upos d.lemma"]
    names += ["g.feats h.feats d.feats"]
    for used, (a, b, c) in zip((clusters, vectors), PARSED_BITS, strict=True):
        if used:
            names += [f"g.{a} h.{a} d.{a}", f"g.{b} h.upos d.{b}", f"g.{c} d.{c}"]
    return tuple(names)
