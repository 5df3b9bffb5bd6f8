"""Head rules: which child of a constituent carries it, and so which word.

A rule is a list of clauses ``(direction, labels)``, tried in order: one scans the children from
its side and takes the first whose label is among its labels.  Where none finds a child, the rule's
last direction decides; punctuation is passed over while there is anything else, and in a
coordination found by that, the conjunct before the conjunction is the head.  Labels are looked up
without function tags (``NP-SBJ`` counts as ``NP``).

``to_dependencies`` makes arcs of them: a child whose head word is not that of its parent depends
on the parent's, by the relation ``child<parent`` in constituent labels.  The result is projective
with one root.  Strip traces first (``clean``): they count as words here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from eigentext.errors import SettingsError
from eigentext.language.trees.clean import base_label
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.dependency import DependencyTree

Direction = Literal["left", "right"]
Clause = tuple[Direction, frozenset[str]]

# "<" scans from the left, ">" from the right; {A B} is one clause, a bare label is one by itself
_NOMINAL = (
    "> {NN NNP NNPS NNS NX NML POS JJR GW} < {NP} > {$ ADJP PRN} > {CD AFX} > {JJ JJS RB QP}"
)
_VERBAL = "< TO MD VBD VBN VBZ VB VBG VBP VP AUX COP ADJP NN NNS NP"
ENGLISH: Mapping[str, str] = {
    "ADJP": "< NNS QP NN $ JJ VBN VBG ADJP JJR NP JJS DT FW RBR RBS SBAR ADVP RB",
    "ADVP": "> RB RBR RBS FW ADVP TO CD JJR JJ IN NP JJS NN",
    "CAPTION": "< S NP VP SBAR FRAG PP X",
    "CIT": "> NP NNP NN CD",
    "CONJP": "> CC RB IN",
    "EMBED": "< S SQ SINV SBARQ NP",
    "FRAG": "> S VP NP PP SBAR ADJP ADVP",
    "HEADING": "< S NP VP ADJP PP FRAG NN",
    "INTJ": "< UH INTJ",
    "LST": "> LS CD",
    "META": "< S NP",
    "NAC": "> {NN NNS NNP NNPS} < NP NAC EX $ CD QP PRP VBG JJ JJS JJR ADJP FW",
    "NML": _NOMINAL,
    "NP": _NOMINAL,
    "NX": _NOMINAL,
    "PP": "> IN TO VBG VBN RP FW PP",
    "PRN": "< S SBAR VP NP PP ADJP ADVP",
    "PRT": "> RP",
    "QP": "< $ IN NNS NN JJ RB DT CD NCD QP JJR JJS",
    "RRC": "> VP NP ADVP ADJP PP",
    "S": "< VP TO IN S SBAR ADJP UCP NP",
    "SBAR": "< WHNP WHPP WHADVP WHADJP IN DT S SQ SINV SBAR FRAG",
    "SBARQ": "< SQ S SINV SBARQ FRAG",
    "SINV": "< VBZ VBD VBP VB MD VP S SINV ADJP NP",
    "SQ": "< VBZ VBD VBP VB MD VP SQ S",
    "TITLE": "< NP S VP ADJP PP FRAG NN",
    "TOP": "< S SINV SQ SBARQ SBAR VP NP FRAG PP",
    "UCP": ">",
    "VP": _VERBAL,
    "WHADJP": "< WRB JJ ADJP",
    "WHADVP": "> WRB",
    "WHNP": "< WDT WP WP$ WHADJP WHPP WHNP > {NN NNS NNP NNPS}",
    "WHPP": "> IN TO FW",
    "X": "> NP VP S PP ADJP",
    "*": "< VP S NP",
}
"""Head rules for English constituents as Magerman and Collins chose them, for the labels of the
Penn Treebank and of its younger relatives; ``*`` is for every other label."""

_PUNCTUATION = {"-LRB-", "-RRB-", "-LCB-", "-RCB-", "-LSB-", "-RSB-", "HYPH", "NFP", "PUNCT", "PU"}
WORD = "*"
"""What a bare word that stands beside constituents is called among the children."""

_DIRECTIONS: dict[str, Direction] = {"<": "left", ">": "right"}


def _is_punctuation(label: str) -> bool:
    return label in _PUNCTUATION or not (
        label in ("$", "#") or any(character.isalnum() for character in label)
    )


def _clauses(label: str, text: str) -> tuple[Clause, ...]:
    """Read the compact form of one rule; the last clause, with no labels, is the default side."""
    direction: Direction | None = None
    group: set[str] | None = None
    clauses: list[Clause] = []
    for piece in text.replace("{", " { ").replace("}", " } ").split():
        if piece in _DIRECTIONS and group is None:
            direction = _DIRECTIONS[piece]
        elif direction is None:
            raise SettingsError(f"head rule for {label!r} must begin with '<' or '>': {text!r}")
        elif piece == "{" and group is None:
            group = set()
        elif piece == "}" and group:
            clauses.append((direction, frozenset(group)))
            group = None
        elif piece in ("{", "}"):
            raise SettingsError(f"head rule for {label!r} has a brace out of place: {text!r}")
        elif group is not None:
            group.add(piece)
        else:
            clauses.append((direction, frozenset((piece,))))
    if direction is None or group is not None:
        raise SettingsError(f"head rule for {label!r} is empty or lacks a '}}': {text!r}")
    return (*clauses, (direction, frozenset()))


class HeadRules:
    """Chooses head children; answers are remembered per (parent, children).

    >>> rules = HeadRules.english()
    >>> rules.head_child("S", ["NP-SBJ", "VP", "."])
    1
    >>> rules.head_child("NP", ["DT", "NN", "NN"])
    2
    >>> HeadRules({"X": "> A {B C} <"}).head_child("X", ["C", "B", "D"])
    1
    """

    def __init__(
        self,
        rules: Mapping[str, str],
        *,
        coordinators: Sequence[str] = (),
        neutral: Direction | None = None,
    ) -> None:
        """Rules as in :data:`ENGLISH`; coordinations have their head before ``coordinators``."""
        if isinstance(coordinators, str):
            raise TypeError("coordinators must be a sequence of labels, not one str")
        self._rules = {label: _clauses(label, text) for label, text in rules.items()}
        self._coordinators = frozenset(coordinators)
        if neutral not in (None, "left", "right"):
            raise SettingsError(f"direction must be 'left' or 'right', not {neutral!r}")
        self._neutral: Direction = neutral or "left"
        self._remembered: dict[tuple[str, tuple[str, ...]], int] = {}

    @classmethod
    def english(cls) -> HeadRules:
        """Rules for Penn-Treebank-like English trees."""
        return cls(ENGLISH, coordinators=("CC", "CONJP"))

    @classmethod
    def neutral(cls, direction: Direction = "left") -> HeadRules:
        """Rules for any language, from labels alone.

        For a parent ``XP`` or ``X`` the head is, in this order: a child ``X``, a child with the
        parent's own label, a child whose label starts with ``X``; else the first child from
        ``direction``.  Punctuation (labels without letters or digits) comes last.

        >>> HeadRules.neutral().head_child("NP", ["D", "N", "PP"])
        1
        >>> HeadRules.neutral("right").head_child("IP", [",", "NP", "VBDI", "."])
        2
        """
        return cls({}, neutral=direction)

    def head_child(self, label: str, child_labels: Sequence[str]) -> int:
        """Return the position of the head among the children of a node called ``label``."""
        if isinstance(child_labels, str):
            raise TypeError("child_labels must be a sequence of labels, not one str")
        key = (label, tuple(child_labels))
        head = self._remembered.get(key)
        if head is None:
            if not child_labels:
                raise ValueError(f"{label!r} has no children to choose a head from")
            head = self._choose(base_label(label), [base_label(child) for child in key[1]])
            if len(self._remembered) >= 1 << 17:  # long runs over odd trees stay in bounds
                self._remembered.clear()
            self._remembered[key] = head
        return head

    def _choose(self, label: str, children: list[str]) -> int:
        if len(children) == 1:
            return 0
        clauses = self._rules.get(label) or self._rules.get("*") or self._by_name(label, children)
        for direction, labels in clauses:
            order = range(len(children))
            for at in order if direction == "left" else reversed(order):
                # the clause without labels takes anything but punctuation
                if children[at] in labels or not (labels or _is_punctuation(children[at])):
                    return self._first_conjunct(children, at)
        return 0 if clauses[-1][0] == "left" else len(children) - 1  # all are punctuation

    def _by_name(self, label: str, children: list[str]) -> tuple[Clause, ...]:
        """Clauses made up for a label that has no rule."""
        side = self._neutral
        if _is_punctuation(label):
            return ((side, frozenset()),)
        stem = label[:-1] if label.endswith("P") else label
        kin = frozenset(child for child in children if stem and child.startswith(stem))
        named: tuple[Clause, ...] = ((side, frozenset((stem,))), (side, frozenset((label,))))
        return (*named, *([(side, kin)] if kin else []), (side, frozenset()))

    def _first_conjunct(self, children: list[str], head: int) -> int:
        if head < 2 or children[head - 1] not in self._coordinators:
            return head
        at = head - 2
        while at > 0 and _is_punctuation(children[at]):
            at -= 1
        return head if _is_punctuation(children[at]) else at

    def lexical_heads(self, tree: Tree) -> npt.NDArray[np.int32]:
        """(n_nodes,): for each node the position in ``tree.words`` of its head word.

        >>> from eigentext.language.trees.constituent import Tree
        >>> tree = Tree.from_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
        >>> HeadRules.english().lexical_heads(tree).tolist()
        [2, 1, 0, 0, 1, 1, 2, 2, 2]
        """
        labels, sizes = tree.labels, tree.sizes.tolist()
        heads = [0] * len(sizes)
        word = len(tree.words)
        for node in range(len(sizes) - 1, -1, -1):
            size = sizes[node]
            if size == 1:
                word -= 1
                heads[node] = word
            elif size == sizes[node + 1] + 1:
                heads[node] = heads[node + 1]
            else:
                children = []
                child, end = node + 1, node + size
                while child < end:
                    children.append(child)
                    child += sizes[child]
                names = [labels[child] if sizes[child] > 1 else WORD for child in children]
                chosen = self.head_child(labels[node], names)
                heads[node] = heads[children[chosen]]
        return np.array(heads, dtype=np.int32)


def to_dependencies(tree: Tree, heads: HeadRules | None = None) -> DependencyTree:
    """Convert one tree; ``heads`` are English rules by default.

    >>> from eigentext.language.trees.constituent import Tree
    >>> tree = Tree.from_brackets("(S (NP (DT the) (NN dog)) (VP (VBZ barks)))")
    >>> to_dependencies(tree).arcs
    [(2, 1, 'DT<NP'), (3, 2, 'NP<S'), (0, 3, 'root')]
    """
    rules = heads if heads is not None else HeadRules.english()
    labels, sizes = tree.labels, tree.sizes.tolist()
    head_words = rules.lexical_heads(tree).tolist()
    governors = [0] * len(tree.words)
    relations = ["root"] * len(tree.words)
    for node, parent in enumerate(tree.parents.tolist()):
        if parent >= 0 and head_words[node] != head_words[parent]:
            word = head_words[node]
            governors[word] = head_words[parent] + 1
            child = labels[node] if sizes[node] > 1 else "_"  # a word beside constituents
            relations[word] = f"{child}<{labels[parent]}"
    return DependencyTree(tree.words, governors, relations, tree.tags)
