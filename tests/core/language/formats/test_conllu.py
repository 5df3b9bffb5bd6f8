"""CoNLL-U: nothing is lost, nothing bad comes in, and another package sees the same trees."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eigentext.errors import DataError
from eigentext.language.formats.conllu import (
    ConlluBlock,
    from_dependency_tree,
    make_sentence,
    parse_pairs,
    parse_sentence,
    read_sentences,
    to_dependency_tree,
    write_sentences,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAMPLE = """\
# newdoc id = d1
# sent_id s-1
#no space = and an equals = sign
1-2\tdu\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tde\tde\tADP\tP\t_\t3\tcase\t3:case\t_
2\tle\tle\tDET\tD\tDefinite=Def|Gender=Masc\t3\tdet\t3:det\t_
2.1\tfort\tfort\tADJ\tA\t_\t_\t_\t3:amod\tA=1
2.2\tvieux\t_\tADJ\tA\t_\t_\t_\t3:amod\t_
3\tpain\u00a0bis\tpain\tNOUN\tN\t_\t0\troot\t0:root\tSpaceAfter=No
4\t!\t!\tPUNCT\t.\t_\t3\tpunct\t3:punct\t_

"""


def word(number: object, head: object, form: str = "w") -> str:
    return f"{number}\t{form}\t_\tX\t_\t_\t{head}\tdep\t_\t_\n"


def put(folder: Path, content: str | bytes) -> str:
    file = folder / "case.conllu"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return str(file)


def rewritten(source: str, folder: Path) -> bytes:
    target = folder / "again.conllu"
    write_sentences(read_sentences(source), str(target))
    return target.read_bytes()


# -- views ---------------------------------------------------------------------------------------


def test_views_of_a_sentence_with_everything_in_it() -> None:
    sentence = parse_sentence(SAMPLE)
    assert sentence.forms == ("de", "le", "pain\u00a0bis", "!")
    assert len(sentence) == 4
    assert sentence.heads == (3, 3, 0, 3)
    assert sentence.column("xpos") == ("P", "D", "N", ".")
    second = sentence.tokens[1]
    assert (second.id, second.lemma, second.head, second.deprel) == (2, "le", 3, "det")
    assert second.features == {"Definite": "Def", "Gender": "Masc"}
    assert [tuple(unit) for unit in sentence.ranges] == [(1, 2, "du", "SpaceAfter=No")]
    nodes = [(after, line.split("\t")) for after, line in sentence.empty_nodes]
    assert [(after, row[0], row[1], *row[8:]) for after, row in nodes] == [
        (2, "2.1", "fort", "3:amod", "A=1"),
        (2, "2.2", "vieux", "3:amod", "_"),
    ]
    assert sentence.comments[2] == "#no space = and an equals = sign"
    assert sentence.metadata == {
        "newdoc id": "d1",
        "sent_id": "s-1",
        "no space": "and an equals = sign",
    }
    assert sentence.text == "dupain\u00a0bis!"
    assert sentence.numbered_lines[3] == (4, SAMPLE.split("\n")[3])


def test_text_comment_wins_over_forms() -> None:
    assert parse_sentence("# text = as  it was \n" + word(1, 0)).text == "as  it was"
    assert parse_sentence("# text without equals\n" + word(1, 0)).text == "w"


def test_pairs() -> None:
    assert parse_pairs("A=1=2|B") == {"A": "1=2", "B": ""}


# -- the same bytes ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        SAMPLE,
        SAMPLE + SAMPLE,
        SAMPLE + "\n\n" + SAMPLE,
        "\n\n" + SAMPLE,
        SAMPLE.rstrip("\n"),
        SAMPLE + SAMPLE[:-1],
        SAMPLE.replace("\n", "\r\n"),
        SAMPLE.replace("\n", "\r\n") + SAMPLE,
        SAMPLE.replace("!\t!", "a\rb\x0b\x1c\x85\u2028\t!"),
        "",
    ],
)
def test_same_bytes_back(tmp_path: Path, content: str) -> None:
    source = put(tmp_path, content)
    assert rewritten(source, tmp_path) == content.encode()


def test_byte_order_mark_is_the_one_thing_that_goes(tmp_path: Path) -> None:
    assert rewritten(put(tmp_path, b"\xef\xbb\xbf" + SAMPLE.encode()), tmp_path) == SAMPLE.encode()


def test_line_numbers_go_through_the_file(tmp_path: Path) -> None:
    sentences = list(read_sentences(put(tmp_path, SAMPLE + "\n" + SAMPLE)))
    assert [sentence.first_line for sentence in sentences] == [1, 13]
    assert sentences[1].numbered_lines[-1] == (22, SAMPLE.split("\n")[9])
    assert sentences[0].source.endswith("case.conllu")


def test_missing_empty_line_is_put_between_sentences(tmp_path: Path) -> None:
    target = tmp_path / "out.conllu"
    ends = ["", "\n", "\n\n", "\n"]
    sentences = [parse_sentence(word(1, 0).rstrip("\n") + end) for end in ends]
    assert write_sentences(sentences, str(target)) == 4
    assert len(list(read_sentences(str(target)))) == 4


# -- editing -------------------------------------------------------------------------------------


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_with_columns_changes_those_columns_and_nothing_else(newline: str, end: str) -> None:
    text = (SAMPLE.rstrip("\n") + end).replace("\n", newline)
    sentence = parse_sentence(text)
    new = sentence.with_columns(head=[2, 0, 2, 3], deprel=list("abcd"), misc=["M"] * 4)
    assert new.heads == (2, 0, 2, 3)
    assert new.column("misc") == ("M",) * 4
    back = new.with_columns(**{n: sentence.column(n) for n in ("head", "deprel", "misc")})
    assert back == sentence
    assert back.verbatim == text
    before, after = sentence.numbered_lines, new.numbered_lines
    for place in (0, 1, 2, 3, 6, 7):
        assert before[place] == after[place]
    assert after[4][1] == "1\tde\tde\tADP\tP\t_\t2\ta\t3:case\tM"


def test_what_is_not_known_is_an_underscore() -> None:
    sentence = make_sentence(["a", "b"], lemma=["", "x"], upos=[None, "Y"])
    assert (sentence.column("lemma"), sentence.column("upos")) == (("_", "x"), ("_", "Y"))


def test_carriage_return_without_a_line_feed_is_part_of_its_column() -> None:
    sentence = parse_sentence(word(1, 0).rstrip("\n") + "\r")
    assert sentence.tokens[0].misc == "_\r"
    assert sentence.with_columns(misc=["M"]).verbatim.endswith("\tM")


def test_with_columns_and_make_sentence_refuse_what_cannot_be_written() -> None:
    sentence = parse_sentence(SAMPLE)
    with pytest.raises(TypeError, match="one str"):
        sentence.with_columns(deprel="abcd")
    with pytest.raises(ValueError, match="3 values of upos for 4 words"):
        sentence.with_columns(upos=["X"] * 3)
    with pytest.raises(ValueError, match="TAB"):
        sentence.with_columns(lemma=["a\tb", "c", "d", "e"])
    with pytest.raises(ValueError, match="cycle 1 -> 2 -> 1"):
        sentence.with_columns(head=[2, 1, 0, 3])
    with pytest.raises(ValueError, match="from 0 to 4"):
        sentence.with_columns(head=[0, 5, 1, 1])
    with pytest.raises(ValueError, match="all words"):
        sentence.with_columns(head=[0, None, 1, 1])
    with pytest.raises(TypeError, match=r"did you mean \[...\]"):
        make_sentence("word")
    with pytest.raises(ValueError, match="at least one word"):
        make_sentence([])
    with pytest.raises(ValueError, match="misc of word 1"):
        make_sentence(["a"], misc=["\r"])
    for bad in ("", " ", "a\nb"):
        with pytest.raises(ValueError, match="form of word 1"):
            make_sentence([bad])
    with pytest.raises(ValueError, match="line end"):
        make_sentence(["a"], metadata={"x": "a\nb"})


words_in = st.text(st.characters(exclude_characters="\t\n\r", codec="utf-8"), min_size=1).filter(
    lambda text: text.strip(" ")
)


@st.composite
def trees(draw: st.DrawFn) -> list[int]:
    """Heads of a random tree: a random order in which every word hangs on an earlier one."""
    order = draw(st.permutations(range(1, draw(st.integers(1, 12)) + 1)))
    heads = [0] * len(order)
    for place, number in enumerate(order):
        choices = [0, *order[:place]] if place else [0]
        heads[number - 1] = draw(st.sampled_from(choices))
    return heads


@given(st.data())
def test_made_sentences_come_back_from_disk(data: st.DataObject) -> None:
    heads = data.draw(trees())
    column = st.lists(words_in, min_size=len(heads), max_size=len(heads))
    sentence = make_sentence(
        data.draw(column), head=heads, deprel=data.draw(column), metadata={"sent_id": "1"}
    )
    assert parse_sentence(sentence.verbatim) == sentence
    tree = to_dependency_tree(sentence)
    assert tree.heads.tolist() == heads
    again = from_dependency_tree(tree)
    assert again.rows == [[*row[:3], "_", *row[4:]] for row in sentence.rows]


def test_tree_needs_heads() -> None:
    with pytest.raises(ValueError, match="no heads"):
        to_dependency_tree(make_sentence(["a"]))
    with pytest.raises(ValueError, match="'upos' or 'xpos'"):
        from_dependency_tree(to_dependency_tree(make_sentence(["a"], head=[0])), tags="lemma")


# -- bad input -----------------------------------------------------------------------------------

BAD = {
    "nine columns": ("1\ta\t_\t_\t_\t_\t0\t_\t_\n", 1, "found 9 columns"),
    "eleven columns": (word(1, 0)[:-1] + "\t_\n", 1, "found 11 columns"),
    "spaces for TAB": ("1 a _ _ _ _ 0 _ _ _\n", 1, "found 1 column in"),
    "white space line": (word(1, 0) + " \n" + word(2, 1), 2, "line of white space"),
    "no form": (word(1, 0) + word(2, 1, ""), 2, "no form"),
    "only comments": ("# a\n# b\n", 1, "no words"),
    "only an empty node": (word("0.1", "_"), 1, "no words"),
    "ids from 0": (word(0, 0), 1, "expected 1"),
    "ids skip": (word(1, 0) + word(3, 1), 2, "found id '3'; expected 2"),
    "id twice": (word(1, 0) + word(1, 0), 2, "found id '1'; expected 2"),
    "id with zero": (word("01", 0), 1, "found id '01'"),
    "id of other digits": (word("١", 0), 1, "found id '١'"),
    "id empty": (word("", 0), 1, "found id ''"),
    "range backwards": (word("1-0", "_") + word(1, 0), 1, "range 1-0"),
    "range late": (word(1, 0) + word("1-2", "_") + word(2, 1), 2, "range 1-2"),
    "range overlaps": (
        word("1-3", "_") + word(1, 0) + word("2-3", "_") + word(2, 1) + word(3, 1),
        3,
        "overlaps",
    ),
    "range too long": (word("1-3", "_") + word(1, 0) + word(2, 1), 1, "at most 2"),
    "range odd": (word("1-x", "_") + word(1, 0), 1, "found id '1-x'"),
    "empty node early": (word("1.1", "_") + word(1, 0), 1, "expected 0.1"),
    "empty node skips": (word(1, 0) + word("1.2", "_"), 2, "expected 1.1"),
    "empty node again": (word(1, 0) + word("1.1", "_") + word("1.1", "_"), 3, "expected 1.2"),
    "head too big": (word(1, 0) + word(2, 3), 2, "from 0 to 2"),
    "head negative": (word(1, 0) + word(2, -1), 2, "head '-1'"),
    "head a word": (word(1, 0) + word(2, "one"), 2, "head 'one'"),
    "head a fraction": (word(1, 0) + word(2, "1.0"), 2, "head '1.0'"),
    "head with plus": (word(1, 0) + word(2, "+1"), 2, "head '+1'"),
    "head empty": (word(1, 0) + word(2, ""), 2, "head ''"),
    "head missing": (word(1, 0) + word(2, "_"), 2, "all words"),
    "head only here": (word(1, "_") + word(2, 1), 2, "all words"),
    "no root": (word(1, 2) + word(2, 1), 1, "no word whose head is 0"),
    "own head": (word(1, 0) + word(2, 2), 2, "cycle 2 -> 2"),
    "cycle": (word(1, 0) + word(2, 4) + word(3, 2) + word(4, 3), 2, "cycle 2 -> 4 -> 3 -> 2"),
    "not UTF-8": (b"# ok\n" + word(1, 0).encode() + b"2\t\xff\n", 3, "0xff"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_file_and_line_and_can_be_skipped(tmp_path: Path, name: str) -> None:
    content, line, why = BAD[name]
    raw = content if isinstance(content, bytes) else content.encode()
    source = put(tmp_path, SAMPLE.encode() + raw.rstrip(b"\n") + b"\n\n" + SAMPLE.encode())
    line += 11
    with pytest.raises(DataError, match=r"case\.conllu") as caught:
        list(read_sentences(source))
    assert (caught.value.line, caught.value.path) == (line, source)
    assert why in caught.value.why
    met: list[DataError] = []
    good = list(read_sentences(source, on_error=met.append))
    assert [sentence.verbatim for sentence in good] == [SAMPLE, SAMPLE]
    assert [(error.line, error.why) for error in met] == [(line, caught.value.why)]


def test_text_with_two_sentences_is_not_one() -> None:
    for text in (word(1, 0) + "\n" + word(2, 1), "# c\n\n" + word(1, 0), SAMPLE + SAMPLE):
        with pytest.raises(DataError, match="empty line"):
            parse_sentence(text)
    with pytest.raises(DataError, match="found"):
        parse_sentence("")


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"nothing\.conllu"):
        list(read_sentences(str(tmp_path / "nothing.conllu")))


def test_100_000_words_in_one_chain(tmp_path: Path) -> None:
    n_words = 100_000
    chain = "".join(word(k, k + 1 if k < n_words else 0) for k in range(1, n_words + 1))
    (sentence,) = read_sentences(put(tmp_path, chain))
    assert len(sentence) == n_words
    with pytest.raises(DataError, match=r"-> \.\.\."):
        list(
            read_sentences(
                put(
                    tmp_path,
                    chain.replace(word(n_words, 0), word(n_words, 2)) + word(n_words + 1, 0),
                )
            )
        )


def _has_cycle(heads: list[int]) -> bool:
    return any(
        len(list(itertools.takewhile(bool, _walk(heads, start)))) > len(heads)
        for start in range(1, len(heads) + 1)
    )


def _walk(heads: list[int], start: int) -> itertools.islice[int]:
    def steps() -> Iterator[int]:
        here = start
        while True:
            yield here
            here = heads[here - 1] if here else 0

    return itertools.islice(steps(), len(heads) + 1)


@given(st.integers(1, 6).flatmap(lambda n: st.lists(st.integers(0, n), min_size=n, max_size=n)))
def test_cycle_check_against_walking_from_every_word(heads: list[int]) -> None:
    text = "".join(word(number, head) for number, head in enumerate(heads, start=1))
    try:
        assert parse_sentence(text).heads == tuple(heads)
    except DataError:
        assert _has_cycle(heads)
    else:
        assert not _has_cycle(heads)


# -- fuzz ----------------------------------------------------------------------------------------

no_fixture_check = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def _reads_or_refuses(folder: Path, raw: bytes) -> None:
    source = put(folder, raw)
    met: list[DataError] = []
    good = list(read_sentences(source, on_error=met.append))
    if met:
        with pytest.raises(DataError) as caught:
            list(read_sentences(source))
        assert str(caught.value) == str(met[0])
        assert caught.value.path == source
        assert caught.value.line is not None
    for sentence in good:
        assert parse_sentence(sentence.verbatim) == sentence
        assert len(sentence.tokens) == len(sentence) > 0
        copied = sentence.with_columns(deprel=sentence.column("deprel"))
        assert copied == sentence or "" in sentence.column("deprel")
        assert parse_sentence(copied.verbatim) == copied
        _ = sentence.ranges, sentence.empty_nodes, sentence.metadata, sentence.text
    if good and not met:
        assert rewritten(source, folder) == raw.removeprefix(b"\xef\xbb\xbf")


pieces = st.sampled_from(
    ["1", "2", "3", "1-2", "2.1", "0", "_", "\t", "\n", "\r\n", "\r", "#", " ", "=", "é", "\u2028"]
)


@no_fixture_check
@given(st.binary() | st.lists(pieces).map(lambda found: "".join(found).encode()))
def test_fuzz_arbitrary_bytes(tmp_path_factory: pytest.TempPathFactory, raw: bytes) -> None:
    _reads_or_refuses(_scratch(tmp_path_factory), raw)


@no_fixture_check
@given(
    st.lists(
        st.tuples(st.integers(0, len(SAMPLE.encode())), st.integers(0, 6), pieces | st.just("")),
        max_size=3,
    )
)
def test_fuzz_mutated_file(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[tuple[int, int, str]]
) -> None:
    raw = SAMPLE.encode() * 2
    for place, length, new in cuts:
        raw = raw[:place] + new.encode() + raw[place + length :]
    _reads_or_refuses(_scratch(tmp_path_factory), raw)


def _scratch(factory: pytest.TempPathFactory) -> Path:
    folder = factory.getbasetemp() / "conllu"
    folder.mkdir(exist_ok=True)
    return folder


# -- real treebanks ------------------------------------------------------------------------------


@pytest.mark.requires("data")
def test_every_treebank_comes_back_to_the_byte(data: Path) -> None:
    files = sorted([*data.glob("dependency/*/*.conllu"), *data.glob("lexical/*/*.conllu")])
    assert len(files) >= 15
    for file in files:
        texts = [sentence.verbatim for sentence in read_sentences(str(file))]
        assert "".join(texts).encode() == file.read_bytes(), file


@pytest.mark.requires("data")
@pytest.mark.parametrize("name", ["ewt", "gum", "fr-sequoia", "tr-imst"])
def test_views_agree_with_the_conllu_package(data: Path, name: str) -> None:
    conllu = pytest.importorskip("conllu")
    file = data / "dependency" / name / "dev.conllu"
    for ours in itertools.islice(read_sentences(str(file)), 0, None, 4):
        theirs = conllu.parse(ours.verbatim)[0]
        words = [token for token in theirs if isinstance(token["id"], int)]
        for token, other in zip(ours.tokens, words, strict=True):
            assert token.id == other["id"]
            assert token.form == other["form"]
            assert token.lemma == other["lemma"]
            assert token.upos == (other["upos"] or "_")
            assert token.xpos == (other["xpos"] or "_")
            assert token.head == other["head"]
            assert token.deprel == other["deprel"]
            assert token.features == (other["feats"] or {})
            assert parse_pairs(token.misc).keys() == (other["misc"] or {}).keys()
        others = [token for token in theirs if not isinstance(token["id"], int)]
        extras = [(unit.start, "-", unit.end) for unit in ours.ranges]
        numbers = [line.partition("\t")[0].partition(".") for _, line in ours.empty_nodes]
        extras += [(int(after), ".", int(order)) for after, _, order in numbers]
        assert sorted(extras) == sorted(token["id"] for token in others)
        assert {key: value for key, value in ours.metadata.items() if value} == {
            key: value for key, value in theirs.metadata.items() if value
        }


@pytest.mark.requires("data")
@pytest.mark.parametrize("name", ["ewt", "gum", "fr-sequoia"])
def test_text_from_forms_is_the_text_of_the_comment(data: Path, name: str) -> None:
    file = data / "dependency" / name / "dev.conllu"
    n_same = n_all = 0
    for sentence in itertools.islice(read_sentences(str(file)), 400):
        lines = [line for _, line in sentence.numbered_lines if line[:1] != "#"]
        n_all += 1
        n_same += ConlluBlock("\n".join(lines)).text == sentence.text
    assert n_same / n_all > 0.99, (n_same, n_all)


def test_empty_nodes_are_numbered_anew_after_every_word() -> None:
    places = ("0.1", "0.2", 1, "1.1", 2, "2.1", "2.2")
    lines = [word(at, {1: 0, 2: 1}.get(at, "_")) for at in places]
    nodes = parse_sentence("".join(lines)).empty_nodes
    numbers = [(after, line.partition("\t")[0]) for after, line in nodes]
    assert numbers == [(0, "0.1"), (0, "0.2"), (1, "1.1"), (2, "2.1"), (2, "2.2")]
