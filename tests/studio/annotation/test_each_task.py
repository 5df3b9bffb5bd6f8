"""What is each task's own: contradictions, export, training."""

from __future__ import annotations

import json

import pytest

from eigentext.errors import DataError
from eigentext.language import Doc
from eigentext.language.formats.conllu import parse_sentences
from eigentext.language.formats.ptb import read_trees
from eigentext.language.trees.constituent import Tree
from eigentext.lexical.documents import read_words_jsonl
from eigentext.studio.store.records import StoredDocument
from eigentext.studio.tasks import open_task
from eigentext.studio.tasks.constituency import brackets_of, tree_of
from eigentext.studio.tasks.dependency import tree_fault
from eigentext.studio.tasks.records import DONE, AnnotatedDocument
from eigentext.studio.tasks.texts import document_of_columns, document_of_text
from eigentext.tagging.sequence.reading import read_tagged
from helpers.annotators import correct


def done_with(case):
    return {
        (number, DONE): {
            "analysis": case.task.check(case.document, number, DONE, {"analysis": g})["analysis"]
        }
        for number, g in enumerate(case.gold)
    }


def exported(case, decisions, annotator="", **more):
    return list(case.task.lines(AnnotatedDocument(case.document, decisions, annotator), **more))


def lines_of(case, **more):
    return "".join(f"{line}\n" for line in exported(case, done_with(case), **more))


# ---------------------------------------------------------------- dependency


def test_arcs_that_are_decided_are_required_and_the_rest_follows(cases):
    case = cases("dependency")
    document, task = case.document, case.task
    plain = task.propose(document, {}, 0)
    n = len(document.sentences[0])
    for word in range(1, n + 1):
        for head in range(n + 1):
            if head == word:
                continue
            proposal = task.propose(document, {(0, f"a{word}"): {"head": head}}, 0)
            assert proposal.analysis["head"][word - 1] == head
            assert tree_fault(proposal.analysis["head"]) is None
            assert proposal.followed
    assert plain.followed


def test_contradictions_stand_and_are_told(cases):
    case = cases("dependency")
    decided = {(0, "a1"): {"head": 2}, (0, "a2"): {"head": 1}}
    proposal = case.task.propose(case.document, decided, 0)
    assert proposal.analysis["head"][:2] == [2, 1]
    assert not proposal.followed
    assert any("cycle" in note for note in proposal.notes)
    assert any("no tree yet" in note for note in proposal.notes)
    two = {(0, "a1"): {"head": 0}, (0, "a2"): {"head": 0, "deprel": "root"}}
    proposal = case.task.propose(case.document, two, 0)
    assert proposal.analysis["head"][:2] == [0, 0]
    assert not proposal.followed


def test_arcs_that_cross_are_followed_where_the_parser_never_crosses(cases):
    case = cases("dependency")
    assert case.task.parser.projectivity_.applied
    n = len(case.document.sentences[0])
    assert n >= 5
    decided = {(0, "a1"): {"head": 3}, (0, "a2"): {"head": 4}}
    proposal = case.task.propose(case.document, decided, 0)
    assert proposal.analysis["head"][:2] == [3, 4]
    assert tree_fault(proposal.analysis["head"]) is None


def test_relations_are_kept_even_those_that_nobody_knows(cases):
    case = cases("dependency")
    decided = {(0, "a1"): {"deprel": "made:up"}, (0, "a2"): {"head": 3, "deprel": "dep"}}
    proposal = case.task.propose(case.document, decided, 0)
    assert proposal.analysis["deprel"][0] == "made:up"
    assert proposal.analysis["deprel"][1] == "dep"


def test_candidates_offer_heads_relations_and_what_is_searched(cases):
    case = cases("dependency")
    found = case.task.candidates(case.document, {}, 0, "a1", k=100)
    assert len({one.value.get("head") for one in found}) > 2
    wanted = case.task.candidates(case.document, {}, 0, "a1", search="nsubj", k=3)
    assert wanted
    assert all("nsubj" in one.value["deprel"] for one in wanted)


def test_trees_that_are_none_cannot_be_done(cases):
    case = cases("dependency")
    heads = [0] * len(case.document.sentences[0])
    bad = {"analysis": {"head": heads, "deprel": ["dep"] * len(heads)}}
    with pytest.raises(DataError, match="both roots"):
        case.task.check(case.document, 0, DONE, bad)


