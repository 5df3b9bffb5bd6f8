"""Write the manifest of kernels: what every command compiles, src/eigentext/base/kernels.jsonl.

usage: python .ci/kernel_manifest.py            (minutes: every kernel is compiled)
       python .ci/kernel_manifest.py --check    whether it has what the commands call

The command lines below call between them every kernel that the commands call.  Each runs in a
process of its own that keeps its kernels in a folder made for this, and says which kernels it
called (they are read from the folder, or compiled) and compiled for others.  A line of the
manifest belongs to the commands that call its kernel, or a kernel that calls it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

#: Parts need nothing of each other.
PARTS = """
# dependency trees
convert sample/dev.mrg -o t.conllu
dep train t.conllu -o a.parser --epochs 1
dep apply a.parser t.conllu -o a.conllu --marginals
dep apply a.parser t.conllu -o k.conllu --kbest 2
dep eval a.parser t.conllu
dep train t.conllu -o b.parser --epochs 1 --order 1 --tags own
dep apply b.parser t.conllu -o b.conllu --marginals
dep apply b.parser t.conllu -o k.conllu --kbest 2

# pipelines
pipe train sample/treebank.conllu -o p.pipe --folds 2
pipe apply p.pipe sample/raw.txt -o p.conllu
pipe apply p.pipe sample/raw.txt -o p.jsonl --format jsonl --top 2
pipe eval p.pipe sample/treebank-dev.conllu
model make sample -o made

# latent trees and rerankers
convert sample/dev.mrg -o t.conllu
dep train-generative t.conllu -o g.parser --n-states 2
dep apply g.parser t.conllu -o g.conllu
dep train-generative t.conllu -o u.parser --unlabelled t.conllu --n-states 1
dep train-latent t.conllu -o l.latent --n-states 50 --n-iter 2
dep train t.conllu -o a.parser --epochs 1
dep train-reranker t.conllu --base a.parser --kbest 3 --experts generative,valence -o a.rerank
dep apply a.parser t.conllu --rerank a.rerank -o r.conllu

# constituents
const train sample/train.mrg -o a.lpcfg --n-states 4
const apply a.lpcfg sample/text.txt -o a.mrg
const apply a.lpcfg sample/text.txt -o k.mrg --kbest 3
const score a.lpcfg sample/test.mrg -o scores.txt
const eval sample/test.mrg sample/test.mrg
const eval a.lpcfg sample/test.mrg
lab train-bracketer sample/train.mrg -o a.bracketer
lab apply a.bracketer sample/test.mrg -o b.mrg

# sequences
hmm train sample/text.txt -o a.hmm --n-states 3
hmm eval a.hmm sample/text.txt --train sample/text.txt
hmm train-spectral sample/text.txt -o o.hmm --n-states 3
hmm score a.hmm sample/text.txt
hmm train-blocked sample/text.txt -o b.hmm --n-groups 5
hmm apply b.hmm sample/text.txt -o b.txt
hmm eval b.hmm sample/text.txt
hmm train-tagger sample/entities.bio -o l.model --n-states 2
hmm apply l.model sample/text.txt -o l.txt --kbest 2 --marginals

# words
words count sample/text.txt -o a.counts --contexts lr2
words cluster sample/text.txt -o a.clusters -m 10
words cluster sample/text.txt -o b.clusters -m 10 --method brown
words apply a.clusters sample/text.txt -o c.clusters
words embed sample/text.txt -o a.vec --n-components 10
words embed sample/text.txt -o l.vec --method lrmvl --n-components 4
words train-topics sample/text.txt -o a.topics -k 2 --documents 4

# readings
lex train sample/arabic.jsonl -o a.ranker --bits 16
lex apply a.ranker sample/arabic.txt -o a.jsonl
lex apply a.ranker sample/arabic.txt -o a.txt --format vocalised
lex eval a.ranker sample/arabic.jsonl
convert sample/dev.mrg -o t.conllu
lex train-analyzer t.conllu -o rules.eig
lex apply rules.eig sample/text.txt -o readings.tsv

