"""What axe finds on a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe

__all__ = ["findings"]


def findings(page: Any) -> list[str]:
    """One line for each finding and element; none on a page that is as it should be."""
    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {node['html'][:200]}" for one in found for node in one["nodes"]]
