"""Takes the pictures of docs/img/*.png: every page of a studio, once, as a browser shows it.

    eigentext studio --annotations NEW.db            # with the sample's models, in another window
    python docs/screenshots.py http://127.0.0.1:8000 [NAME ...]

It needs the extra ``test`` (playwright, and a Chromium on the path).  NAMEs are those of pictures;
without any, all are taken.  Projects are made in the store: give it a new one.
"""

from __future__ import annotations

import re
import shutil
import sys
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import expect, sync_playwright

from eigentext.base.files.writing import atomic_write

FOLDER = Path(__file__).parent / "img"
DESK, PHONE = {"width": 1100, "height": 800}, {"width": 360, "height": 740}
COLOURS = 128
SENTENCE = "The teacher saw the boy with the telescope."
TREES = """\
1\tThe\t_\tDET\tDT\t_\t2\tdet\t_\t_
2\tteacher\t_\tNOUN\tNN\t_\t3\tnsubj\t_\t_
3\tsaw\t_\tVERB\tVBD\t_\t0\troot\t_\t_
4\tthe\t_\tDET\tDT\t_\t5\tdet\t_\t_
5\tboy\t_\tNOUN\tNN\t_\t3\tobj\t_\t_
6\twith\t_\tADP\tIN\t_\t8\tcase\t_\t_
7\tthe\t_\tDET\tDT\t_\t8\tdet\t_\t_
8\ttelescope\t_\tNOUN\tNN\t_\t3\tobl\t_\t_
9\t.\t_\tPUNCT\t.\t_\t3\tpunct\t_\t_

1\tHe\t_\tPRON\tPRP\t_\t2\tnsubj\t_\t_
2\tslept\t_\tVERB\tVBD\t_\t0\troot\t_\t_
3\t.\t_\tPUNCT\t.\t_\t2\tpunct\t_\t_

"""
ARABIC = "كتب الولد رسالة إلى أمه. قرأت الأم الرسالة في البيت."
TEXT = f"{SENTENCE} He slept.\n\nShe wrote a long letter to her mother."


def settled(page: Any) -> None:
    """Wait until all is shown."""
    expect(page.locator("#results")).to_have_attribute("aria-busy", "false", timeout=60_000)
    expect(page.locator("#status")).not_to_have_text("Working …")
    expect(page.locator('[aria-busy="true"]')).to_have_count(0)
    expect(page.locator("[role=alert]:visible")).to_have_count(0)