# tags
tag train sample/entities.bio -o a.tagger --epochs 2
tag apply a.tagger sample/text.txt -o k.jsonl --kbest 2
tag apply a.tagger sample/entities.bio -o a.bio
tag eval a.tagger sample/entities.bio
"""


def parts() -> list[list[str]]:
    """The command lines of each part."""
    blocks = [block.splitlines() for block in PARTS.strip().split("\n\n")]
    return [[line for line in block if not line.startswith("#")] for block in blocks]


def record(output: str, line: list[str]) -> int:
    """Run a command and write which kernels it compiled, and which it called."""
    from numba.core import event
    from numba.core.types import Dispatcher

    from eigentext.base.ahead import spec_of
    from eigentext.base.compiling import KernelCache
    from eigentext.cli.main import run

    compiled: list[Any] = []  # kernel, types, their specs, what it calls with which types
    loaded: list[Any] = []  # what Python called, and its specs
    depth = 0

    def name_of(function: Any) -> str:
        return f"{function.__module__}:{function.__qualname__}"

    def specs_of(kinds: Any) -> list[Any] | None:
        try:
            return [spec_of(kind) for kind in kinds]
        except ValueError:  # literal types: compiled with the caller
            return None

    class Listener(event.Listener):
        def on_start(self, compile_event: Any) -> None:
            nonlocal depth
            depth += 1

        def on_end(self, compile_event: Any) -> None:
            nonlocal depth
            depth -= 1
            kernel, kinds = (compile_event.data[name] for name in ("dispatcher", "args"))
            name = name_of(kernel.py_func)
            if not name.startswith("eigentext.") or "<" in name or kinds not in kernel.overloads:
                return
            types = kernel.overloads[kinds].type_annotation
            called = [
                (name_of(types.typemap[call.func.name].dispatcher.py_func), str(signature.args))
                for call, signature in types.calltypes.items()
                if getattr(call, "op", "") == "call"
                and isinstance(types.typemap.get(call.func.name), Dispatcher)
            ]
            compiled.append([name, str(kinds), specs_of(kinds), called])

    def listening(self: Any, sig: Any, target_context: Any) -> Any:
        if depth == 0:
            loaded.append([name_of(self._function), str(sig), specs_of(sig)])
        return load(self, sig, target_context)

    load = KernelCache.load_overload
    KernelCache.load_overload = listening  # type: ignore[method-assign]
    listener = Listener()
    event.register("numba:compile", listener)
    errors = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(errors):
        code = run(line)
    event.unregister("numba:compile", listener)
    KernelCache.load_overload = load  # type: ignore[method-assign]
    if code:
        print(f"`eigentext {' '.join(line)}` failed: {errors.getvalue()}", file=sys.stderr)
    Path(output).write_text(json.dumps([compiled, loaded]), encoding="utf-8")
    return code


def manifest() -> list[list[Any]]:
    """The lines of the manifest: kernel, types, commands."""
    from eigentext.base.ahead import command_of
    from eigentext.datasets.sample import write_sample

    lines: dict[tuple[str, str], list[Any]] = {}  # of a kernel and types; callees come first
    callees: dict[tuple[str, str], list[tuple[str, str]]] = {}
    called: dict[str, set[tuple[str, str]]] = {}  # by command
    with tempfile.TemporaryDirectory(prefix="eigentext-") as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": f"{folder}/cache"}

        def run_part(number: int) -> None:
            work = Path(folder, str(number))
            write_sample(work)
            for line in parts()[number]:
                command = line.split()
                arguments = [sys.executable, __file__, "--record", f"{work}/calls", *command]
                subprocess.run(arguments, cwd=work, env=environment, check=True)
                compiled, loaded = json.loads(Path(work, "calls").read_text(encoding="utf-8"))
                for kernel, types, specs, calls in compiled:
                    callees[kernel, types] = [tuple(call) for call in calls]
                    if specs is not None:
                        lines.setdefault((kernel, types), [kernel, specs])
                kernels = called.setdefault(command_of(command), set())
                kernels.update((kernel, types) for kernel, types, _ in loaded)
                print(len(lines), line, file=sys.stderr)

        with ThreadPoolExecutor(len(parts())) as pool:
            list(pool.map(run_part, range(len(parts()))))
    for kernels in called.values():
        todo = list(kernels)
        while todo:
            more = set(callees.get(todo.pop(), ())) - kernels
            kernels |= more
            todo += more
    return [
        [*line, sorted(command for command, kernels in called.items() if key in kernels)]
        for key, line in lines.items()
    ]


def check() -> int:
    """Run all lines in this process, and say what of their calls the manifest lacks."""
    from eigentext.base.ahead import lines_of
    from eigentext.datasets.sample import write_sample

    calls: list[Any] = []
    with tempfile.TemporaryDirectory(prefix="eigentext-") as folder:
        for number, part in enumerate(parts()):
            write_sample(Path(folder, str(number)))
            os.chdir(Path(folder, str(number)))
            for line in part:
                if record(f"{folder}/calls", line.split()):
                    return 1
                compiled, loaded = json.loads(Path(folder, "calls").read_text(encoding="utf-8"))
                calls += [(kernel, specs) for kernel, _, specs, _ in compiled]
                calls += [(kernel, specs) for kernel, _, specs in loaded]
        os.chdir("/")
    has = {json.dumps([line.kernel, line.types]) for line in lines_of("")}
    needed = {json.dumps(call) for call in calls if call[1] is not None and "<" not in call[0]}
    for text in sorted(needed - has):
        print("not in the manifest:", text)
    return bool(needed - has)


def main() -> int:
    """Write the manifest, or record one command."""
    if sys.argv[1:2] == ["--record"]:
        return record(sys.argv[2], sys.argv[3:])
    if sys.argv[1:] == ["--check"]:
        return check()
    from eigentext.base.ahead import MANIFEST

    text = "".join(json.dumps(line) + "\n" for line in manifest())
    MANIFEST.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
