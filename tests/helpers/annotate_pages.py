"""What tests of annotation in a browser share: who enters, a project with a text, slow answers."""

from __future__ import annotations

import re
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

TREEBANK = """\
1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_
2\tdog\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tbarks\t_\tVERB\tVBZ\t_\t0\troot\t_\t_

1\tthe\t_\tDET\tDT\t_\t2\tdet\t_\t_
2\tcat\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsleeps\t_\tVERB\tVBZ\t_\t0\troot\t_\t_

"""
ARABIC = "كتب الولد الدرس ."


def settled(page: Any) -> None:
    """Wait until what was asked for is shown."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false")
    expect(page.locator("#error")).to_be_hidden()


def enter(page: Any, address: str, name: str = "Ada") -> None:
    """Open the page and give a name."""
    page.goto(f"{address}/annotate")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Name").press("Enter")
    expect(page.locator("#who b")).to_have_text(name)
    settled(page)


def begin(
    page: Any, name: str, task: str, text: str, *, form: str = "conllu", **more: str
) -> None:
    """Make a project with one document and open that."""
    new = page.get_by_role("form", name="New project")
    new.get_by_label("Name").fill(name)
    new.get_by_label("Task").select_option(task)
    for label, value in more.items():
        new.get_by_label(label).fill(value)
    new.get_by_role("button", name="Make it").click()
    importing = page.get_by_role("form", name="Import")
    importing.get_by_label("Name").fill("text")
    importing.get_by_label("Format").select_option(form)
    importing.get_by_label("Content").fill(text)
    importing.get_by_role("button", name="Import").click()
    page.get_by_role("link", name="text", exact=True).click()
    expect(page.locator(".bench h2")).to_contain_text("Sentence 1")


def saved(page: Any, version: int) -> None:
    """Wait until a version is stored."""
    expect(page.locator("#saved")).to_contain_text(
        re.compile(rf"version {version}\b|Taken|Brought")
    )


def no_findings(page: Any) -> None:
    """Nothing that keeps people out, as far as axe can see."""
    found = Axe().run(page)
    assert found.violations_count == 0, found.generate_report()


def intercept(page: Any, path: Any, handler: Any) -> None:
    """Route what the page asks for from now on.

    A page that is open learns of its first route a moment later than the call comes back; what
    it asks for in between would go to the service.
    """
    page.route(path, handler)
    page.route("**/api/health?routed", lambda route: route.fulfill(body="routed"))
    asked = "() => fetch('/api/health?routed').then((answer) => answer.text())"
    while page.evaluate(asked) != "routed":
        pass


class Held:
    """Answers of the service that wait until they are let go."""

    def __init__(self, page: Any, path: str) -> None:
        self.page = page
        self.path = re.compile(path)
        self.waiting: list[Any] = []
        self.free = False
        intercept(page, self.path, self.hold)

    def hold(self, route: Any) -> None:
        """Keep a question back."""
        if self.free:
            route.continue_()
        else:
            self.waiting.append(route)

    def let_go(self) -> None:
        """From now on there is no delay."""
        self.free = True
        for route in self.waiting:
            route.continue_()


def word(page: Any, number: int) -> Any:
    """A word of the row."""
    return page.locator(f'.word-row [data-word="{number}"]')


def tab_to(page: Any, wanted: Any) -> None:
    """Press Tab until this has the focus."""
    wanted.wait_for()
    for _ in range(200):
        if wanted.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the Tab key does not lead to {wanted}")


def history(page: Any, layer: str = "mine") -> list[dict[str, Any]]:
    """All decisions about the document that is open, as the service has them."""
    found = re.search(r"document=(\d+)", page.url)
    assert found is not None
    where = page.url.partition("/annotate")[0]
    answer = page.request.get(f"{where}/api/documents/{found[1]}/history?layer={layer}")
    return list(answer.json()["decisions"])