def test_conllu_comes_out_as_it_went_in(cases):
    case = cases("dependency")
    text = lines_of(case, annotator="one")
    read = list(parse_sentences(text))
    assert [list(s.heads) for s in read] == [gold["head"] for gold in case.gold]
    assert [s.forms for s in read] == [s.forms for s in case.document.sentences]
    assert all("# annotator = one" in s.comments for s in read)
    again = Doc.from_conllu(read, doc_id="again")
    assert [s.columns.upos for s in again.sentences] == [
        s.columns.upos for s in case.document.sentences
    ]


def test_unfinished_sentences_are_left_out_or_half_empty(cases):
    case = cases("dependency")
    decided = {(1, "a1"): {"head": 2, "deprel": "dep"}}
    assert exported(case, decided) == []
    lines = exported(case, decided, unfinished=True)
    rows = [line.split("\t") for line in lines if line[:1].isdigit()]
    assert sum(row[6] != "_" for row in rows) == 1


def test_a_new_language_begins_with_nothing(cases):
    task = open_task("dependency")
    text = document_of_text("new", "Ez egy mondat. Ez is.")
    proposal = task.propose(text, {}, 0)
    assert proposal.source == "none"
    assert set(proposal.analysis["head"]) == {None}
    assert all(item.value is None and item.certainty == 0.0 for item in proposal.items)
    filled = task.propose(text, {(0, "a1"): {"head": 0, "deprel": "root"}}, 0)
    assert filled.analysis["head"][0] == 0


def test_imported_trees_are_the_proposal_where_there_is_no_model(cases):
    case = cases("dependency")
    (line,) = [exported(case, done_with(case))]
    imported = Doc.from_conllu("\n".join(line) + "\n", doc_id="dev")
    proposal = open_task("dependency").propose(imported, {}, 0)
    assert proposal.source == "imported"
    assert proposal.analysis["head"] == case.gold[0]["head"]


# ---------------------------------------------------------------- constituency


def test_spans_tree_and_back(cases):
    for gold in cases("constituency").gold:
        tree = Tree.from_brackets(gold["brackets"])
        assert tree_of(brackets_of(tree)) == tree


def test_spans_are_required_and_forbidden(cases):
    case = cases("constituency")
    document, task = case.document, case.task
    n = len(document.sentences[1])
    for start in range(n):
        for end in range(start + 1, n + 1):
            asked = {(1, f"s{start}-{end}"): {"label": "NP"}}
            tree = Tree.from_brackets(task.propose(document, asked, 1).analysis["brackets"])
            assert "NP" in brackets_of(tree).chains[start, end]
            against = {(1, f"s{start}-{end}"): {"forbid": True}}
            tree = Tree.from_brackets(task.propose(document, against, 1).analysis["brackets"])
            if (start, end) != (0, n):
                assert (start, end) not in brackets_of(tree).chains


def test_labels_and_tags_that_the_grammar_does_not_know_stand(cases):
    case = cases("constituency")
    decided = {(1, "s0-2"): {"labels": ["ODD", "NP"]}, (1, "t0"): {"tag": "QQ"}}
    proposal = case.task.propose(case.document, decided, 1)
    brackets = brackets_of(Tree.from_brackets(proposal.analysis["brackets"]))
    assert brackets.chains[0, 2] == ("ODD", "NP")
    assert brackets.tags[0] == "QQ"
    assert not proposal.followed
    assert len(proposal.notes) == 2


def test_spans_that_cross_are_told(cases):
    case = cases("constituency")
    decided = {(1, "s0-2"): {"label": "NP"}, (1, "s1-3"): {"label": "VP"}}
    proposal = case.task.propose(case.document, decided, 1)
    assert "cross" in proposal.notes[0]
    assert (0, 2) in brackets_of(Tree.from_brackets(proposal.analysis["brackets"])).chains


def test_brackets_are_read_back(cases, tmp_path):
    case = cases("constituency")
    (tmp_path / "out.mrg").write_text(lines_of(case), encoding="utf-8")
    assert [str(tree) for tree in read_trees(tmp_path / "out.mrg")] == [
        gold["brackets"] for gold in case.gold
    ]
    conllu = list(parse_sentences(lines_of(case, format="conllu")))
    assert conllu[0].metadata["brackets"] == case.gold[0]["brackets"]


def test_other_words_are_not_this_sentence(cases):
    case = cases("constituency")
    with pytest.raises(DataError, match="not those of the sentence"):
        case.task.check(case.document, 0, DONE, {"analysis": {"brackets": "(S (X other))"}})
    with pytest.raises(DataError, match="brackets"):
        case.task.check(case.document, 0, DONE, {"analysis": {"brackets": "(S (X other)"}})


# ---------------------------------------------------------------- tags


