"""PTB brackets: any layout reads the same, any tree writes, any fault is named and survived."""

from __future__ import annotations

import itertools
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigentext.base.files.opening import numbered_lines
from eigentext.errors import DataError
from eigentext.language.formats.ptb import (
    escape,
    format_tree,
    parse_tree,
    read_numbered_trees,
    read_trees,
    unescape,
    write_trees,
)
from eigentext.language.trees.constituent import Tree

if TYPE_CHECKING:
    from pathlib import Path

PRETTY = """\
( (S
    (NP-SBJ-1 (PRP It))
    (VP (VBZ seems)
        (SBAR (-NONE- 0)
              (S (NP-SBJ (-NONE- *T*-1))
                 (VP (TO to) (VP (VB work)))))
        (-LRB- -LRB-) (RB well) (-RRB- -RRB-))
    (. .)))
"""
FLAT = (
    "( (S (NP-SBJ-1 (PRP It)) (VP (VBZ seems) (SBAR (-NONE- 0) (S (NP-SBJ (-NONE- *T*-1)) "
    "(VP (TO to) (VP (VB work))))) (-LRB- -LRB-) (RB well) (-RRB- -RRB-)) (. .)))"
)


def put(folder: Path, content: str | bytes) -> str:
    file = folder / "case.mrg"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(file)


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ptb")


# -- reading -------------------------------------------------------------------------------------


def test_pretty_printed_tree_is_the_flat_tree() -> None:
    tree = parse_tree(PRETTY)
    assert format_tree(tree) == FLAT
    assert tree == parse_tree(FLAT)
    assert tree.labels[:4] == ("", "S", "NP-SBJ-1", "PRP")
    words = "It seems 0 *T*-1 to work -LRB- well -RRB- ."
    assert tree.words == tuple(words.split())
    assert tree.tags[1:4] == ("VBZ", "-NONE-", "-NONE-")


@pytest.mark.parametrize(
    "line",
    [
        "(TOP (S (NN x)))",
        "(ROOT (NN x))",
        "(NN x)",
        "( (NN x))",
        "(🙂 (×|<a>-[b] ñ\u00a0ñ\u2028\x85\x1c) (-- --) (' '') (# #) (\\/ 1\\/2))",
    ],
)
def test_odd_labels_and_wrappers_stay(tmp_path: Path, line: str) -> None:
    (tree,) = read_trees(put(tmp_path, line))
    assert format_tree(tree) == line


def test_numbers_of_the_lines_where_trees_begin(tmp_path: Path) -> None:
    content = "\n(A b)\n" + PRETTY + "\n  (A b)(C d)\t(E f)\n\n(S\n(A b)\n)"
    numbered = list(read_numbered_trees(put(tmp_path, content)))
    assert [number for number, _ in numbered] == [2, 3, 12, 12, 12, 14]
    assert [str(tree) for _, tree in numbered][2:] == ["(A b)", "(C d)", "(E f)", "(S (A b))"]


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_byte_order_mark_and_line_ends(tmp_path: Path, newline: str) -> None:
    content = ("\ufeff" + PRETTY + FLAT).replace("\n", newline)
    assert [str(tree) for tree in read_trees(put(tmp_path, content))] == [FLAT, FLAT]


def test_label_after_white_space() -> None:
    assert str(parse_tree("( NP ( DT\nthe ) (\nNN dog) )")) == "(NP (DT the) (NN dog))"


def test_depth_and_length_cost_nothing_but_time(tmp_path: Path) -> None:
    deep = "(X " * 100_000 + "(T w)" + ")" * 100_000
    wide = "(S" + " (T w)" * 300_000 + ")"
    apart = wide.replace(" ", "\n")
    trees = list(read_trees(put(tmp_path, f"{deep}\n{wide}\n{apart}\n")))
    assert [tree.n_nodes for tree in trees] == [100_002, 600_001, 600_001]
    assert str(trees[0]) == deep
    assert trees[1] == trees[2]


