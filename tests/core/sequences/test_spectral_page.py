"""The example of docs/reference/spectral-hmm.md runs and prints what the page says."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "spectral-hmm.md"


def test_the_example_of_the_page(capsys):
    text = PAGE.read_text("utf-8")
    code = re.search(r"## An example\n\n(.*?)\nIt prints", text, re.DOTALL)
    assert code is not None
    exec(textwrap.dedent(code[1]), {})
    out = capsys.readouterr().out.splitlines()
    values = [float(line.split()[1]) for line in out]
    assert len(values) == 3
    assert max(values) - min(values) < 0.01
    assert out[0].endswith("not positive 0.0")
