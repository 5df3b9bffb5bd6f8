"""``eigentext const``: constituency parsing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import options
from eigentext.cli.output import progress_bar, remark, show_figures, skipped_count, skipping

if TYPE_CHECKING:
    from eigentext.constituency import Parse
    from eigentext.trees.constituent import Tree

app = typer.Typer(no_args_is_help=True, help="Constituency parsing with latent-variable PCFGs.")


@app.command("train")
def train(
    trees: options.Sources,
    output: options.ModelOutput,
    states: Annotated[
        int, typer.Option("--states", min=1, max=64, help="Most latent states of a nonterminal.")
    ] = 16,
    ensemble: Annotated[
        int, typer.Option("--ensemble", min=1, help="So many models, trained with noise.")
    ] = 1,
    em: Annotated[int, typer.Option("--em", min=0, help="EM iterations after clustering.")] = 0,
    heads: Annotated[
        str, typer.Option("--heads", help="Head rules: english, neutral.")
    ] = "english",
    language: Annotated[
        str, typer.Option("--language", help="Signatures of unknown words: english, generic.")
    ] = "english",
    seed: options.Seed = 0,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Train a parser on PTB-style trees.

    Example:

        $ eigentext const train sample/train.mrg -o english.lpcfg --states 4
    """
    import time

    from eigentext.constituency import LPCFG
    from eigentext.constituency.grammar import GrammarSettings
    from eigentext.errors import SettingsError
    from eigentext.formats.opening import expand
    from eigentext.formats.ptb import read_trees

    if heads not in ("english", "neutral"):
        raise SettingsError(f"--heads must be english or neutral, not {heads!r}")
    if language not in ("english", "generic"):
        raise SettingsError(f"--language must be english or generic, not {language!r}")
    began = time.process_time()
    parser = LPCFG(
        states=states,
        ensemble=ensemble,
        em=em,
        seed=seed,
        grammar=GrammarSettings(heads=heads, language=language),  # type: ignore[arg-type]
    )
    sources = expand(trees)
    with skipping(on_error, quiet=quiet) as log, progress_bar(quiet=quiet) as update:
        read = [tree for source in sources for tree in read_trees(source, on_error=log)]
        parser.fit(read, progress=update)
    parser.save(output, data={"files": sources})
    if json or not quiet:
        figures = {
            "trees": len(read),
            "skipped": skipped_count(log),
            "nonterminals": len(parser.labels_),
            "rules": len(parser.coarse_.rules),
            "cpu_seconds": round(time.process_time() - began, 2),
        }
        show_figures(figures, as_json=json)


@app.command("parse")
def parse(
    model: Annotated[str, typer.Argument(help="A model written by `const train`.")],
    files: Annotated[
        list[str] | None, typer.Argument(help="Text, one tokenised sentence a line; else stdin.")
    ] = None,
    output: options.Output = "-",
    kbest: Annotated[int, typer.Option("--kbest", min=1, help="So many trees a sentence.")] = 1,
    marginals: Annotated[
        bool, typer.Option("--marginals", help="Posteriors of constituents (JSON Lines).")
    ] = False,
    format_: options.Format = options.ResultFormat.native,
    raw: options.Raw = False,
    tokeniser: options.Tokeniser = "ptb",
    jobs: options.Jobs = 1,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Parse sentences: PTB brackets, one tree a line, or JSON Lines.

    An empty line in gives an empty line out.

    Example:

        $ eigentext const train sample/train.mrg -o english.lpcfg --states 2

        $ eigentext const parse english.lpcfg sample/text.txt -o trees.mrg
    """
    import time
    from json import dumps

    from eigentext.constituency import LPCFG
    from eigentext.constituency.batch import parse_many
    from eigentext.formats.writing import write_lines

    began = time.perf_counter()
    parser = LPCFG.load(model)
    as_json = format_ is options.ResultFormat.jsonl or marginals
    flags: dict[str, int] = {"sentences": 0, "fallback": 0, "relaxed": 0}

    def lines() -> Iterator[str]:
        sentences = _sentences(files or ["-"], raw, tokeniser)
        found = parse_many(parser, sentences, jobs=jobs, kbest=kbest, marginals=marginals)
        for tokens, answer in found:
            flags["sentences"] += 1
            for flag in ("fallback", "relaxed"):
                flags[flag] += answer is not None and flag in answer.flags
            if as_json:
                yield dumps(_as_json(tokens, answer), ensure_ascii=False)
            elif answer is None:
                yield ""
            else:
                trees = [one.tree for one in answer.kbest] or [answer.tree]
                yield from map(_brackets, trees)

    write_lines(output, lines())
    if flags["fallback"]:
        remark(f"{flags['fallback']} sentence(s) had no parse: a flat tree", quiet=quiet)
    if json:
        seconds = time.perf_counter() - began
        rate = round(flags["sentences"] / seconds, 2)
        figures = {**flags, "seconds": round(seconds, 2), "sentences_per_second": rate}
        show_figures(figures, as_json=True, results_on_stdout=output == "-")


def _sentences(files: list[str], raw: bool, tokeniser: str) -> Iterator[list[str]]:
    from eigentext.corpus.raw_text import read_tokenised
    from eigentext.formats.opening import expand
    from eigentext.formats.text import read_sentences

    for source in expand(files):
        found = read_tokenised(source, tokeniser) if raw else read_sentences(source)
        yield from found


def _brackets(tree: Tree) -> str:
    """One line; what brackets cannot hold is escaped."""
    from eigentext.formats.ptb import escape

    return str(tree.with_words([escape(word) for word in tree.words]))


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if value > float("-inf") else None


def _as_json(tokens: list[str], answer: Parse | None) -> dict[str, Any]:
    if answer is None:
        return {"tokens": tokens, "tree": None}
    found: dict[str, Any] = {
        "tokens": tokens,
        "tree": _brackets(answer.tree),
        "log_score": _finite(answer.log_score),
        "log_p": _finite(answer.log_p),
        "flags": sorted(answer.flags),
    }
    if answer.kbest:
        found["kbest"] = [
            {"log_score": one.log_score, "log_p": one.log_p, "tree": _brackets(one.tree)}
            for one in answer.kbest
        ]
    if answer.marginals:
        found["marginals"] = [
            {"start": start, "end": end, "label": label, "posterior": round(p, 6)}
            for (start, end, label), p in sorted(answer.marginals.items())
        ]
    return found


@app.command("eval")
def eval_(
    gold: Annotated[str, typer.Argument(help="Gold trees.")],
    predicted: Annotated[str, typer.Argument(help="Predicted trees, in the same order.")],
    prm: Annotated[
        str | None, typer.Option("--prm", help="EVALB parameter file; else COLLINS rules.")
    ] = None,
    report: Annotated[
        bool, typer.Option("--report", help="The full report, sentence by sentence.")
    ] = False,
    json: options.Json = False,
) -> None:
    """Score predicted trees by EVALB's rules.

    Example:

        $ eigentext const eval sample/test.mrg sample/test.mrg
    """
    from eigentext.evaluate import evalb, parseval
    from eigentext.formats.opening import numbered_lines
    from eigentext.formats.prm import EvalbSettings, read_prm
    from eigentext.formats.ptb import read_trees

    settings = EvalbSettings.collins() if prm is None else read_prm(prm)
    found = (parseval.parse_prediction(line) for _, line in numbered_lines(predicted))
    result = parseval.evaluate(read_trees(gold), found, settings)
    if report:
        print(evalb.format_report(result), end="")
        return
    show_figures(result.all.as_dict(), as_json=json)