def test_features_are_put_in_order(cases):
    case = cases("tags")
    value = {"feats": "Number=Sing|Case=Nom", "upos": "NOUN"}
    assert case.task.check(case.document, 0, "t0", value)["feats"] == "Case=Nom|Number=Sing"
    for feats in ("Number", "number=sing", "A=B|", "A=B=C"):
        with pytest.raises(DataError, match="feats"):
            case.task.check(case.document, 0, "t0", {"feats": feats})


def test_tags_that_nobody_knows_stand(cases):
    case = cases("tags")
    proposal = case.task.propose(case.document, {(0, "t1"): {"upos": "ODD"}}, 0)
    assert proposal.analysis["upos"][1] == "ODD"
    assert not proposal.followed
    assert "word 2" in proposal.notes[0]


def test_a_plain_tagger_serves_too(cases):
    case = cases("tags")
    from eigentext.tagging.sequence import SequenceTagger

    text = [sentence.forms for sentence in case.document.sentences]
    tags = [gold["upos"] for gold in case.gold]
    task = open_task("tags", SequenceTagger(epochs=1).fit(text[:4], tags[:4]))
    for number in range(4, 8):
        gold = {"upos": case.gold[number]["upos"]}
        assert correct(task, case.document, number, gold).analysis["upos"] == gold["upos"]
    odd = task.propose(case.document, {(4, "t0"): {"upos": "ODD"}}, 4)
    assert odd.analysis["upos"][0] == "ODD"
    assert not odd.followed


def test_tags_are_read_back(cases):
    case = cases("tags")
    read = list(parse_sentences(lines_of(case)))
    assert [list(s.column("lemma")) for s in read] == [gold["lemma"] for gold in case.gold]


# ---------------------------------------------------------------- entities


def test_entities_are_read_back(cases, tmp_path):
    case = cases("entities")
    (tmp_path / "out.bio").write_text(lines_of(case), encoding="utf-8")
    _, tags, scheme = read_tagged([str(tmp_path / "out.bio")])
    assert scheme == "bio2"
    assert [list(row) for row in tags] == [gold["tags"] for gold in case.gold]
    records = [json.loads(line) for line in lines_of(case, format="jsonl").splitlines()]
    assert [record["entities"] for record in records] == [g["entities"] for g in case.gold]
    conllu = list(parse_sentences(lines_of(case, format="conllu")))
    assert "NER=B-PER" in conllu[0].column("misc")[1]


def test_no_entity_here(cases):
    case = cases("entities")
    first = case.task.propose(case.document, {}, 0).analysis["entities"][0]
    place = f"e{first['start']}-{first['end']}"
    proposal = case.task.propose(case.document, {(0, place): {"type": None}}, 0)
    for one in proposal.analysis["entities"]:
        assert one["end"] <= first["start"] or one["start"] >= first["end"]


def test_types_that_nobody_knows_and_entities_that_overlap(cases):
    case = cases("entities")
    decided = {(0, "e0-2"): {"type": "ODD"}, (0, "e1-4"): {"type": "PER"}}
    proposal = case.task.propose(case.document, decided, 0)
    kinds = {(e["start"], e["end"]): e["type"] for e in proposal.analysis["entities"]}
    assert kinds[0, 2] == "ODD"
    assert kinds[1, 4] == "PER"
    assert not proposal.followed
    assert any("overlap" in note for note in proposal.notes)
    assert any("does not know the type 'ODD'" in note for note in proposal.notes)


def test_imported_entities_give_way_to_decided_ones(cases):
    case = cases("entities")
    tags = ["O", "B-PER", "I-PER", "O", "B-PER", "O"]
    imported = document_of_columns("d", [case.document.sentences[0].forms], [tags])
    task = open_task("entities")
    proposal = task.propose(imported, {}, 0)
    assert proposal.source == "imported"
    assert proposal.analysis["tags"] == tags
    decided = {(0, "e2-4"): {"type": "LOC"}, (0, "e4-5"): {"type": None}}
    left = task.propose(imported, decided, 0).analysis["entities"]
    assert left == [{"start": 2, "end": 4, "type": "LOC"}]


# ---------------------------------------------------------------- segmentation


def test_segmented_text_is_read_back(cases):
    case = cases("segmentation")
    read = list(parse_sentences(lines_of(case)))
    sentences = [one for gold in case.gold for one in gold["sentences"]]
    assert len(read) == len(sentences)
    for sentence, gold in zip(read, sentences, strict=True):
        words = [
            word
            for token in gold["tokens"]
            for word in token["words"] or [case.document.text[token["start"] : token["end"]]]
        ]
        assert list(sentence.forms) == words


