"""What every test of a page in a browser does."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect


def settled(page: Any) -> None:
    """Wait until everything that was asked for is answered and shown."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#status")).not_to_have_text("Working …")


def opened(page: Any, address: str) -> None:
    """Open a page and wait for what it shows first."""
    page.goto(address)
    settled(page)


def sideways(page: Any) -> int:
    """By how many pixels the page is wider than its window."""
    return int(page.evaluate("document.documentElement.scrollWidth - innerWidth"))


def saved(page: Any, button: Any) -> bytes:
    """The file that a button gives."""
    with page.expect_download() as download:
        button.click()
    with open(download.value.path(), "rb") as file:
        return file.read()
