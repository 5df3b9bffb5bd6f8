"""Docs as spaCy's: one level of tokens, white space kept, heads and tags on them.

spaCy's text is its tokens and a blank after some of them, so white space other than that becomes
tokens of its own, and a multiword token is cut into its words only where their forms spell it;
another one (``du`` is ``de le``) is one token with the tags of the word that the others hang
from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.errors import import_extra
from eigentext.language.sentence import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from eigentext.base.types import Json
    from eigentext.language.doc import Doc
    from eigentext.language.sentence import Sentence


class _Unit(NamedTuple):
    """A token of spaCy's: its text, and the numbers of the words it stands for (none: space)."""

    text: str
    space: bool
    words: tuple[int, ...]


def _units(doc: Doc, sentence: Sentence, following: int) -> list[_Unit]:
    """The tokens of a sentence, and of the white space after each of them."""
    units: list[_Unit] = []
    nexts = [token.start for token in sentence.tokens[1:]] + [following]
    for token, begin in zip(sentence.tokens, nexts, strict=True):
        numbers = tuple(range(token.first, token.last + 1))
        forms = sentence.columns.forms[token.first - 1 : token.last]
        if len(numbers) > 1 and "".join(forms) == token.form:
            units += (_Unit(form, False, (n,)) for form, n in zip(forms, numbers, strict=True))
        else:
            units.append(_Unit(doc.text[token.start : token.end], False, numbers))
        gap = doc.text[token.end : begin]
        if gap.startswith(" "):
            units[-1] = units[-1]._replace(space=True)
            gap = gap[1:]
        if gap:
            units.append(_Unit(gap, False, ()))
    return units


def as_spacy(doc: Doc, vocab: object = None) -> Any:
    """A ``spacy.tokens.Doc``."""
    tokens = import_extra("spacy.tokens", "spaCy's documents", "spacy")
    from spacy.parts_of_speech import IDS as UNIVERSAL_TAGS
    from spacy.vocab import Vocab

    units: list[_Unit] = []
    columns: dict[str, list[Any]] = {name: [] for name in (*_COLUMNS, "sent_starts")}
    starts = [sentence.start for sentence in doc.sentences[1:]]
    starts += [len(doc.text)] if doc.sentences else []
    lead = doc.text[: doc.sentences[0].start] if doc.sentences else doc.text
    if lead:  # it belongs to the first sentence
        units.append(_Unit(lead, False, ()))
        root = {} if doc.sentences else {"deps": "ROOT"}
        _add(columns, _SPACE | {"heads": 1 if doc.sentences else 0, "sent_starts": True} | root)
    for sentence, following in zip(doc.sentences, starts, strict=True):
        begin = len(units)
        added = _units(doc, sentence, following)
        units += added
        _add_sentence(columns, sentence, added, begin)
    if lead and doc.sentences:
        columns["sent_starts"][1] = False
    columns["pos"] = [tag if tag in UNIVERSAL_TAGS else "" for tag in columns["pos"]]
    unknown = {"sent_starts"}  # trees say where sentences begin
    if not any(sentence.columns.heads is not None for sentence in doc.sentences):
        unknown = {"heads", "deps"}
    if set(columns["ents"]) <= {"O"}:
        unknown.add("ents")
    return tokens.Doc(
        Vocab() if vocab is None else vocab,
        words=[unit.text for unit in units],
        spaces=[unit.space for unit in units],
        **{name: None if name in unknown else values for name, values in columns.items()},
    )


_COLUMNS = {each.spacy: each for each in COLUMNS if each.spacy and each.name != "forms"}
_SPACE = {"pos": "SPACE", "tags": "_SP", "deps": "dep", "sent_starts": False, "ents": "O"}


def _add(columns: dict[str, list[Any]], values: Json) -> None:
    """One token more; what is not said of it is empty."""
    for name, column in columns.items():
        column.append(values.get(name, ""))


def _add_sentence(
    columns: dict[str, list[Any]], sentence: Sentence, units: Sequence[_Unit], begin: int
) -> None:
    """What is known of each token, at its place in the Doc."""
    columns_of = ((name, each.of(sentence)) for name, each in _COLUMNS.items())
    values_of = {name: values for name, values in columns_of if values is not None}
    heads = sentence.columns.heads or (None,) * len(sentence)
    position = {number: begin + at for at, unit in enumerate(units) for number in unit.words}
    above = begin
    for at, unit in enumerate(units):
        if not unit.words:  # white space hangs from a word of its sentence
            _add(columns, _SPACE | {"heads": above})
            continue
        above = begin + at
        # of several words, the one whose head is outside speaks for all
        speaker = next((n for n in unit.words if heads[n - 1] not in unit.words), unit.words[0])
        values = {name: column[speaker - 1] for name, column in values_of.items()}
        values = {name: value for name, value in values.items() if value != "_"}
        head = heads[speaker - 1]
        values["heads"] = position[head] if head else above
        if not head:
            values["deps"] = "ROOT"
        values.setdefault("tags", values.get("pos", ""))
        values.setdefault("ents", "O")
        values["sent_starts"] = at == 0
        _add(columns, values)


def doc_bin(docs: Iterable[Doc]) -> Any:
    """A ``spacy.tokens.DocBin`` of all these."""
    tokens = import_extra("spacy.tokens", "spaCy's documents", "spacy")
    from spacy.vocab import Vocab

    vocab = Vocab()
    return tokens.DocBin(docs=[as_spacy(doc, vocab) for doc in docs])


def merged(parts: Iterable[bytes]) -> bytes:
    """One DocBin, from the bytes of several."""
    tokens = import_extra("spacy.tokens", "spaCy's documents", "spacy")
    whole = tokens.DocBin()
    for part in parts:
        whole.merge(tokens.DocBin().from_bytes(part))
    return bytes(whole.to_bytes())
