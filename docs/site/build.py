"""Build the documentation site: plain files, which need no server and load nothing from elsewhere.

    python docs/site/build.py .build/site

1. The Markdown of `docs/` is laid out with the changelog and the like beside it; links between
   them are the same as on GitHub, less the folders.
2. Pages of the API and of the command line are made from the package that is installed.
3. Sphinx builds it, every warning an error, and every link is followed.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import site_commands
import site_links
import site_names
from site_pages import ROOT, SITE, lay_out


def build(target: Path, work: Path) -> list[str]:
    """Write the site; what is wrong with it comes back, a line each."""
    from sphinx.cmd.build import main as sphinx

    lay_out(work / "pages")
    site_names.write(work / "pages" / "reference" / "api")
    site_commands.write(work / "pages" / "reference" / "cli")
    shutil.rmtree(target, ignore_errors=True)
    arguments = ["-q", "-E", "-W", "--keep-going", "-n", "-b", "html", "-c", str(SITE)]
    arguments += ["-d", str(work / "doctrees"), str(work / "pages"), str(target)]
    if sphinx(arguments) != 0:
        return ["Sphinx gave warnings"]
    return site_links.faults(target)


def main() -> int:
    """Build into the folder named on the command line."""
    target = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / ".build" / "site").resolve()
    wrong = build(target, target.with_name(target.name + "-work"))
    print(*wrong, sep="\n", file=sys.stderr)
    if not wrong:
        print(f"{target / 'index.html'}: {len(list(target.rglob('*.html')))} pages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