def test_reading_is_a_stream(tmp_path: Path) -> None:
    with open(tmp_path / "long.mrg", "w", encoding="utf-8") as out:
        out.writelines("(S (T w))\n" for _ in range(400_000))
        out.write("oops\n")
    trees = read_trees(str(tmp_path / "long.mrg"))  # the fault at the end does no harm here
    assert len(list(itertools.islice(trees, 1000))) == 1000


# -- writing -------------------------------------------------------------------------------------

name = st.text(
    st.characters(exclude_characters=" \t\n\r\f\v()", codec="utf-8"), min_size=1, max_size=4
)
preterminal = st.tuples(name, name)
nested = st.recursive(
    preterminal,
    lambda inner: st.tuples(name | st.just(""), st.lists(inner, min_size=1, max_size=4)).map(
        lambda parts: (parts[0], *parts[1])
    ),
    max_leaves=12,
)
space = st.text(" \t\n\f\v", max_size=3)


@given(nested.map(Tree.from_nested))
def test_what_is_written_reads_the_same(tree: Tree) -> None:
    assert parse_tree(format_tree(tree)) == tree
    assert Tree.from_brackets(format_tree(tree)) == tree


@given(nested.map(Tree.from_nested), st.data())
def test_white_space_does_not_matter(tree: Tree, data: st.DataObject) -> None:
    text = format_tree(tree)
    for mark in (" ", ")", "("):
        pieces = text.split(mark)
        loose = [piece + data.draw(space) + mark + data.draw(space) for piece in pieces[:-1]]
        assert parse_tree("".join(loose) + pieces[-1]) == tree


@given(st.lists(nested.map(Tree.from_nested)))
def test_canonical_file_comes_back_to_the_byte(scratch: Path, trees: list[Tree]) -> None:
    one, two = str(scratch / "one.mrg"), str(scratch / "two.mrg")
    assert write_trees(trees, one) == len(trees)
    write_trees(read_trees(one), two)
    first = (scratch / "one.mrg").read_bytes()
    assert first == (scratch / "two.mrg").read_bytes()
    assert first.count(b"\n") == len(trees)


@pytest.mark.parametrize(
    "tree",
    [
        Tree.from_nested(("NN", "(")),
        Tree.from_nested(("N N", "a")),
        Tree.from_nested(("NN", "a\nb")),
        Tree.from_nested(("NN", "")),
        Tree.from_nested(("", "a")),
        Tree.from_nested(("NN", "a", "b")),
        Tree.from_nested(("NP", "a", ("NN", "b"))),
        Tree.from_nested(("NP", ("NN", "b"), "a")),
    ],
)
def test_trees_that_brackets_cannot_hold(tmp_path: Path, tree: Tree) -> None:
    with pytest.raises(ValueError, match="found"):
        format_tree(tree)
    target = tmp_path / "out.mrg"
    with pytest.raises(DataError, match=r"out\.mrg:2: cannot write this tree") as caught:
        write_trees([parse_tree(FLAT), tree], str(target))
    assert caught.value.line == 2
    assert not target.exists()


@given(st.text())
def test_escape_makes_words_and_unescape_undoes_it(token: str) -> None:
    word = escape(token)
    assert "(" not in word
    assert ")" not in word
    if not any(name in token for name in ("RB-", "SB-", "CB-")):
        assert unescape(word) == token


def test_unescape_knows_all_six() -> None:
    assert [unescape(f"-{k}B-") for k in ("LR", "RR", "LS", "RS", "LC", "RC")] == list("()[]{}")


# -- bad input -----------------------------------------------------------------------------------

