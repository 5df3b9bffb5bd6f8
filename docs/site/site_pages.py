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

# what a link of a page in docs/, or beside the README, calls the same page on the site
_UP = re.compile(r"(\]\()(?:\.\./|docs/)")


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
    for page in folder.glob("*.md"):
        page.write_text(_UP.sub(r"\1", page.read_text(encoding="utf-8")), encoding="utf-8")
    index = folder / "index.md"
    with index.open("a", encoding="utf-8") as file:
        for caption, pages in contents().items():
            listed = "\n".join(pages)
            file.write(f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{listed}\n```\n")
    with (folder / "decisions" / "index.md").open("a", encoding="utf-8") as file:
        file.write("\n```{toctree}\n:hidden:\n:glob:\n\n0*\n```\n")
    with (folder / "reference.md").open("a", encoding="utf-8") as file:
        file.write(
            "\n```{toctree}\n:maxdepth: 1\n\nreference/api/index\nreference/cli/index\n```\n"
        )
