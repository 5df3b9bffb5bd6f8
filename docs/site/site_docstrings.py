"""Docstrings as they are written for people at a terminal, made into what Sphinx reads.

A docstring here is plain text with ``code``, examples after ``>>>``, numbered lists, and equations
or tables set off by blanks.  What is set off stays as it is; elsewhere signs that reStructuredText
would take for markup (``A*``, ``|x|``, ``n_``) are text.  A link to a name that another module
passes on leads to its home, and one to a name that is not public is no link.
"""

from __future__ import annotations

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docutils.nodes import Element
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

_QUOTE = "`` `` ``"  # how a docstring writes two backticks
_MARKUP = re.compile(
    r"(``.+?``|:\w+(?::\w+)?:`[^`]+`|`[^`\n]+`|\*\*[^*\n]+\*\*|(?<![\w*])\*\w(?:[^*\n]*\w)?\*(?![\w*]))",
    re.DOTALL,
)
_ITEM = re.compile(r"(\d+\.|[-*]) ")
_WIDE = re.compile(r"\S  +\S")
# a line of a table of fields: ``name``  what it is
_FIELD = re.compile(r"(``[^`]+``(?:, ``[^`]+``)*) {2,}(\S.*)")
_FACTORY = re.compile(r"<[^<>]*>")  # a default that is made anew each time has no other name
# the settings in the docstring of a model, for a terminal: its page has them as a table
_SETTINGS = ["Parameters", "----------"]


def escaped(text: str) -> str:
    r"""Text with signs of markup as themselves, but for code, emphasis and roles.

    >>> escaped("``a*`` and *b* and c* and |d| and e_.")
    '``a*`` and *b* and c\\* and \\|d\\| and e\\_.'
    """
    parts = _MARKUP.split(text.replace(_QUOTE, "\0"))
    for at in range(0, len(parts), 2):
        parts[at] = re.sub(r"([*|\\]|_(?=\W|$)|`)", r"\\\1", parts[at])
    return "".join(parts).replace("\0", r"\`\`")


def _is_table(lines: list[str]) -> bool:
    """Two or more lines whose columns are set apart by blanks."""
    wide = sum(bool(_WIDE.search(line.replace(".  ", ". "))) for line in lines)
    return len(lines) > 1 and wide > len(lines) / 2


def _fields(lines: list[str]) -> list[str]:
    """A table of fields, as a list of definitions."""
    out: list[str] = []
    for line in lines:
        begins = _FIELD.match(line)
        if begins is None:
            out.append(f"    {escaped(line.strip())}")
        else:
            out += [begins[1], f"    {escaped(begins[2])}"]
    return out


def _paragraph(lines: list[str]) -> list[str]:
    """One paragraph of a docstring, as reStructuredText."""
    first = lines[0].lstrip()
    if first.startswith(">>>"):
        return lines
    if _FIELD.match(lines[0]) and all(_FIELD.match(one) or one[0] == " " for one in lines):
        return _fields(lines)
    if _ITEM.match(first):
        items: list[str] = []
        for line in lines:
            if _ITEM.match(line.lstrip()) and items:
                items.append("")
            items.append(line)
        return escaped("\n".join(items)).split("\n")
    if lines[0].startswith("    "):
        return ["::", "", *lines]
    if _is_table(lines) or any(line.startswith("  ") for line in lines[1:]):
        return ["::", "", *(f"    {line}" for line in lines)]
    return escaped("\n".join(lines)).split("\n")


def as_restructured_text(docstring: list[str]) -> list[str]:
    """The lines of a docstring, as Sphinx should have them.

    >>> as_restructured_text(["Rank of A*.", "", "    A = U S V'"])
    ['Rank of A\\\\*.', '', '::', '', "    A = U S V'", '']
    """
    out: list[str] = []
    paragraph: list[str] = []
    opened: int | None = None  # how far the text is set in that announced a block by `::`
    for line in [*docstring, ""]:
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            depth = len(paragraph[0]) - len(paragraph[0].lstrip())
            inside = opened is not None and depth > opened
            out += [*(paragraph if inside else _paragraph(paragraph)), ""]
            if not inside:
                last = paragraph[-1]
                opened = len(last) - len(last.lstrip()) if last.endswith("::") else None
            paragraph = []
    return out


def _process(
    _app: Sphinx, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    if lines and lines[0].startswith("Alias for field number"):  # Python's, of a named tuple
        lines.clear()
    for at in range(len(lines) - 1):
        if lines[at : at + 2] == _SETTINGS:
            del lines[at:]
            break
    lines[:] = as_restructured_text(lines)


def _sign(
    _app: Sphinx,
    _what: str,
    _name: str,
    _obj: Any,
    _options: Any,
    signature: str | None,
    back: Any,
) -> tuple[str, Any] | None:
    return None if signature is None else (_FACTORY.sub("...", signature), back)


def _object(path: str) -> Any:
    """What a dotted name of ours stands for, or None."""
    parts = path.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: Any = import_module(".".join(parts[:cut]))
        except ImportError:
            continue
        for part in parts[cut:]:
            found = getattr(found, part, None)
        return found
    return None


def _resolve(app: Sphinx, _env: BuildEnvironment, node: Element, content: Element) -> Any:
    """The link to a name where it is at home; text alone for what exists and is not public."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or not target.startswith("eigentext."):
        return None
    found = _object(target)
    if found is None:
        return None
    home = f"{getattr(found, '__module__', '')}.{getattr(found, '__qualname__', '')}"
    domain = app.env.domains.python_domain
    if home != target and home in domain.objects:
        where = node.get("refdoc", "")
        return domain.resolve_xref(app.env, where, app.builder, "obj", home, node, content)
    return content


def setup(app: Sphinx) -> dict[str, bool]:
    """Look at each docstring before Sphinx does, and at links that it does not know."""
    app.connect("autodoc-process-docstring", _process)
    app.connect("autodoc-process-signature", _sign)
    app.connect("missing-reference", _resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
