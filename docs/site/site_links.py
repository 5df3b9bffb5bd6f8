"""Whether every link of a built site leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from pathlib import Path


class _Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the tag names or points to."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "alternate"):
            self.loaded.append(given.get("href", ""))
        elif "src" in given:
            self.loaded.append(given["src"])


def faults(site: Path) -> list[str]:
    """A line for each link to nowhere, and for each thing that comes from elsewhere."""
    pages = {}
    for path in site.rglob("*.html"):
        page = _Page()
        page.feed(path.read_text(encoding="utf-8"))
        pages[path.resolve()] = page
    found = []
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        found += [f"{name} loads {one}" for one in page.loaded if urlsplit(one).netloc]
        for link in [*page.links, *page.loaded]:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{name} links to {link}, which is not there")
                continue
            known = pages[target].anchors if target in pages else {unquote(parts.fragment)}
            if parts.fragment and unquote(parts.fragment) not in known:
                found.append(f"{name} links to {link}, which has no such place")
    return found
