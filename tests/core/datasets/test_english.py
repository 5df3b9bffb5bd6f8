"""The English sample trees: well-formed, in Penn style, varied, and learnable."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

import pytest

from eigentext.datasets import load_english, load_pairs, load_traces
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterator

TAG_LIST = """CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM
    TO UH VB VBD VBG VBN VBP VBZ WDT WP WP$ WRB . , : `` '' -LRB- -RRB- $ #"""
PHRASE_LIST = """ADJP ADVP CONJP FRAG INTJ NP NX PP PRN PRT QP RRC S SBAR SBARQ SINV SQ UCP VP
    WHADJP WHADVP WHNP WHPP X TOP"""
TAGS, PHRASES = set(TAG_LIST.split()), set(PHRASE_LIST.split())
BE = {"be", "is", "are", "was", "were", "been", "being", "'s", "am"}
HAVE = {"have", "has", "had"}
DO = {"do", "does", "did"}

Node = tuple  # (label, word) or (label, child, child, ...)


def parse(text: str) -> Node:
    """An independent, strict reader of one bracketing."""
    tokens = re.findall(r"[()]|[^\s()]+", text)
    stack: list[list] = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            done = tuple(stack.pop())
            assert len(done) >= 2, text
            stack[-1].append(done)
        else:
            assert len(stack) > 1, text
            stack[-1].append(token)
    assert len(stack) == 1, f"unbalanced: {text}"
    assert len(stack[0]) == 1, f"more than one tree: {text}"
    return stack[0][0]


def is_tag(node: Node) -> bool:
    return isinstance(node[1], str)


def inner(node: Node) -> Iterator[Node]:
    """All phrases, the root included."""
    if not is_tag(node):
        yield node
        for child in node[1:]:
            yield from inner(child)


def leaves(node: Node) -> list[Node]:
    return [node] if is_tag(node) else [leaf for child in node[1:] for leaf in leaves(child)]


def words(node: Node) -> list[str]:
    return [word for _, word in leaves(node)]


def labels(node: Node) -> list[str]:
    return [child[0] for child in node[1:]]


@pytest.fixture(scope="module")
def trees() -> list[Node]:
    return [parse(line) for line in load_english("all")]


def test_sizes_and_splits(trees):
    sizes = [len(load_english(split)) for split in ("train", "dev", "test")]
    assert sizes == [305, 23, 23]
    assert load_english() == [line for s in ("train", "dev", "test") for line in load_english(s)]
    tokens = [word for tree in trees for word in words(tree)]
    assert 2800 <= len(tokens) <= 3500
    assert 500 <= len({token.lower() for token in tokens}) <= 700


def test_an_unknown_split_is_named():
    with pytest.raises(SettingsError, match="no split 'trian'"):
        load_english("trian")


def test_no_sentence_twice(trees):
    sentences = Counter(" ".join(words(tree)).lower() for tree in trees)
    assert [sentence for sentence, n in sentences.items() if n > 1] == []


def test_labels_are_penn_labels_and_nothing_is_empty(trees):
    for tree in trees:
        assert tree[0] == "TOP"
        assert len(tree) == 2
        for node in inner(tree):
            assert node[0] in PHRASES, node
            assert not any(isinstance(child, str) for child in node[1:]), node
            assert "TOP" not in labels(node)
        for tag, word in leaves(tree):
            assert tag in TAGS, (tag, word)
            assert word == word.strip()
            assert (tag in {"-LRB-", "-RRB-", ",", "``", "''"}) <= (tag == word)


def test_sentences_look_like_sentences(trees):
    for tree in trees:
        tokens = words(tree)
        first = next(token for token in tokens if token != "``")
        assert first[0].isupper(), tokens
        assert tokens[-1] in {".", "?", "!", "''"}, tokens
        asks = tree[1][0] in {"SQ", "SBARQ"}
        assert (tokens[-1] == "?") >= asks, tokens
        assert tokens.count("``") == tokens.count("''")
        assert tokens.count("-LRB-") == tokens.count("-RRB-")


def governed(node: Node) -> Iterator[tuple[str, str, Node]]:
    """(tag, word) of an auxiliary and the verb phrase it governs, coordination looked through."""
    tags = [child for child in node[1:] if is_tag(child) and child[0][:2] in {"VB", "MD", "TO"}]
    if node[0] in {"VP", "SQ", "SINV"} and tags:
        for child in node[1:]:
            if child[0] == "VP":
                below = [child]
                while below:
                    phrase = below.pop()
                    if is_tag(phrase[1]) and phrase[1][0][:2] in {"VB", "MD", "TO"}:
                        yield tags[0][0], tags[0][1].lower(), phrase
                    else:
                        below.extend(part for part in phrase[1:] if part[0] == "VP")


