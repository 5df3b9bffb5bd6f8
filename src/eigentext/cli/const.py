"""``eigentext const``: constituency parsing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.cli import const_inspect, const_train, options
from eigentext.cli.command import Given, with_settings
from eigentext.cli.output import Clock, progress_bar, remark, show_figures, skipped_count, skipping
from eigentext.cli.text_input import typed_sentences
from eigentext.constituency.settings import ParsingSettings

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.constituency import Parse
    from eigentext.trees.constituent import Tree

app = typer.Typer(no_args_is_help=True, help="Constituency parsing with latent-variable PCFGs.")
app.command("train")(const_train.train)
app.command("inspect")(const_inspect.inspect)


_COUNTED = ("fallback", "coarse", "relaxed", "negative", "split")  # flags of sentences

Model = Annotated[str, typer.Argument(help="A model written by `const train`.")]


@app.command("parse")
@with_settings(ParsingSettings)
def parse(
    model: Model,
    given: Given,
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
    newlines: options.Newlines = options.NewlinesName.auto,
    jobs: options.Jobs = 1,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Parse sentences: PTB brackets, one tree a line, or JSON Lines.

    An empty line in gives an empty line out. A sentence of more than --longest words is cut behind
    full stops, else commas, and its parts come under one node X. Decoder, pruning and --longest
    are those of the model unless told.

    Example:

        $ eigentext const train sample/train.mrg -o english.lpcfg --n-states 2

        $ eigentext const parse english.lpcfg sample/text.txt -o trees.mrg
    """
    import os
    from json import dumps

    from eigentext.base.files.opening import expand, numbered_lines
    from eigentext.base.files.writing import write_lines
    from eigentext.constituency import LPCFG

    clock = Clock()
    parser = LPCFG.load(model)
    parser.set_params(**given.settings(ParsingSettings))
    parser.check()
    as_json = format_ is options.ResultFormat.jsonl or marginals
    flags: dict[str, int] = {"sentences": 0, **dict.fromkeys(_COUNTED, 0)}

    sources = expand(files or ["-"])
    # how many there are is worth knowing only when it is known at once
    countable = not raw and all(os.path.isfile(source) for source in sources)
    counted = (numbered_lines(source, on_error=lambda _: None) for source in sources)
    total = sum(1 for lines in counted for _ in lines) if countable else 0

    def lines(log: SkipLog | None, update: Callable[[int, int, str], None]) -> Iterator[str]:
        typed = typed_sentences(
            sources, raw=raw, tokeniser=tokeniser, newlines=newlines.value, on_error=log
        )
        # as typed: the parser itself knows quotes by their other names
        sentences = ([token.typed for token in tokens] for tokens in typed)
        for answer in parser.parse_many(sentences, jobs=jobs, kbest=kbest, marginals=marginals):
            flags["sentences"] += 1
            update(flags["sentences"], total, "parsing")
            for flag in _COUNTED:
                flags[flag] += answer is not None and flag in answer.flags
            if as_json:
                yield dumps(_as_json(answer), ensure_ascii=False)
            elif answer is None:
                yield ""
            else:
                trees = [one.tree for one in answer.kbest] or [answer.tree]
                yield from map(_brackets, trees)

    with (
        skipping(on_error, quiet=quiet) as log,
        progress_bar(quiet=quiet, unit="sentences") as update,
    ):
        write_lines(output, lines(log, update))
    if flags["fallback"]:
        remark(f"{flags['fallback']} sentence(s) had no parse: a flat tree", quiet=quiet)
    if flags["coarse"]:
        remark(f"{flags['coarse']} sentence(s) were parsed by the plain PCFG alone", quiet=quiet)
    if flags["negative"]:
        remark(
            f"{flags['negative']} tree(s) have no log_prob: their score is not above zero",
            quiet=quiet,
        )
    if flags["split"]:
        remark(
            f"{flags['split']} sentence(s) of more than {parser.longest} words were parsed in "
            "pieces, with one node X over them",
            quiet=quiet,
        )
    if json:
        figures = {**flags, **clock.figures(sentences=flags["sentences"])}
        show_figures(figures, as_json=True, results_on_stdout=output == "-")


