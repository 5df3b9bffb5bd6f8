"""How many files of eigentext a command runs through, and how many functions.

    python benchmarks/trace_files.py [--list] pipe apply english.pipe raw.txt -o parsed.conllu

A file counts if one of its functions, or of its compiled kernels, is called from Python once
modules are imported, in any thread; what other processes and compiled code call is not seen.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import eigentext
from eigentext.cli.main import run

if TYPE_CHECKING:
    from types import CodeType, FrameType

HOME = str(Path(eigentext.__file__).parent)
called: set[CodeType] = set()


def _importing(frame: FrameType | None) -> bool:
    """Is a module of ours being imported, whose declarations call functions?"""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(HOME):
            return True
        frame = frame.f_back
    return False


def _note(frame: FrameType, event: str, _argument: object) -> None:
    code = frame.f_code
    is_new = event == "call" and code not in called and code.co_filename.startswith(HOME)
    if is_new and not _importing(frame):
        called.add(code)


threading.setprofile(_note)
sys.setprofile(_note)
command = [word for word in sys.argv[1:] if word != "--list"]
status = run(command)
sys.setprofile(None)
files = {code.co_filename for code in called}
if "--list" in sys.argv:
    print(*sorted(str(Path(file).relative_to(HOME)) for file in files), sep="\n")
functions = [code for code in called if not code.co_name.startswith("<")]  # no comprehensions
print(f"{len(files)} files, {len(functions)} functions")
raise SystemExit(status)
