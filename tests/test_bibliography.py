"""Papers are cited by author and year, and each has its line on the bibliography page."""

from __future__ import annotations

import re
from pathlib import Path

import eigentext

ROOT = Path(__file__).parents[1]
BIBLIOGRAPHY = (ROOT / "docs" / "reference" / "bibliography.md").read_text(encoding="utf-8")
# the last author before the year, as in "(Koo et al. 2007)" or "Huang and Chiang (2005)"
CITATION = re.compile(r"([A-Z][a-zé]+)(?: et al\.)? \(?((?:19|20)\d\d)\b")
MONTHS = {"January", "February", "March", "April", "May", "June", "July", "August"} | {
    "September",
    "October",
    "November",
    "December",
    "Copyright",
}


def cited(text: str) -> set[tuple[str, str]]:
    return {(name, year) for name, year in CITATION.findall(text) if name not in MONTHS}


def test_every_citation_of_the_sources_has_a_line() -> None:
    known = cited(re.sub(r"[*]", "", BIBLIOGRAPHY))
    for path in Path(eigentext.__file__).parent.rglob("*.py"):
        lines = path.read_text(encoding="utf-8")
        missing = {one for one in cited(lines) if one not in known and one[0] != "CoNLL"}
        assert not missing, (path, missing)


def test_no_paper_is_cited_by_the_number_of_a_file() -> None:
    number = re.compile("papers" + r"/\d")
    for folder in ("src", "docs", "tests", "benchmarks", "examples"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".md"}:
                assert not number.search(path.read_text(encoding="utf-8")), path
