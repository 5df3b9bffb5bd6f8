"""Draws docs/import-graph.svg: which room imports which, from the layers of the import contract.

    python docs/import_graph.py

Rooms stand on their layer, the higher ones above; an arrow's width is the number of imports.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from pathlib import Path

import grimp

from eigentext.base.files.opening import atomic_write
from eigentext.drawing.svg import escape, number, svg_document

ROOT = Path(__file__).parents[1]
WIDTH, STEP, BOX = 900.0, 64.0, (118.0, 30.0)


def layers() -> list[list[str]]:
    """The rooms of each layer, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    return [[room.strip() for room in layer.split("|")] for layer in contract["layers"]]


def edges() -> Counter[tuple[str, str]]:
    """How many modules of one room import modules of another."""
    graph = grimp.build_graph("eigentext")
    found: Counter[tuple[str, str]] = Counter()
    for module in graph.modules:
        for other in graph.find_modules_directly_imported_by(module):
            pair = tuple([*name.split("."), ""][1] for name in (module, other))
            if pair[0] != pair[1] and all(pair) and not {"errors", "version"} & {*pair}:
                found[pair[0], pair[1]] += 1
    return found


def draw() -> str:
    """The picture."""
    rows = layers()
    place = {
        room: (WIDTH * (i + 1) / (len(row) + 1) + (28 if n % 2 else -28), 30 + STEP * n)
        for n, row in enumerate(rows)
        for i, room in enumerate(row)
    }
    parts = []
    for (above, below), count in sorted(edges().items()):
        (x1, y1), (x2, y2) = place[above], place[below]
        bend = 0.25 * (y2 - y1) * (1 if (x1 + x2) / 2 >= WIDTH / 2 else -1)
        middle = f"{number((x1 + x2) / 2 + bend)} {number((y1 + y2) / 2)}"
        parts.append(
            f'<path d="M{number(x1)} {number(y1 + BOX[1] / 2)} Q{middle} '
            f'{number(x2)} {number(y2 - BOX[1] / 2)}" fill="none" stroke="#6b7f99" '
            f'stroke-opacity="0.45" stroke-width="{number(0.6 + math.log2(count))}">'
            f"<title>{above} imports {below}: {count}</title></path>"
        )
    for room, (x, y) in place.items():
        parts.append(
            f'<rect x="{number(x - BOX[0] / 2)}" y="{number(y - BOX[1] / 2)}" rx="5" '
            f'width="{number(BOX[0])}" height="{number(BOX[1])}" fill="#f4f1ea" stroke="#333"/>'
            f'<text x="{number(x)}" y="{number(y + 5)}" text-anchor="middle" font-size="15">'
            f"{escape(room)}</text>"
        )
    described = "; ".join(" | ".join(row) for row in rows)
    height = 60 + STEP * (len(rows) - 1)
    return svg_document(
        WIDTH, height, title="Imports go down only", description=described, parts=parts
    )


if __name__ == "__main__":
    with atomic_write(str(ROOT / "docs" / "import-graph.svg")) as out:
        out.write(draw().encode())
