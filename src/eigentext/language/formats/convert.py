"""From one format to another, as a stream.

A converter takes each item towards the target: brackets become dependencies by head rules, and
everything becomes plain tokens.  A CoNLL form may hold spaces, as ``13 819`` does; in plain tokens
each becomes a no-break space, which stays inside its token.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from eigentext.base.files.opening import OnError, raise_or_tell
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats import conllu, text
from eigentext.language.formats.registry import CONVERTIBLE, format_of, the_format
from eigentext.language.trees.clean import clean
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import HeadRules, to_dependencies

_NO_BREAK_SPACE = "\u00a0"


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
    rules for brackets to dependencies: ``english`` or ``neutral``.

    >>> counted = conllu.make_sentence(["13 819", "habitants"])
    >>> conllu.write_sentences([counted], "memory://doc/count.conllu")
    1
    >>> convert("memory://doc/count.conllu", "memory://doc/count.txt")
    1
    >>> list(text.read_sentences("memory://doc/count.txt"))
    [['13\\xa0819', 'habitants']]
    """
    read = the_format(source_format or format_of(source, CONVERTIBLE), CONVERTIBLE)
    write = the_format(target_format or format_of(target, CONVERTIBLE), CONVERTIBLE)
    if heads not in ("english", "neutral"):
        raise SettingsError(f"head rules must be 'english' or 'neutral', not {heads!r}")
    items: Iterable[Any] = read.reader()(source, on_error=on_error)
    if read.holds == "trees":
        cleaned = map(clean, items) if strip else items
        trees = (tree for tree in cleaned if tree is not None)
        rules = HeadRules.english() if heads == "english" else HeadRules.neutral()
        items = _of_trees(trees, write.holds, rules)
    elif write.holds == "trees":
        raise SettingsError(f"{read.name} has no constituents, so it cannot become {write.name}")
    elif read.holds == "tokens":
        items = map(conllu.make_sentence, filter(None, items))
    if write.holds == "tokens" and read.holds != "trees":
        items = _plain_tokens(items, on_error)
    return write.writer()(items, target)


def _of_trees(trees: Iterable[Tree], holds: str, rules: HeadRules) -> Iterable[object]:
    """Trees as they are, their words, or dependencies by head rules."""
    if holds == "trees":
        return trees
    if holds == "tokens":
        return (tree.words for tree in trees)
    return (
        conllu.from_dependency_tree(to_dependencies(tree, rules), tags="xpos") for tree in trees
    )


def _plain_tokens(
    sentences: Iterable[conllu.ConlluBlock], on_error: OnError | None
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
