"""Which pages the site has, and how they are laid out for Sphinx."""

from __future__ import annotations

import re
import shutil
import tomllib
from pathlib import Path

SITE = Path(__file__).parent
DOCS = SITE.parent
ROOT = DOCS.parent
BESIDE = ["CHANGELOG.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"]
LINKED = ["CITATION.cff", "LICENSE"]

# what a link of a page in docs/, or beside the README, calls the same page on the site; and
# how a page in a folder of docs/ calls what stands beside the README
_UP = re.compile(r"(\]\()(?:\.\./|docs/)")
_UP_TWICE = re.compile(r"(\]\(\.\./)\.\./")


def contents() -> dict[str, list[str]]:
    """The chapters of the site, and the pages of each in their order."""
    with open(SITE / "contents.toml", "rb") as file:
        chapters = tomllib.load(file)
    missing = {Path(name).stem for name in BESIDE if not (ROOT / name).exists()}
    return {
        caption: [page for page in pages if page not in missing]
        for caption, pages in chapters.items()
    }


def lay_out(folder: Path) -> None:
    """All pages that Sphinx reads, in one new folder."""
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(DOCS, folder, ignore=shutil.ignore_patterns("site", "*.py", "__pycache__"))
    for name in [*BESIDE, *LINKED]:
        if (ROOT / name).exists():
            shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__*"))
    for pattern, pages in ((_UP, folder.glob("*.md")), (_UP_TWICE, folder.glob("*/*.md"))):
        for page in pages:
            text = page.read_text(encoding="utf-8")
            page.write_text(pattern.sub(r"\1", text), encoding="utf-8")
    index = folder / "index.md"
    with index.open("a", encoding="utf-8") as file:
        for caption, pages in contents().items():
            listed = "\n".join(pages)
            file.write(f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n")
    with (folder / "decisions" / "index.md").open("a", encoding="utf-8") as file:
        file.write("\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n")
    with (folder / "reference" / "index.md").open("a", encoding="utf-8") as file:
        file.write("\n```{toctree}\n:maxdepth: 1\n\napi/index\ncli/index\n```\n")