BAD = {
    "missing bracket": ("(TOP (S (A b))\n", 3, "1 ')' is missing"),
    "two missing": ("(TOP (S (A b)\n", 3, "2 ')' are missing"),
    "cut off in a tag": ("(TOP (S (A b) (C\n", 3, "3 ')' are missing"),
    "extra bracket": ("(TOP (S (A b))))\n", 3, "one ')' too many"),
    "extra bracket apart": ("(TOP (S (A b))) )\n", 3, "one ')' too many"),
    "only a bracket": (")\n", 3, "one ')' too many"),
    "text": ("oops (TOP (A b))\n", 3, "'oops' outside a tree"),
    "text after a good tree": ("(TOP (A b)) oops\n", 3, "'oops' outside a tree"),
    "text line": ("The cat sat .\n", 3, "'The' outside a tree"),
    "empty": ("()\n", 3, "empty constituent ()"),
    "Berkeley failure": ("(())\n", 3, "empty constituent ()"),
    "no word": ("(TOP (NP ) (A b))\n", 3, "empty constituent (NP)"),
    "word without tag": ("( foo)\n", 3, "empty constituent (foo)"),
    "word beside": ("(TOP (NP foo (NN bar)))\n", 3, "'(NN' beside 'foo'"),
    "word after": ("(TOP (NP (NN bar) foo))\n", 3, "'foo' beside 'bar'"),
    "two words": ("(TOP (NN foo bar))\n", 3, "'bar' beside 'foo'"),
    "on a later line": ("(TOP (S (NN\n  foo\n  bar)))\n", 5, "the tree begins on line 3"),
    "word, then node below": ("(TOP (NP foo\n (NN bar)))\n", 4, "'(NN' beside 'foo'"),
    "not UTF-8": (b"(TOP (A \xff))\n", 3, "0xff"),
    "not UTF-8 inside": (b"(TOP (A\n  \xff\n  b)\n (C d))\n", 4, "0xff"),
}
GOOD = "(TOP (S (NN x)))\n"


@pytest.mark.parametrize("name", BAD)
def test_bad_tree_is_named_and_costs_only_itself(tmp_path: Path, name: str) -> None:
    content, line, why = BAD[name]
    raw = content if isinstance(content, bytes) else content.encode()
    source = put(tmp_path, GOOD.encode() * 2 + raw + GOOD.encode() * 3)
    with pytest.raises(DataError) as caught:
        list(read_trees(source))
    assert (caught.value.path, caught.value.line) == (source, line)
    assert why in caught.value.why
    met: list[DataError] = []
    numbered = list(read_numbered_trees(source, on_error=met.append))
    assert [error.line for error in met] == [line]
    n_lines = raw.count(b"\n")
    numbers = [number for number, _ in numbered if not 2 < number < 3 + n_lines]
    assert numbers == [1, 2, 3 + n_lines, 4 + n_lines, 5 + n_lines]
    assert all(str(tree) == GOOD.strip() for number, tree in numbered if number in numbers)


def test_one_bracket_too_many_makes_the_tree_before_it_doubtful(tmp_path: Path) -> None:
    met: list[DataError] = []
    content = "(A b) (C d) )\n(E f))\n(G h) oops\n"
    trees = read_trees(put(tmp_path, content), on_error=met.append)
    assert [str(tree) for tree in trees] == ["(A b)", "(G h)"]
    assert [error.line for error in met] == [1, 2, 3]


def test_unclosed_tree_names_begin_and_end_of_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="ended on line 13") as caught:
        list(read_trees(put(tmp_path, "(A b)\n" + PRETTY[:-2] + "\n(A b)\n\n\n(A b)\n")))
    assert caught.value.line == 2


def test_faults_among_pretty_printed_and_indented_trees(tmp_path: Path) -> None:
    missing = PRETTY.replace("(RB well)", "(RB well")
    extra = PRETTY.replace("(RB well)", "(RB well))))))")
    unclosed = PRETTY[:-2] + "\n"
    for margin in ("", "  "):
        texts = [
            PRETTY,
            missing,
            PRETTY,
            extra,
            PRETTY,
            "junk\n",
            PRETTY,
            unclosed,
            PRETTY,
            missing,
        ]
        content = "".join(margin + line for text in texts for line in text.splitlines(True))
        met: list[DataError] = []
        trees = list(read_trees(put(tmp_path, content), on_error=met.append))
        assert [str(tree) for tree in trees] == [FLAT] * 5
        assert [error.line for error in met] == [15, 31, 41, 50, 72]


def test_first_tree_of_a_file_unclosed(tmp_path: Path) -> None:
    met: list[DataError] = []
    trees = list(read_trees(put(tmp_path, GOOD[:-2] + "\n" + GOOD * 2), on_error=met.append))
    assert len(trees) == 2
    assert [error.line for error in met] == [1]