def _brackets(tree: Tree) -> str:
    """One line; what brackets cannot hold is escaped."""
    from eigentext.formats.ptb import escape

    return str(tree.with_words([escape(word) for word in tree.words]))


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if value > float("-inf") else None


def _as_json(answer: Parse | None) -> dict[str, Any]:
    if answer is None:
        return {"tokens": [], "tree": None}
    found: dict[str, Any] = {
        "tokens": list(answer.tree.words),
        "tree": _brackets(answer.tree),
        "log_score": _finite(answer.log_score),
        "log_prob": _finite(answer.log_prob),
        "flags": sorted(answer.flags),
    }
    if answer.kbest:
        found["kbest"] = [
            {
                "log_score": one.log_score,
                "log_prob": _finite(one.log_prob),
                "tree": _brackets(one.tree),
            }
            for one in answer.kbest
        ]
    if answer.marginals:
        found["marginals"] = [
            {"start": start, "end": end, "label": label, "posterior": round(p, 6)}
            for (start, end, label), p in sorted(answer.marginals.items())
        ]
    return found


@app.command("score")
def score(
    model: Model,
    trees: options.Sources,
    output: options.Output = "-",
    format_: options.Format = options.ResultFormat.native,
    on_error: options.SkipErrors = options.OnError.stop,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Log probability of trees together with their words, one a line.

    A tree with a rule or a tag that training never saw has log probability -inf (null in JSON), so
    has one that a model of the moments estimator gives a score below zero; it is counted, and left
    out of the total and of the perplexity.

    Example:

        $ eigentext const train sample/train.mrg -o english.lpcfg --n-states 2

        $ eigentext const score english.lpcfg sample/test.mrg -o scores.txt
    """
    from json import dumps
    from math import exp

    from eigentext.base.files.opening import expand
    from eigentext.base.files.writing import write_lines
    from eigentext.constituency import LPCFG
    from eigentext.formats.ptb import read_trees
    from eigentext.trees.clean import strip_traces

    parser = LPCFG.load(model)
    as_json = format_ is options.ResultFormat.jsonl
    total, n_trees, n_words, n_impossible = 0.0, 0, 0, 0

    def lines() -> Iterator[str]:
        nonlocal total, n_trees, n_words, n_impossible
        for source in expand(trees):
            for tree in read_trees(source, on_error=log):
                found = parser.log_prob(tree)
                spoken = strip_traces(tree)
                length = 0 if spoken is None else len(spoken)
                n_trees += 1
                if found > float("-inf"):
                    total += found
                    n_words += length
                else:
                    n_impossible += 1
                line = {"log_prob": _finite(found), "words": length}
                yield dumps(line) if as_json else f"{found:.6f}"

    with skipping(on_error, quiet=quiet) as log:
        write_lines(output, lines())
    if json or not quiet:
        figures = {
            "trees": n_trees,
            "words": n_words,
            "log_prob": total,
            "perplexity_per_word": exp(-total / n_words) if n_words else None,
            "impossible": n_impossible,
            "skipped": skipped_count(log),
        }
        show_figures(figures, as_json=json, results_on_stdout=output == "-")


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

    EVALB leaves out a sentence whose words do not match, most often because a word was taken for
    punctuation, and such a sentence does not count against the parser. "F1 with errors as misses"
    counts it: all its brackets are wrong. Predictions of other sentences are refused.

    Example:

        $ eigentext const eval sample/test.mrg sample/test.mrg
    """
    from eigentext.evaluate import evalb
    from eigentext.evaluate.tree_files import evaluate_files
    from eigentext.formats.prm import EvalbSettings, read_prm

    settings = EvalbSettings.collins() if prm is None else read_prm(prm)
    result = evaluate_files(gold, predicted, settings)
    if report:
        print(evalb.format_report(result), end="")
        return
    show_figures(result.all.as_dict(), as_json=json)
