"""All measures of CoNLL 2018, held against the official scorer on perturbed treebanks."""

from __future__ import annotations

import io
import random
from pathlib import Path

import pytest

from eigentext.datasets.sample import sample_files
from eigentext.evaluate.conll18 import MEASURES, evaluate, lacking
from eigentext.language.formats.conllu import (
    ConlluBlock,
    make_sentence,
    parse_sentences,
    read_sentences,
)

udeval = pytest.importorskip("udtools.udeval")


def official(text: str) -> object:
    return udeval.load_conllu(io.StringIO(text), "<text>", {})


def assert_same(gold: str, system: str) -> None:
    theirs = udeval.evaluate(official(gold), official(system))
    ours = evaluate(parse_sentences(gold), parse_sentences(system))
    assert tuple(ours) == MEASURES
    for name, mine in ours.items():
        its = theirs[name]
        assert (mine.correct, mine.gold, mine.system) == (
            its.correct,
            its.gold_total,
            its.system_total,
        ), name
        assert (mine.precision, mine.recall, mine.f1) == (
            100 * its.precision,
            100 * its.recall,
            100 * its.f1,
        ), name
        if its.aligned_accuracy is not None:
            assert mine.aligned_accuracy == 100 * its.aligned_accuracy, name


def _joined(sentences: list[ConlluBlock]) -> str:
    return "".join(sentence.verbatim.rstrip("\n") + "\n\n" for sentence in sentences)


def _perturbed(sentences: list[ConlluBlock], seed: int) -> str:
    """Other tags, heads, words and sentences over the same characters."""
    chance = random.Random(seed)
    rows: list[list[str]] = []  # form and multiword words, of all tokens
    for sentence in sentences:
        ranges = {unit.start: unit for unit in sentence.ranges}
        number = 1
        forms = sentence.forms
        while number <= len(forms):
            unit = ranges.get(number)
            end = unit.end if unit else number
            form = unit.form if unit else forms[number - 1]
            words = list(forms[number - 1 : end]) if unit else []
            rows.append([form, *words])
            number = end + 1
    tokens: list[list[str]] = []
    for form, *words in rows:
        draw = chance.random()
        if draw < 0.05 and len(form) > 1:  # cut in two
            at = chance.randrange(1, len(form))
            tokens += [[form[:at]], [form[at:]]]
        elif draw < 0.1 and tokens:  # joined to the one before
            tokens[-1] = [tokens[-1][0] + form]
        elif draw < 0.15:  # a multiword token of whatever words
            tokens.append([form, *chance.sample(["de", "le", form, form.upper(), "x"], 2)])
        elif draw < 0.2 and words:
            tokens.append([form, *words[::-1]])
        else:
            tokens.append([form, *words])
    out, at = [], 0
    while at < len(tokens):
        part = tokens[at : at + chance.randrange(1, 12)]
        at += len(part)
        out.append(_sentence(part, chance))
    return "".join(out)


def _sentence(tokens: list[list[str]], chance: random.Random) -> str:
    words = [word for form, *several in tokens for word in (several or [form])]
    n = len(words)
    root = chance.randrange(n)
    heads = [0 if k == root else root + 1 for k in range(n)]
    for k in range(n):  # arcs to what hangs from the root keep it a tree
        other = chance.randrange(n)
        leaf = all(heads[m] != k + 1 for m in range(n))
        if leaf and k != root and other not in (k, root) and heads[other] == root + 1:
            heads[k] = other + 1
    names = ["nsubj", "obj", "case", "det", "punct", "mark", "nmod:poss", "aux", "xyz"]
    made = make_sentence(
        words,
        lemma=[chance.choice([word.lower(), word, "_"]) for word in words],
        upos=[chance.choice(["NOUN", "VERB", "DET"]) for _ in words],
        xpos=[chance.choice(["NN", "VB"]) for _ in words],
        feats=[chance.choice(["_", "Number=Sing", "Case=Nom|Foo=Bar", "Foo=X"]) for _ in words],
        head=heads,
        deprel=["root" if not head else chance.choice(names) for head in heads],
    )
    lines = made.verbatim.rstrip("\n").split("\n")
    result, number = [], 1
    for form, *several in tokens:
        if several:
            result.append(f"{number}-{number + len(several) - 1}\t{form}" + "\t_" * 8)
        count = len(several) or 1
        result += lines[number - 1 : number - 1 + count]
        number += count
    return "\n".join(result) + "\n\n"


@pytest.mark.parametrize("seed", range(25))
def test_it_is_the_official_scorer(seed: int) -> None:
    sentences = list(parse_sentences(sample_files()["treebank-dev.conllu"].decode()))
    gold = _joined(sentences)
    assert_same(gold, gold)
    assert_same(gold, _perturbed(sentences, seed))
    assert_same(_perturbed(sentences, seed), _perturbed(sentences, seed + 1000))


@pytest.mark.requires("data")
@pytest.mark.parametrize("name", ["fr-sequoia", "tr-imst"])
def test_it_is_the_official_scorer_on_real_treebanks(data: Path, name: str) -> None:
    sentences = list(read_sentences(data / "dependency" / name / "dev.conllu"))[:150]
    gold = _joined(sentences)
    assert_same(gold, _perturbed(sentences, 7))


def test_without_heads_there_are_no_measures_of_trees() -> None:
    bare = [make_sentence(["a", "b"], upos=["X", "Y"])]
    tree = [make_sentence(["a", "b"], upos=["X", "X"], head=[2, 0])]
    found = evaluate(tree, bare)
    assert tuple(found) == MEASURES[:8]
    assert found["UPOS"].f1 == 50


def test_a_treebank_lacks_the_columns_that_are_blank_throughout() -> None:
    one = make_sentence(["a", "b"], upos=["X", "X"], xpos=["_", "_"], lemma=["_", "b"])
    two = make_sentence(["c"], upos=["X"], xpos=["T"], lemma=["_"])
    assert lacking([one]) == {"XPOS", "UFeats"}
    assert lacking([two]) == {"UFeats", "Lemmas"}
    assert lacking([one, two]) == {"UFeats"}
    assert lacking([two, *[one] * 499]) == {"UFeats"}  # a slip in 999 words, and in 1,001
    assert lacking([two, *[one] * 500]) == {"XPOS", "UFeats"}
    assert lacking([]) == {"UPOS", "XPOS", "UFeats", "Lemmas"}
