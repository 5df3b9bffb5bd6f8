"""The linters of the pages' JavaScript: exact versions, and no registry by name."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_linters_have_exact_versions_and_no_lock_names_a_registry() -> None:
    package = json.loads((ROOT / "package.json").read_text("utf-8"))
    assert package["private"] is True
    assert "dependencies" not in package, "pages load nothing of others"
    assert {"eslint", "typescript"} <= package["devDependencies"].keys()
    for name, version in package["devDependencies"].items():
        assert re.fullmatch(r"\d+\.\d+\.\d+", version), name
    assert not (ROOT / "package-lock.json").exists()


def test_types_are_checked_in_every_page() -> None:
    settings = json.loads((ROOT / "jsconfig.json").read_text("utf-8"))
    assert settings["compilerOptions"]["checkJs"] is True
    assert settings["include"] == ["src/eigentext/studio/pages/static/**/*.js"]
    for path in (ROOT / "src" / "eigentext" / "studio" / "pages" / "static").rglob("*.js"):
        assert "@ts-nocheck" not in path.read_text("utf-8"), path