def test_a_multiword_token_of_ones_own(cases):
    case = cases("segmentation")
    first = case.gold[0]["sentences"][0]["tokens"][1]
    item = f"m{first['start']}-{first['end']}"
    value = case.task.check(case.document, 0, item, {"words": ["one", "two"]})
    proposal = case.task.propose(case.document, {(0, item): value}, 0)
    token = next(
        t
        for s in proposal.analysis["sentences"]
        for t in s["tokens"]
        if t["start"] == first["start"]
    )
    assert (token["end"], token["words"]) == (first["end"], ["one", "two"])
    assert proposal.followed


def test_cuts_are_within_the_text(cases):
    case = cases("segmentation")
    space = case.document.text.index(" ")
    with pytest.raises(DataError, match="not white space"):
        case.task.check(case.document, 0, f"b{space}", {"cut": "word"})
    with pytest.raises(DataError, match="within the text"):
        case.task.check(case.document, 0, "b99999", {"cut": "word"})
    with pytest.raises(DataError, match="needs the text"):
        case.task.propose(StoredDocument("d", None, [{"tokens": [{"text": "a"}]}], {}).doc, {}, 0)


# ---------------------------------------------------------------- lexical


def test_a_reading_of_ones_own_and_none_is_right(cases):
    case = cases("lexical")
    own = {"label": {"pos": "N"}, "lemma": "عِلم", "gloss": "knowledge", "vocalised": "عِلْمٌ"}
    decided = {
        (0, "w1"): case.task.check(case.document, 0, "w1", {**own, "note": "see page 3"}),
        (0, "w0"): case.task.check(case.document, 0, "w0", {"none": True}),
    }
    proposal = case.task.propose(case.document, decided, 0)
    words = proposal.analysis["words"]
    assert words[0]["label"] is None
    assert words[1]["gloss"] == "knowledge"
    assert words[1]["label"]["lemma"] == "عِلم"
    lines = exported(case, {**decided, (0, DONE): {}}, format="conllu")
    assert any("Gloss=knowledge" in line and "Vform=" in line for line in lines)
    with pytest.raises(DataError, match="no element"):
        case.task.check(case.document, 0, "w1", {"label": {"odd": "x"}})


def test_words_decided_condition_their_neighbours(cases):
    case = cases("lexical")
    plain = case.task.propose(case.document, {}, 0).items[1].candidates
    decided = {(0, "w0"): {"label": case.gold[1]["words"][0]["label"]}}
    after = case.task.propose(case.document, decided, 0).items[1].candidates
    assert [c.probability for c in plain] != [c.probability for c in after]


def test_words_are_read_back(cases, tmp_path):
    case = cases("lexical")
    (tmp_path / "out.jsonl").write_text(lines_of(case), encoding="utf-8")
    (document,) = read_words_jsonl(tmp_path / "out.jsonl", case.task.scheme)
    labels = [[case.task.scheme.as_mapping(w.label) for w in s] for s in document.sentences]
    assert labels == [[word["label"] for word in gold["words"]] for gold in case.gold]


def test_the_tail_is_searched(cases):
    case = cases("lexical")
    every = case.task.candidates(case.document, {}, 1, "w2", k=1000)
    last = every[-1]
    lemma = last.shown["lemma"] or last.value["label"]["lemma"]
    found = case.task.candidates(case.document, {}, 1, "w2", search=lemma)
    assert last.value in [one.value for one in found]
    assert len(found) <= len(every)


def test_an_arc_that_was_passed_over_binds_and_says_so(cases):
    task, _, document, _ = cases("dependency")
    number = next(k for k, one in enumerate(document.sentences) if len(one) > 4)
    free = task.propose(document, {}, number)
    kept = {**free.items[0].value, "passed": True}
    assert task.check(document, number, "a1", kept) == kept
    assert not task.differ(kept, free.items[0].value)  # a person who decides so agrees with it
    other = next(h for h in range(1, 5) if h not in (4, free.items[3].value["head"]))
    decisions = {(number, "a4"): {"head": other}, (number, "a1"): kept}
    first, *rest = task.propose(document, decisions, number).items
    assert (first.value, first.decided) == (kept, True)
    assert not any("passed" in one.value for one in rest)
    done = task.check(document, number, "done", task.accepted(document, {}, number))
    assert set(done["analysis"]) == {"head", "deprel"}
    for value in ({"passed": True}, {"head": 2, "passed": False}, {"head": 2, "passed": 1}):
        with pytest.raises(DataError):
            task.check(document, number, "a1", value)
