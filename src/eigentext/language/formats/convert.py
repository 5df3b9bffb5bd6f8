"""From one format to another, as a stream.

1. :func:`format_of` guesses a format from a file's name; the caller may name it instead.
2. A reader gives constituent trees, CoNLL sentences or token lists.
3. A converter takes each item towards the target: brackets become dependencies by head rules,
   CoNLL-U becomes CoNLL-X and back, and everything becomes plain tokens.  A CoNLL form may hold
   spaces, as ``13 819`` does; in plain tokens each becomes a no-break space, which stays inside
   its token.
4. The writer of the target format writes under a temporary name and renames.
"""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING

from eigentext.base.files.opening import raise_or_tell
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats import conllu, conllx, ptb, text
from eigentext.language.trees.clean import clean
from eigentext.language.trees.const_to_dep import to_dependencies
from eigentext.language.trees.heads import HeadRules

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eigentext.base.files.opening import OnError

__all__ = ["FORMATS", "convert", "format_of"]

FORMATS = ("ptb", "conllu", "conllx", "tokens")

_SUFFIXES = {
    ".mrg": "ptb",
    ".ptb": "ptb",
    ".prd": "ptb",
    ".brackets": "ptb",
    ".conllu": "conllu",
    ".conllx": "conllx",
    ".conll": "conllx",
    ".txt": "tokens",
    ".tok": "tokens",
}
_COMPRESSED = (".gz", ".xz", ".zst", ".bz2")
_NO_BREAK_SPACE = "\u00a0"


def format_of(path: str) -> str:
    """The format that a file's name suggests.

    >>> format_of("trees/train.mrg.xz"), format_of("en.conllu")
    ('ptb', 'conllu')
    """
    name = PurePath(path)
    suffix = PurePath(name.stem).suffix if name.suffix in _COMPRESSED else name.suffix
    if suffix not in _SUFFIXES:
        known = ", ".join(FORMATS)
        raise SettingsError(f"cannot tell the format of {path!r} by its name: say which ({known})")
    return _SUFFIXES[suffix]


def convert(
    source: str,
    target: str,
    *,
    source_format: str | None = None,
    target_format: str | None = None,
    heads: str = "english",
    strip: bool = True,
    on_error: OnError | None = None,
) -> int:
    """Convert a file and return the number of sentences written.

    ``strip`` removes traces, function tags and indices from brackets; ``heads`` names the head
    rules for brackets to dependencies: ``english`` or ``neutral``.  In tokens, a space inside a
    CoNLL form becomes a no-break space (U+00A0), so that the form stays one token.

    >>> counted = conllu.make_sentence(["13 819", "habitants"])
    >>> conllu.write_sentences([counted], "memory://doc/count.conllu")
    1
    >>> convert("memory://doc/count.conllu", "memory://doc/count.txt")
    1
    >>> list(text.read_sentences("memory://doc/count.txt"))
    [['13\\xa0819', 'habitants']]
    """
    from_format = source_format or format_of(source)
    to_format = target_format or format_of(target)
    for name in (from_format, to_format):
        if name not in FORMATS:
            raise SettingsError(f"unknown format {name!r}; known: {', '.join(FORMATS)}")
    if heads not in ("english", "neutral"):
        raise SettingsError(f"head rules must be 'english' or 'neutral', not {heads!r}")
    rules = HeadRules.english() if heads == "english" else HeadRules.neutral()
    if from_format == "ptb":
        return _from_trees(source, target, to_format, rules, strip, on_error)
    if to_format == "ptb":
        raise SettingsError(f"{from_format} has no constituents, so it cannot become ptb")
    if from_format == "tokens":
        lists = (tokens for tokens in text.read_sentences(source, on_error=on_error) if tokens)
        return _write(map(conllu.make_sentence, lists), target, to_format, on_error)
    if from_format == "conllx":
        sentences = map(conllx.to_conllu, conllx.read_sentences(source, on_error=on_error))
        return _write(sentences, target, to_format, on_error)
    return _write(conllu.read_sentences(source, on_error=on_error), target, to_format, on_error)


def _from_trees(
    source: str,
    target: str,
    to_format: str,
    rules: HeadRules,
    strip: bool,
    on_error: OnError | None,
) -> int:
    all_trees = ptb.read_trees(source, on_error=on_error)
    cleaned = map(clean, all_trees) if strip else all_trees
    trees = (tree for tree in cleaned if tree is not None)
    if to_format == "ptb":
        return ptb.write_trees(trees, target)
    if to_format == "tokens":
        return text.write_sentences((tree.words for tree in trees), target)
    sentences = (
        conllu.from_dependency_tree(to_dependencies(tree, rules), tags="xpos") for tree in trees
    )
    return _write(sentences, target, to_format, on_error)


def _write(
    sentences: Iterable[conllu.Sentence], target: str, to_format: str, on_error: OnError | None
) -> int:
    if to_format == "conllu":
        return conllu.write_sentences(sentences, target)
    if to_format == "conllx":
        return conllx.write_sentences(map(conllx.from_conllu, sentences), target)
    return text.write_sentences(_plain_tokens(sentences, on_error), target)


def _plain_tokens(
    sentences: Iterable[conllu.Sentence], on_error: OnError | None
) -> Iterator[list[str]]:
    for sentence in sentences:
        tokens = [form.replace(" ", _NO_BREAK_SPACE) for form in sentence.forms]
        # checked here, where the line of the source is known, and not by the writer
        bad = next((token for token in tokens if text.split_tokens(token) != [token]), None)
        if bad is None:
            yield tokens
            continue
        why = f"form {bad[:60]!r}: expected no white space but spaces, to write it as a token"
        raise_or_tell(DataError(sentence.source, sentence.first_line, why), on_error)
