"""Options, tables and comparisons of attachment scores, against plain counting."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eigentext.cli.main import run
from eigentext.errors import DataError, SettingsError
from eigentext.evaluate.attachment import compare_systems, evaluate
from eigentext.language.formats import conllu, conllx
from eigentext.language.formats.conllu import ConlluBlock, make_sentence

RELATIONS = ["nsubj", "nsubj:pass", "obj", "det", "punct", "root", "aux:pass"]
UPOS = ["NOUN", "VERB", "PUNCT"]


@st.composite
def sentences(draw: st.DrawFn, n_words: int) -> ConlluBlock:
    order = draw(st.permutations(range(1, n_words + 1)))
    heads = [0] * n_words
    for place, word in enumerate(order[1:], start=1):
        heads[word - 1] = order[draw(st.integers(0, place - 1))]
    many = {"min_size": n_words, "max_size": n_words}
    return make_sentence(
        [f"w{k}" for k in range(n_words)],
        head=heads,
        deprel=draw(st.lists(st.sampled_from(RELATIONS), **many)),
        upos=draw(st.lists(st.sampled_from(UPOS), **many)),
    )


@st.composite
def pairs(draw: st.DrawFn) -> tuple[list[ConlluBlock], list[ConlluBlock]]:
    sizes = draw(st.lists(st.integers(1, 9), min_size=1, max_size=4))
    return [draw(sentences(n)) for n in sizes], [draw(sentences(n)) for n in sizes]


@given(pair=pairs(), punctuation=st.booleans(), subtypes=st.booleans())
@settings(max_examples=150, deadline=None)
def test_options_and_tables_agree_with_plain_counting(pair, punctuation, subtypes):
    gold, system = pair
    result = evaluate(gold, system, punctuation=punctuation, subtypes=subtypes, length_width=3)

    def label(row):
        return row[7] if subtypes else row[7].split(":")[0]

    kept = []  # (sentence, size, gold row, system row)
    for k, (one, other) in enumerate(zip(gold, system, strict=True)):
        for g, s in zip(one.rows, other.rows, strict=True):
            if punctuation or not (g[3] == "PUNCT" or g[7] == "punct"):
                kept.append((k, len(one), g, s))
    headed = [g[6] == s[6] for _, _, g, s in kept]
    labelled = [g[6] == s[6] and label(g) == label(s) for _, _, g, s in kept]
    n_words = len(kept)
    assert result.scores["UAS"] == (sum(headed), n_words, n_words)
    assert result.scores["LAS"] == (sum(labelled), n_words, n_words)
    spoken = [
        ok
        for ok, (_, _, g, _) in zip(labelled, kept, strict=True)
        if not (g[3] == "PUNCT" or g[7] == "punct")
    ]
    assert result.scores["LAS without punct"] == (sum(spoken), len(spoken), len(spoken))
    # complete matches: sentences with something to count
    for answers, share in (
        (headed, result.unlabelled_complete_match),
        (labelled, result.complete_match),
    ):
        by_sentence: dict[int, list[bool]] = {}
        for ok, (k, *_) in zip(answers, kept, strict=True):
            by_sentence.setdefault(k, []).append(ok)
        whole = [all(one) for one in by_sentence.values()]
        assert share == pytest.approx(100 * sum(whole) / len(whole) if whole else 0.0, rel=1e-12)
    # tables
    for row in result.by_length:
        inside = [
            ok
            for ok, (_, size, _, _) in zip(headed, kept, strict=True)
            if row.shortest <= size <= row.longest
        ]
        assert row.uas == (sum(inside), len(inside), len(inside))
        assert row.n_sentences == sum(row.shortest <= len(one) <= row.longest for one in gold)

    def distance(row):
        return abs(int(row[0]) - int(row[6])) if row[6] != "0" else 0

    for row in result.by_distance:
        last = 10**6 if row.longest is None else row.longest
        right = [
            ok
            for ok, (_, _, g, _) in zip(labelled, kept, strict=True)
            if row.shortest <= distance(g) <= last
        ]
        predicted = sum(row.shortest <= distance(s) <= last for _, _, _, s in kept)
        assert row.las == (sum(right), len(right), predicted)
    for row in result.by_relation:
        right = [
            ok for ok, (_, _, g, _) in zip(labelled, kept, strict=True) if label(g) == row.relation
        ]
        predicted = sum(label(s) == row.relation for _, _, _, s in kept)
        assert row.las == (sum(right), len(right), predicted)
    assert sum(row.las.gold for row in result.by_relation) == n_words
    assert sum(row.las.gold for row in result.by_distance) == n_words


def _recut(sentence: ConlluBlock, draw: st.DrawFn) -> list[ConlluBlock]:
    """The same words as several sentences, each a chain."""
    forms, found = list(sentence.forms), []
    while forms:
        size = draw(st.integers(1, len(forms)))
        found.append(make_sentence(forms[:size], head=list(range(size)), deprel=["dep"] * size))
        forms = forms[size:]
    return found


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_counts_of_sentences_add_up_however_the_text_is_cut(data):
    gold = data.draw(pairs())[0]
    system = [piece for one in gold for piece in _recut(one, data.draw)]
    merged = make_sentence(
        ["".join(one.forms) for one in gold], head=list(range(len(gold))), deprel=["x"] * len(gold)
    )
    for answer in (system, [merged]):
        for punctuation in (True, False):
            result = evaluate(gold, answer, punctuation=punctuation)
            assert len(result.head_counts) == len(gold)
            for counts, name in ((result.head_counts, "UAS"), (result.sentence_counts, "LAS")):
                assert tuple(np.sum(counts, axis=0)) == result.scores[name]


def test_subtypes_matter_only_when_asked_for():
    words = ["cakes", "were", "eaten"]
    gold = make_sentence(words, head=[3, 3, 0], deprel=["nsubj:pass", "aux:pass", "root"])
    system = make_sentence(words, head=[3, 3, 0], deprel=["nsubj", "aux", "root"])
    assert evaluate([gold], [system]).las == 100.0
    kept = evaluate([gold], [system], subtypes=True)
    assert kept.scores["LAS"] == (1, 3, 3)
    assert kept.scores["CLAS"] == (1, 2, 2)  # content relations go by their plain names
    assert [row.relation for row in kept.by_relation][:3] == ["aux:pass", "nsubj:pass", "root"]


def test_another_text_is_told_with_file_and_line(tmp_path: Path):
    gold = [make_sentence([word], head=[0], deprel=["root"]) for word in ("one", "two", "three")]
    other = [*gold[:1], make_sentence(["tvo"], head=[0]), gold[2]]
    for name, given_ in (("gold", gold), ("system", other), ("short", gold[:2])):
        conllu.write_sentences(given_, tmp_path / f"{name}.conllu")
    right = tmp_path / "gold.conllu"
    with pytest.raises(DataError) as caught:
        evaluate(conllu.read_sentences(right), conllu.read_sentences(tmp_path / "system.conllu"))
    assert (Path(caught.value.path).name, caught.value.line) == ("system.conllu", 3)
    assert "gold.conllu" in caught.value.why
    assert "found 'vothree' where the gold text has 'wothree' (line 3)" in caught.value.why
    with pytest.raises(DataError, match=r"short\.conllu:3: .*the text ends where .*'three'"):
        evaluate(conllu.read_sentences(right), conllu.read_sentences(tmp_path / "short.conllu"))
    with pytest.raises(DataError, match=r"found 'three' where the gold text has ended"):
        evaluate(conllu.read_sentences(tmp_path / "short.conllu"), conllu.read_sentences(right))


def test_comparisons_are_paired_and_seeded():
    gold = [make_sentence(["a", "b"], head=[2, 0], deprel=["x", "root"])] * 40
    worse = [make_sentence(["a", "b"], head=[0, 1], deprel=["x", "root"])] * 8 + gold[8:]
    good, bad = evaluate(gold, gold), evaluate(gold, worse)
    found = compare_systems(good, bad, measure="UAS", n_samples=500, seed=3)
    assert (found.first, found.second) == (100.0, 80.0)
    assert found.low < 20.0 < found.high
    assert found.p_value < 0.01
    assert found == compare_systems(good, bad, measure="UAS", n_samples=500, seed=3)
    assert compare_systems(bad, bad, n_samples=50).p_value == 1.0
    with pytest.raises(SettingsError, match="measure"):
        compare_systems(good, bad, measure="CLAS")
    with pytest.raises(SettingsError, match="same gold sentences"):
        compare_systems(good, evaluate(gold[:2], gold[:2]))
    # as many sentences, other words in them
    turned = [make_sentence(["a"], head=[0])] * 40
    with pytest.raises(SettingsError, match="same gold sentences"):
        compare_systems(good, evaluate(turned, turned))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    words = ["dogs", "bark", "."]
    gold = [make_sentence(words, head=[2, 0, 2], deprel=["nsubj:x", "root", "punct"])] * 3
    system = [make_sentence(words, head=[2, 0, 1], deprel=["nsubj", "root", "punct"])] * 3
    paths = [str(tmp_path / name) for name in ("s.conllu", "g.conllu")]
    conllu.write_sentences(system, paths[0])
    conllu.write_sentences(gold, paths[1])

    def figures(*more: str):
        assert run(["dep", "eval", *paths, "--json", *more]) == 0
        return json.loads(capsys.readouterr().out)

    plain = figures()
    assert plain["UAS"] == pytest.approx(200 / 3, rel=1e-9)
    assert (plain["UCM"], plain["LCM"]) == (0.0, 0.0)
    assert figures("--no-punct")["LCM"] == 100.0
    assert figures("--no-punct", "--subtypes")["LCM"] == 0.0
    tables = figures("--by", "length", "--by", "relation", "--by", "distance")["by"]
    assert tables["length"] == [
        {"words": "1-10", "sentences": 3, "UAS": plain["UAS"], "LAS": plain["LAS"]}
    ]
    assert [row["distance"] for row in tables["distance"]] == [
        "root",
        "1",
        "2",
        "3-6",
        "7 or more",
    ]
    assert tables["relation"][0]["words"] == 3
    against = figures("--against", paths[1], "--samples", "200")["against"]
    assert against["UAS"]["other"] == 100.0
    assert against["UAS"]["difference"] == pytest.approx(-100 / 3, rel=1e-9)
    assert run(["dep", "eval", *paths, "--by", "relation", "--against", paths[1]]) == 0
    shown = capsys.readouterr().out
    assert "By relation" in shown
    assert "nsubj" in shown
    assert "p value" in shown


def _by_lines(path: Path) -> list[tuple[str, str]]:
    """(head, plain relation) of every word, straight from the lines."""
    cells = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
    return [(row[6], row[7].split(":")[0]) for row in cells if row[0].isdigit()]


@pytest.mark.requires("data")
@pytest.mark.parametrize(
    ("treebank", "uas", "las"), [("ewt", 86.18, 83.56), ("gum", 84.91, 82.34)]
)
def test_maltparser_by_lines(data: Path, treebank: str, uas: float, las: float):
    """All words, subtypes stripped, no alignment: to the last bit what plain counting gives."""
    right = data / "dependency" / treebank / "test.conllu"
    found = data / "peers" / f"maltparser-{treebank}-test.conllx"
    mine, its = _by_lines(right), _by_lines(found)
    assert len(mine) == len(its)
    heads = 100 * sum(g[0] == s[0] for g, s in zip(mine, its, strict=True)) / len(mine)
    both = 100 * sum(g == s for g, s in zip(mine, its, strict=True)) / len(mine)
    result = evaluate(conllu.read_sentences(right), conllx.read_sentences(found))
    assert result.uas == pytest.approx(heads, rel=1e-12)
    assert result.las == pytest.approx(both, rel=1e-12)
    assert (round(heads, 2), round(both, 2)) == (uas, las)


# -- relations that are not those of Universal Dependencies --------------------------------------


def _made(relations: list[str]) -> ConlluBlock:
    words = [f"w{k}" for k in range(len(relations))]
    return make_sentence(words, head=[0] + [1] * (len(words) - 1), deprel=relations)


def test_a_relation_that_begins_with_a_colon_keeps_its_name() -> None:
    gold, found = (
        _made(["root", ":<NP", ":<VP", "DT<NP"]),
        _made(["root", ":<VP", ":<VP", "DT<NP"]),
    )
    result = evaluate([gold], [found])
    assert {row.relation for row in result.by_relation} == {"root", ":<NP", ":<VP", "DT<NP"}
    assert result.scores["LAS"] == (3, 4, 4)


def test_content_words_of_other_relations_are_not_guessed(tmp_path, capsys) -> None:
    gold = _made(["root", "DT<NP", "DT<NP", ":<NP"])
    result = evaluate([gold], [gold])
    assert result.clas is None
    assert not {"CLAS", "MLAS", "BLEX"} & set(result.scores)
    assert result.other_relations == ("DT<NP", ":<NP")
    path = tmp_path / "gold.conllu"
    conllu.write_sentences([gold], path)
    assert run(["dep", "eval", str(path), str(path), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert figures["CLAS"] is figures["MLAS"] is figures["BLEX"] is None
    assert figures["LAS"] == 100.0
    assert run(["dep", "eval", str(path), str(path), "--by", "relation"]) == 0
    said = capsys.readouterr()
    assert "no CLAS, MLAS, BLEX" in said.err
    assert "CLAS" not in said.out
    assert ":<NP" in said.out


def test_a_slip_in_a_treebank_of_universal_dependencies_changes_nothing() -> None:
    gold = _made(["root", *["nsubj"] * 15, *["det"] * 5, "slip"])
    assert evaluate([gold], [gold]).scores["CLAS"] == (16, 16, 16)


@pytest.mark.parametrize(("n_words", "others"), [(20, ()), (19, ("slip",))])
def test_just_so_many_slips_are_a_treebanks(n_words: int, others: tuple[str, ...]) -> None:
    gold = _made(["root", *["nsubj"] * (n_words - 2), "slip"])
    assert evaluate([gold], [gold]).other_relations == others