class Pictures:
    """What is done before each picture is taken: `_words_map` is for words-map.png."""

    def __init__(self, page: Any, address: str) -> None:
        self.page, self.address = page, address

    def open(self, name: str, **asked: str) -> Any:
        """Open a page with what is asked in its address."""
        self.page.goto(f"{self.address}/{name}?{urlencode(asked)}")
        settled(self.page)
        return self.page

    def enter(self, name: str) -> None:
        """Open the page of annotation under a name."""
        self.page.goto(f"{self.address}/annotate")
        settled(self.page)
        if self.page.get_by_role("button", name="Another name").count():
            self.page.get_by_role("button", name="Another name").click()
            expect(self.page.locator("#who b")).to_have_count(0)
            settled(self.page)
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Name").press("Enter")
        expect(self.page.locator("#who b")).to_have_text(name)

    def project(
        self,
        name: str,
        task: str,
        text: str,
        kind: str = "text",
        more: dict[str, str] | None = None,
    ) -> Any:
        """A project with one document, which is opened; one that is there is opened again."""
        page = self.page
        self.enter("Ada")
        settled(page)
        there = page.get_by_role("link", name=name, exact=True)
        if not there.count():
            new = page.get_by_role("form", name="New project")
            new.get_by_label("Name").fill(name)
            new.get_by_label("Task").select_option(task)
            for label, value in (more or {}).items():
                new.get_by_label(label).fill(value)
            new.get_by_role("button", name="Make it").click()
            form = page.get_by_role("form", name="Import")
            form.get_by_label("Name").fill("A text")
            form.get_by_label("Format").select_option(kind)
            form.get_by_label("Content").fill(text)
            form.get_by_role("button", name="Import").click()
        else:
            there.click()
        page.get_by_role("link", name="A text", exact=True).click()
        expect(page.locator(".bench h2")).to_contain_text("Sentence")
        settled(page)
        return page

    # ---- pages about models

    def _studio_parse(self, *, wide: bool = True) -> None:
        self.page.set_viewport_size({"width": 1280, "height": 1000} if wide else PHONE)
        page = self.open("parse", text=SENTENCE)
        page.locator('.et-node[data-label="NP"][data-start="3"]').first.focus()
        page.keyboard.press("r")
        settled(page)

    def _studio_read(self) -> None:
        self.open("read", text=ARABIC).locator(".reading .word").first.click()

    def _studio_tools(self) -> None:
        self.open("tools")

    def _studio_docs(self) -> None:
        self.page.goto(f"{self.address}/docs")
        self.page.get_by_text("Try POST /api/tokenise").click()

    def _words_map(self) -> None:
        self.open("words", view="map", n="200")

    def _words_clusters(self) -> None:
        self.open("words", view="tree")

    def _words_compare(self) -> None:
        self.open("words", view="compare", word="list")

    def _sequences(self) -> None:
        self.open("sequences")

    # ---- annotation

    def _annotate_dependency(self) -> None:
        page = self.project("Trees", "dependency", TREES, "conllu")
        page.locator('.word-row [data-word="5"]').click()

    def _annotate_constituency(self) -> None:
        page = self.project("Constituents", "constituency", TEXT)
        page.locator('.word-row [data-word="3"]').click()
        for _ in range(4):
            page.keyboard.press("Shift+ArrowRight")

    def _annotate_readings(self) -> None:
        page = self.project("Readings", "lexical", ARABIC, more={"Language": "ar"})
        page.locator('.word-row [data-word="0"]').click()

    def _annotate_tags(self) -> None:
        page = self.project("Tags", "tags", TEXT)
        page.locator('.word-row [data-word="2"]').click()

    def _annotate_entities(self) -> None:
        text = "Grace met Ada Smith in Paris ."
        page = self.project("Names", "entities", text, more={"Labels to offer": "PER LOC ORG"})
        page.locator('.word-row [data-word="0"]').click()
        if not page.locator(".entities-found li").count():
            page.keyboard.press("1")
            expect(page.locator(".entities-found li")).to_have_count(1)
        page.locator('.word-row [data-word="2"]').click()
        page.keyboard.press("Shift+ArrowRight")

    def _annotate_segmentation(self) -> None:
        self.project("Cuts", "segmentation", TEXT)

    def _annotate_adjudication(self) -> None:
        page = self.project("Team", "dependency", TREES, "conllu")
        where = page.url.partition("&")[0]
        for name, word, keys in (("Ada", 5, "h←←←↵"), ("Grace", 7, "0")):
            self.enter(name)
            page.goto(f"{where}&sentence=0")
            settled(page)
            if "accepted" in page.locator(".bench h2").inner_text():
                continue
            page.locator(f'.word-row [data-word="{word}"]').click()
            for key in keys:
                page.keyboard.press({"←": "ArrowLeft", "↵": "Enter"}.get(key, key))
            expect(page.locator("#saved")).to_contain_text("Saved, version")
            page.keyboard.press("Enter")
            expect(page.locator("#progress")).to_contain_text("1 of 2")
        self.enter("Edith")
        page.goto(f"{where}&sentence=0&layer=adjudication")
        expect(page.locator(".voice").nth(1)).to_be_visible()
        page.set_viewport_size({**DESK, "height": 1060})

    def _annotate_dark(self) -> None:
        self.page.emulate_media(color_scheme="dark")
        self._annotate_dependency()

    # ---- small, dark, from right to left

    def _phone_parse(self) -> None:
        self._studio_parse(wide=False)

    def _phone_read_dark(self) -> None:
        self.page.set_viewport_size(PHONE)
        self.page.emulate_media(color_scheme="dark")
        self._studio_read()

    def _phone_annotate(self) -> None:
        self.page.set_viewport_size(PHONE)
        self._annotate_readings()
        self.page.locator(".bench").scroll_into_view_if_needed()


def picture(page: Any) -> bytes:
    """What the window shows, in few colours: a text with pictures of it should stay small."""
    whole = Image.open(BytesIO(page.screenshot(animations="disabled"))).convert("RGB")
    out = BytesIO()
    whole.quantize(COLOURS).save(out, "PNG", optimize=True)
    return out.getvalue()


def main(address: str, wanted: list[str]) -> None:
    """Take the pictures."""
    own = [name for name in vars(Pictures) if re.fullmatch("_[a-z][a-z_]*", name)]
    names = [name[1:].replace("_", "-") for name in own]
    unknown = set(wanted) - set(names)
    if unknown:
        raise SystemExit(f"no picture {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    path = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        for name in wanted or names:
            context = browser.new_context(viewport=DESK)
            page = context.new_page()
            pictures = Pictures(page, address.rstrip("/"))
            getattr(pictures, f"_{name.replace('-', '_')}")()
            page.evaluate("() => document.fonts.ready.then(() => null)")
            with atomic_write(str(FOLDER / f"{name}.png")) as file:
                file.write(picture(page))
            print(f"{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2:])