def test_unindented_lines_of_one_tree_are_no_fault(tmp_path: Path) -> None:
    met: list[DataError] = []
    content = "(TOP\n(S\n(A b)\n)\n)\n" * 2
    trees = list(read_trees(put(tmp_path, content), on_error=met.append))
    assert [str(tree) for tree in trees] == ["(TOP (S (A b)))"] * 2
    assert not met


@pytest.mark.parametrize("text", ["", " \n", "(A b) (C d)"])
def test_parse_tree_wants_one(text: str) -> None:
    with pytest.raises(DataError, match="expected exactly one"):
        parse_tree(text)


# -- fuzz ----------------------------------------------------------------------------------------


def _reads_or_refuses(source: str) -> None:
    met: list[DataError] = []
    saved = list(read_numbered_trees(source, on_error=met.append))
    assert all(error.path == source and error.line for error in met)
    for _, tree in saved:
        assert parse_tree(format_tree(tree)) == tree
        # the arrays were made unchecked: the checking constructor must take them too
        assert Tree(tree.labels, np.array(tree.sizes)) == tree
    if not met:
        assert list(read_numbered_trees(source)) == saved


pieces = st.sampled_from(
    ["(", ")", " ", "\n", "\r\n", "(A b)", "(TOP (A b))\n", "NP", "é", "\u2028"]
)


@given(st.binary() | st.lists(pieces).map(lambda found: "".join(found).encode()))
def test_fuzz_arbitrary_bytes(scratch: Path, raw: bytes) -> None:
    _reads_or_refuses(put(scratch, raw))


@given(
    st.lists(
        st.tuples(st.integers(0, 2 * len(PRETTY)), st.integers(0, 6), pieces | st.just("")),
        max_size=3,
    )
)
def test_fuzz_mutated_file(scratch: Path, cuts: list[tuple[int, int, str]]) -> None:
    text = GOOD + PRETTY + FLAT + "\n"
    for place, length, new in cuts:
        text = text[:place] + new + text[place + length :]
    _reads_or_refuses(put(scratch, text))


@given(st.lists(nested.map(Tree.from_nested), max_size=3), st.data())
def test_reader_agrees_with_the_plain_one_of_the_tree(
    trees: list[Tree], data: st.DataObject
) -> None:
    """Brackets broken anywhere: refused by both, or the same tree from both."""
    for tree in trees:
        text = format_tree(tree)
        place = data.draw(st.integers(0, len(text)))
        text = (
            text[:place] + data.draw(st.sampled_from(["(", ")", " ", " w "])) + text[place + 1 :]
        )
        try:
            ours: Tree | None = parse_tree(text)
        except DataError:
            ours = None
        try:
            # only files may have white space between a bracket and its label
            plain: Tree | None = Tree.from_brackets(re.sub(r"\( +(?=[^ ()])", "(", text))
        except ValueError:
            plain = None
        if ours is not None:
            assert ours == plain
        elif plain is not None:  # only a word beside other nodes is refused by us alone
            above = plain.parents[plain.is_leaf]
            assert (plain.sizes[above] != 2).any()


# -- real treebanks ------------------------------------------------------------------------------


@pytest.mark.requires("data")
@pytest.mark.parametrize("name", ["gum", "craft", "icepahc"])
def test_treebank_comes_back_to_the_byte(data: Path, tmp_path: Path, name: str) -> None:
    file = data / "constituency" / name / "dev.mrg"
    write_trees(read_trees(str(file)), str(tmp_path / "again.mrg"))
    assert (tmp_path / "again.mrg").read_bytes() == file.read_bytes()


@pytest.mark.requires("data")
def test_parser_output_differs_in_white_space_only(data: Path) -> None:
    files = sorted([*data.glob("peers/*.mrg"), *data.glob("peers/*.mrg.xz")])
    assert len(files) >= 4
    for file in files:
        step = 3 if file.suffix == ".xz" else 1
        lines = [line for _, line in numbered_lines(str(file))][::step]
        trees = itertools.islice(read_trees(str(file)), 0, None, step)
        for tree, line in zip(trees, lines, strict=True):
            assert format_tree(tree) == line.replace(") )", "))")