def test_auxiliaries_govern_the_right_verb_forms(trees):
    seen = Counter()
    for tree in trees:
        for node in inner(tree):
            for tag, word, phrase in governed(node):
                form = phrase[1][0]
                seen[tag] += 1
                if tag in {"MD", "TO"} or word in DO:
                    assert form == "VB", (word, phrase)
                elif word in HAVE:
                    assert form == "VBN", (word, phrase)
                elif word in BE:
                    assert form in {"VBN", "VBG"}, (word, phrase)
    assert seen["MD"] > 20
    assert seen["TO"] > 20


def test_constituents_begin_as_they_should(trees):
    for tree in trees:
        for node in inner(tree):
            first, rest = node[1], labels(node)
            if node[0] == "PRT":
                assert rest == ["RP"]
            if node[0] == "PP":
                assert {"IN", "TO"} & set(rest) or "PP" in rest, node
            if node[0].startswith("WH"):
                assert any(tag.startswith("W") for tag, _ in leaves(node)), node
            if node[0] == "NP" and "POS" in rest:
                assert rest[-1] == "POS", node
            if node[0] == "SBAR":
                assert first[0] in {"IN", "S", "SBAR", "WHNP", "WHADVP", "WHPP"}, node
            if node[0] == "VP" and is_tag(first):
                assert first[0][:2] in {"VB", "MD", "TO"}, node
            if node[0] == "QP":
                assert "CD" in rest
            assert not (len(rest) == 1 and rest[0] == node[0]), f"a unary cycle: {node}"


def test_the_grammar_is_varied(trees):
    found = Counter(node[0] for tree in trees for node in inner(tree))
    assert set(found) == PHRASES - {"NX", "RRC", "X"}
    roots = Counter(tree[1][0] for tree in trees)
    assert roots["SQ"] >= 15
    assert roots["SBARQ"] >= 15
    rules = Counter((node[0], *labels(node)) for tree in trees for node in inner(tree))
    for rule in (
        ("NP", "NP", "SBAR"),
        ("NP", "NP", "PP"),
        ("NP", "NP", "VP"),
        ("VP", "VBD", "NP", "NP"),
        ("VP", "VP", "CC", "VP"),
        ("NP", "EX"),
        ("ADJP", "ADJP", "PP"),
        ("S", "SBAR", ",", "NP", "VP", "."),
    ):
        assert rules[rule] >= 5, rule


def test_the_held_out_part_can_be_learned_from_the_rest():
    def rules_and_words(split):
        parsed = [parse(line) for line in load_english(split)]
        rules = [(n[0], *labels(n)) for tree in parsed for n in inner(tree)]
        return rules, [word.lower() for tree in parsed for word in words(tree)]

    known_rules, known_words = map(set, rules_and_words("train"))
    for split in ("dev", "test"):
        rules, tokens = rules_and_words(split)
        assert sum(rule in known_rules for rule in rules) / len(rules) > 0.85
        assert sum(word in known_words for word in tokens) / len(tokens) > 0.85


def test_attachment_pairs_differ_in_where_the_phrase_hangs():
    cases = load_pairs()
    assert len(cases) == 30
    assert [case.attachment for case in cases] == ["verb", "noun"] * 15
    for verb, noun in zip(cases[::2], cases[1::2], strict=True):
        assert verb.pair == noun.pair
        shared = set(verb.sentence.split()) & set(noun.sentence.split())
        assert len(shared) >= 5
    for case in cases:
        tree = parse(load_english(case.split)[case.line - 1])
        assert " ".join(words(tree)) == case.sentence
        verb_phrase = next(node for node in inner(tree) if node[0] == "VP")
        expected = ["NP", "PP"] if case.attachment == "verb" else ["NP"]
        assert labels(verb_phrase)[1:] == expected
        if case.attachment == "noun":
            assert labels(verb_phrase[2]) == ["NP", "PP"]


def test_traces_come_as_treebanks_ship_them():
    text = load_traces()
    wrapped = text.replace("( (", "(WRAP (")
    parsed = parse(f"(ALL {wrapped})")[1:]
    assert len(parsed) == 13
    assert {tree[0] for tree in parsed} == {"WRAP"}
    empty = [word for tree in parsed for tag, word in leaves(tree) if tag == "-NONE-"]
    assert {"*", "0", "*-1", "*T*-1", "*EXP*-1"} <= set(empty)
    marked = {node[0] for tree in parsed for node in inner(tree) if re.search("[-=|]", node[0])}
    assert {"NP-SBJ", "NP-SBJ-1", "PP-LOC-CLR", "NP-SBJ=1", "NP|X", "S-TPC-1"} <= marked
    for tree in parsed:  # each index of a trace has an antecedent
        indices = {w.rsplit("-", 1)[1] for t, w in leaves(tree) if t == "-NONE-" and "-" in w}
        antecedents = {n[0].rsplit("-", 1)[1] for n in inner(tree) if "-" in n[0]}
        assert indices <= antecedents
    assert any("\n" in block for block in text.split("\n( "))
