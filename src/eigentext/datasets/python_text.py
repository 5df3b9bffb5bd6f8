"""English text that every Python installation carries, as tokenised sentences for the demo.

1. The files: ``pydoc_data/topics.py`` and the modules of the standard library, in sorted order,
   without tests, bundled third-party packages and the modules that are mostly code tables.
2. Each file is parsed, never imported; its docstrings (in the topics: the help texts) are taken.
3. Markup goes: doctest and code lines, section rulers, indented literal blocks, field names.
4. Paragraphs are split into sentences, sentences into words, numbers and punctuation.

Another Python version has other texts, so no figure that rests on this text is portable; within
one installation the order and content never change.
"""

from __future__ import annotations

import ast
import re
import sysconfig
from collections.abc import Iterator
from pathlib import Path

_SKIPPED_FOLDERS = frozenset(
    {"__pycache__", "_pyrepl", "_vendor", "config", "dist-packages", "encodings", "ensurepip"}
    | {"idle_test", "idlelib", "lib-dynload", "lib2to3", "pydoc_data", "site-packages", "test"}
    | {"tests", "turtledemo"}
)
_TOPICS = Path("pydoc_data", "topics.py")

_CODE_LINE = re.compile(
    r"\s*(>>>|\.\.\.(\s|$)|\.\. |[-=*~^+|#]{3,}|:\w+.*:|@|\w+\(.*\)\s*(->.*)?$)"
)
_INLINE_MARKUP = re.compile(r":\w+:(?=`)|[`*|]+")
_SENTENCE_END = re.compile(r"(?<=[a-z0-9)\]][.!?])\s+(?=[A-Z\"'(])")
_TOKEN = re.compile(r"\w+(?:[.'’_-]\w+)*|\.\.\.|[^\w\s]")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def _library_files(library: Path) -> list[Path]:
    files = []
    folders = [library]
    while folders:
        for entry in folders.pop().iterdir():
            if entry.is_dir():
                if entry.name not in _SKIPPED_FOLDERS and not entry.name.startswith("config-"):
                    folders.append(entry)
            elif entry.suffix == ".py":
                files.append(entry)
    return sorted(files)


def _docstrings(source: str) -> Iterator[str]:
    """The docstrings of a module, its classes and their functions, in the order of the file.

    Only definitions that stand in a module, class or function body directly are looked at: walking
    every expression would take most of the time and find next to nothing.
    """
    bodies: list[ast.AST] = [ast.parse(source)]
    while bodies:
        node = bodies.pop()
        if isinstance(node, _DOCUMENTED):
            text = ast.get_docstring(node)
            if text:
                yield text
            bodies.extend(
                reversed([child for child in node.body if isinstance(child, _DOCUMENTED)])
            )


def _topic_texts(source: str) -> Iterator[str]:
    """The values of the dictionary ``topics``."""
    for statement in ast.parse(source).body:
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and isinstance(
            statement.value, ast.Dict
        ):
            for value in statement.value.values:
                if isinstance(value, ast.Constant) and isinstance(value.value, str):
                    yield value.value


def _texts(library: Path) -> Iterator[str]:
    if (library / _TOPICS).is_file():
        yield from _topic_texts((library / _TOPICS).read_text(encoding="utf-8"))
    for path in _library_files(library):
        try:
            source = path.read_text(encoding="utf-8")
            if '"""' in source or "'''" in source:
                yield from _docstrings(source)
        except (SyntaxError, ValueError):
            continue  # a template or a file in another encoding: no text of ours


def _paragraphs(text: str) -> Iterator[str]:
    """Runs of prose lines, without doctests and without the literal block after a double colon."""
    lines: list[str] = []
    in_doctest = False  # up to the next empty line
    literal_margin: int | None = None  # deeper lines than this are literal
    for line in [*text.expandtabs().splitlines(), ""]:
        stripped = line.strip()
        margin = len(line) - len(line.lstrip())
        in_doctest = bool(stripped) and (in_doctest or stripped.startswith(">>>"))
        if literal_margin is not None and stripped:
            if margin > literal_margin:
                continue
            literal_margin = None
        if stripped and not in_doctest and not _CODE_LINE.match(line):
            if stripped.endswith("::"):
                stripped, literal_margin = stripped[:-1], margin
            lines.append(stripped)
        elif lines:
            yield " ".join(lines)
            lines = []


def _is_prose(tokens: list[str]) -> bool:
    """A sentence has three words or more, and more words than signs."""
    words = sum(token[0].isalpha() for token in tokens)
    return words >= 3 and 2 * words > len(tokens)


def sentences(library: Path | None = None) -> Iterator[list[str]]:
    """Tokenised sentences of the texts in a standard library folder (default: this Python's own).

    >>> import itertools
    >>> all(len(sentence) >= 3 for sentence in itertools.islice(sentences(), 100))
    True
    """
    folder = Path(sysconfig.get_path("stdlib")) if library is None else Path(library)
    for text in _texts(folder):
        for paragraph in _paragraphs(text):
            for sentence in _SENTENCE_END.split(paragraph):
                tokens = _TOKEN.findall(_INLINE_MARKUP.sub("", sentence))
                if _is_prose(tokens):
                    yield tokens
