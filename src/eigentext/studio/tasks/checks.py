"""What is wrong, or odd, with a sentence of Universal Dependencies, told while it is annotated.

1. Our own checks are cheap and work on half-finished sentences: one root, no circle, arcs that
   cross (a hint), tags and relations that UD does not have.
2. With the package udtools (extra ``ud``) a sentence whose heads are
   all set is put through the official validator, for its language if that is known there.

The validator's tables are loaded once for each language; a sentence then takes some milliseconds.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from eigentext.studio.tasks.dependency import RELATIONS
from eigentext.studio.tasks.records import Finding
from eigentext.studio.tasks.tags import UPOS
from eigentext.studio.tasks.texts import column_of, conllu_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from eigentext.language import Doc, Sentence
    from eigentext.studio.tasks.records import Analysis, Decisions
    from eigentext.studio.tasks.task import Task

_MOST_WORDS = 400
_OF_TREES = ("tree", "crossing")  # rules that any tree can be held to
# what our own checks have said already
_RULES = {"unknown-upos": "upos", "unknown-udeprel": "deprel", "unknown-deprel": "deprel"}
_NUMBER = re.compile(r"[0-9]+")


def has_udtools() -> bool:
    """Whether the official validator is installed."""
    return find_spec("udtools") is not None


def check_sentence(
    sentence: Sentence, analysis: Analysis, *, language: str = "ud", udtools: bool = True
) -> list[Finding]:
    """What there is to say of a sentence under an analysis: columns of CoNLL-U by name.

    Columns that the analysis does not have are as they were imported.  Heads are numbers or None.

    >>> from eigentext.language import Doc
    >>> (sentence,) = Doc.from_tokens([["Dogs", "bark"]]).sentences
    >>> tree = {"head": [2, 0], "deprel": ["subject", "root"]}
    >>> [one.message for one in check_sentence(sentence, tree, udtools=False)]
    ["'subject' is no relation of UD."]
    """
    columns = _columns(sentence, analysis)
    findings = list(_structural(sentence, columns))
    complete = "head" in columns and all(head is not None for head in columns["head"])
    tree = not any(finding.level == "error" and finding.rule == "tree" for finding in findings)
    if udtools and complete and tree and len(sentence) <= _MOST_WORDS and has_udtools():
        reported = {(finding.rule, finding.words) for finding in findings}
        official = _official(sentence, columns, language or "ud")
        findings += [
            finding
            for finding in official
            if (_RULES.get(finding.rule), finding.words) not in reported
        ]
    return sorted(
        findings, key=lambda finding: (finding.level != "error", finding.words, finding.message)
    )


def check_under(
    task: Task, document: Doc, decisions: Decisions, number: int, *, language: str, rules: bool
) -> list[Finding]:
    """The findings of a sentence as it stands: of all rules, or of its being a tree alone."""
    analysis = task.apply(document, decisions, number)
    sentence = document.sentences[number]
    findings = check_sentence(sentence, analysis, language=language, udtools=rules)
    return [finding for finding in findings if rules or finding.rule in _OF_TREES]


def _columns(sentence: Sentence, analysis: Analysis) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for name in ("lemma", "upos", "xpos", "feats", "deprel", "deps", "misc"):
        values = analysis.get(name) or column_of(sentence, name)
        if values is not None:
            columns[name] = list(values)
    heads = analysis.get("head") or sentence.columns.heads
    if heads is not None:
        columns["head"] = list(heads)
    return columns


def _structural(sentence: Sentence, columns: Mapping[str, Sequence[Any]]) -> Iterator[Finding]:
    for word, tag in enumerate(columns.get("upos", ())):
        if tag not in ("_", *UPOS):
            yield Finding("error", (word,), f"{tag!r} is no part of speech of UD.", rule="upos")
    heads = columns.get("head")
    for word, relation in enumerate(columns.get("deprel", ())):
        if relation != "_" and relation.partition(":")[0] not in RELATIONS:
            yield Finding("error", (word,), f"{relation!r} is no relation of UD.", rule="deprel")
        if heads and (heads[word] == 0) != (relation == "root") and heads[word] is not None:
            if relation == "_":
                continue
            what = "The word below the root" if heads[word] == 0 else "Only the root's word"
            yield Finding("error", (word,), f"{what} has the relation 'root'.", rule="root")
    if heads is None:
        return
    yield from _tree_findings(heads)


def _tree_findings(heads: Sequence[int | None]) -> Iterator[Finding]:
    roots = tuple(word for word, head in enumerate(heads) if head == 0)
    if len(roots) > 1:
        numbers = ", ".join(str(word + 1) for word in roots)
        why = f"A sentence has one root; here words {numbers} are."
        yield Finding("error", roots, why, rule="tree")
    if not roots and all(head is not None for head in heads) and heads:
        yield Finding("error", (), "No word is the root.", rule="tree")
    in_circle: set[int] = set()
    for start in range(len(heads)):
        path: list[int] = []
        word: int | None = start
        while word is not None and word not in path and word not in in_circle:
            path.append(word)
            head = heads[word]
            word = None if not head else head - 1
        if word is not None and word in path:
            circle = path[path.index(word) :]
            in_circle.update(circle)
            numbers = ", ".join(str(number + 1) for number in sorted(circle))
            yield Finding(
                "error", tuple(sorted(circle)), f"Words {numbers} hang in a circle.", rule="tree"
            )
    arcs = sorted(
        (min(word, head - 1), max(word, head - 1), word) for word, head in enumerate(heads) if head
    )
    for at, (a, b, word) in enumerate(arcs):
        for c, d, other in arcs[at + 1 :]:
            if c >= b:
                break
            if a < c < b < d:
                why = f"The arcs of words {word + 1} and {other + 1} cross: rare, but possible."
                yield Finding("hint", tuple(sorted((word, other))), why, rule="crossing")


@lru_cache(maxsize=8)
def _validator(language: str) -> Any:
    from udtools import Validator

    validator = Validator(lang=language, level=5, output=None)
    if language != "ud" and not validator.data.is_known_language(language):
        validator = Validator(lang="ud", level=3, output=None)
    return validator


def _official(
    sentence: Sentence, columns: Mapping[str, Sequence[object]], language: str
) -> Iterator[Finding]:
    """What the official validator says, its messages as they are."""
    from udtools.incident import IncidentType, TestClass
    from udtools.state import State

    comments = ["# sent_id = s", f"# text = {_text(sentence, columns)}"]
    lines = conllu_lines(sentence, columns, comments)
    ids = [line.partition("\t")[0] for line in lines[len(comments) : -1]]
    state = State()
    state.current_line = len(lines)  # it counts back from here to the first
    state.current_file_name = "sentence"
    try:
        _validator(language).validate_sentence(lines, state)
    except Exception as error:  # a foreign program: what it cannot read must not stop anybody
        yield Finding("hint", (), f"udtools could not check this sentence: {error}", "udtools")
        return
    reported: set[tuple[str, tuple[int, ...]]] = set()
    for incident in state.error_tracker:
        if incident.testclass == TestClass.METADATA:
            continue
        words = _words_of(str(incident.nodeid or ""))
        row = incident.lineno - state.sentence_line
        if not words and 0 <= row < len(ids):
            words = _words_of(ids[row])
        rule = str(incident.testid)
        if (rule, words) in reported:
            continue
        reported.add((rule, words))
        is_error = incident.get_type() == IncidentType.ERROR
        message = " ".join(str(incident.message).split())
        yield Finding("error" if is_error else "hint", words, message, "udtools", rule)


def _words_of(name: str) -> tuple[int, ...]:
    """Numbers from 0 on of an id: ``3``, ``3-4``; none of an empty node or of nothing."""
    if not name or "." in name:
        return ()
    numbers = [int(n) for n in _NUMBER.findall(name)]
    if len(numbers) == 2:
        return tuple(range(numbers[0] - 1, numbers[1]))
    return (numbers[0] - 1,) if numbers else ()


def _text(sentence: Sentence, columns: Mapping[str, Sequence[object]]) -> str:
    """The text that the validator compares with the forms."""
    from eigentext.language.formats.conllu import parse_sentence

    bare = {name: ["_"] * len(sentence) for name in ("head", "deprel", "deps")}
    lines = conllu_lines(sentence, {**columns, **bare})
    return parse_sentence("\n".join(lines) + "\n").text
