"""``eigentext const``: constituency parsing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from json import dumps
from math import exp
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.base.files.opening import SkipLog, expand, numbered_lines
from eigentext.base.files.writing import write_lines
from eigentext.cli import const_inspect, options
from eigentext.cli.command import SettingFlags, argument, flag, group, with_flags
from eigentext.cli.inputs import TextInput
from eigentext.cli.output import show_figures
from eigentext.cli.verbs import Applying, Training, Workers, answers_of
from eigentext.constituency.settings import LPCFGSettings, ParsingSettings
from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from eigentext.base.progress import Progress
    from eigentext.constituency import Parse
    from eigentext.constituency.learn.semi import FreeText
    from eigentext.features.word_classes import WordClasses
    from eigentext.language.trees.constituent import Tree


@with_flags(LPCFGSettings)
def train(
    trees: options.Sources,
    run: Training,
    settings: SettingFlags,
    dev: list[str] | None = flag("Trees to score the parser on."),
    search_states: bool = flag("Take the best --n-states on --dev.", False),
    clusters: str | None = flag("Brown paths file: classes of rare words."),
    vectors: str | None = flag("word2vec file: classes of rare words."),
    unlabelled: list[str] | None = flag("Sentences without trees, one a line, tokenised."),
    partial: list[str] | None = flag("Trees with some brackets; label X: any constituent."),
) -> None:
    """Train a parser on PTB-style trees.

    With --dev its F1 on those trees (EVALB's rules) is among the figures. Classes of words help
    most when trees are few; so do brackets without labels.

    Example:
        $ eigentext const train sample/train.mrg -o english.lpcfg --n-states 4
        $ eigentext const train sample/train.mrg -o auto.lpcfg --n-states auto --dev sample/dev.mrg
        $ eigentext const train sample/train.mrg -o more.lpcfg -k 2 --partial sample/dev.mrg
    """
    from eigentext.constituency import LPCFG
    from eigentext.constituency.learn.search import f1_on
    from eigentext.constituency.learn.search import search_states as search

    if search_states and (not dev or "n_states" in settings.values):
        raise SettingsError("--search-states needs --dev TREES to search on, and no --n-states")
    chosen = settings.of(LPCFGSettings)
    parser = LPCFG(**chosen)
    parser.check()
    sources = expand(trees)
    about: dict[str, Any] = {}
    with run.reading() as (log, progress):
        treebank = _trees(sources, log)
        more: dict[str, Any] = {
            "classes": _classes(clusters, vectors, log),
            "text": _text(unlabelled, partial, log, cut_tags=parser.cut_tags),
            "progress": progress,
        }
        held_out = _trees(expand(dev), log) if dev else []
        if search_states:
            parser, tried = search(
                lambda n_states: LPCFG(n_states=n_states, **chosen).fit(treebank, **more),
                held_out,
                progress=progress,
            )
            about["tried"] = {str(trial.n_states): round(trial.f1, 2) for trial in tried}
            about["n_states"] = parser.n_states
            about["dev_f1"] = max(trial.f1 for trial in tried)
        else:
            parser.fit(treebank, **more)
            if dev:
                about["dev_f1"] = f1_on(parser, held_out, progress=progress)
    if not run.json:
        for n_states, f1 in about.get("tried", {}).items():
            run.remark(f"--n-states {n_states}: F1 {f1:.2f} on dev")
    if parser.semi_ is not None:
        about["sentences_used"] = parser.semi_.n_used
        about["too_long"] = parser.semi_.n_long
        about["without_parse"] = parser.semi_.n_unparsed
    figures = {
        "trees": len(treebank),
        "nonterminals": len(parser.grammar_.labels),
        "rules": len(parser.grammar_.coarse.rules),
    }
    run.save(parser, sources, figures | about)


def _trees(sources: list[str], log: SkipLog | None) -> list[Tree]:
    """The trees of all files; none at all is an error."""
    from eigentext.language.formats.ptb import read_trees

    trees = [tree for source in sources for tree in read_trees(source, on_error=log)]
    if not trees:
        raise DataError(", ".join(sources), None, "no trees, expected at least one")
    return trees


def _classes(paths: str | None, vectors: str | None, log: SkipLog | None) -> WordClasses | None:
    """Classes of words from either file or both."""
    if paths is None and vectors is None:
        return None
    from eigentext.features.word_classes import WordClasses
    from eigentext.language.formats.brown_paths import read_paths
    from eigentext.language.formats.word2vec import load_vectors

    parts = []
    if paths is not None:
        parts.append(WordClasses.from_paths(read_paths(paths, on_error=log)))
    if vectors is not None:
        parts.append(WordClasses.from_vectors(*load_vectors(vectors, on_error=log)))
    return WordClasses.merged(parts)


def _text(
    unlabelled: list[str] | None, partial: list[str] | None, log: SkipLog | None, *, cut_tags: bool
) -> FreeText | None:
    """Sentences without trees and with some brackets."""
    if not unlabelled and not partial:
        return None
    from eigentext.constituency.learn.semi import FreeText, partial_brackets
    from eigentext.language.formats.ptb import read_trees
    from eigentext.language.formats.text import read_sentences

    return FreeText(
        [
            tokens
            for source in expand(unlabelled or [])
            for tokens in read_sentences(source, drop_empty=True, on_error=log)
        ],
        [
            partial_brackets(tree, cut_tags=cut_tags)
            for source in expand(partial or [])
            for tree in read_trees(source, on_error=log)
        ],
    )


_COUNTED = ("fallback", "coarse", "relaxed", "negative", "split")  # flags of sentences

Model = Annotated[str, typer.Argument(help="A model written by `const train`.")]


@with_flags(ParsingSettings, show_defaults=False)
def apply(
    model: Model,
    files: list[str] | None = argument("Text, one tokenised sentence a line; else stdin."),
    *,
    run: Applying,
    workers: Workers,
    text: TextInput,
    kbest: int = flag("How many trees of a sentence.", 1, min=1),
    marginals: bool = flag("Marginals of constituents (JSON Lines).", False),
    format_: options.Format = "native",
    settings: SettingFlags,
    jobs: options.Jobs = 1,
    device: options.Device = "cpu",
) -> None:
    """Parse sentences: PTB brackets, one tree a line, or JSON Lines.

    An empty line in gives an empty line out. A sentence of more than --longest words is cut behind
    full stops, else commas, and its parts come under one node. Decoder, pruning and --longest
    are those of the model unless told. A graphics card parses some thousand sentences at a time,
    with one model and for the best tree alone.

    Example:
        $ eigentext const train sample/train.mrg -o english.lpcfg --n-states 2
        $ eigentext const apply english.lpcfg sample/text.txt -o trees.mrg
    """
    from eigentext.constituency import LPCFG
    from eigentext.features.symbols import KnownWords, Share
    from eigentext.language.formats.records import kind_of

    parser = LPCFG.load(model)
    parser.set_params(**settings.of(ParsingSettings)).check()
    answers: dict[str, Any] = {"kbest": kbest, "marginals": marginals}
    why = parser.why_not_card(device, **answers)
    if device == "auto" and why is not None:
        run.remark(f"parsing on the processor: {why}")
    as_json = format_ == "jsonl" or marginals
    flags: dict[str, int] = {"sentences": 0, **dict.fromkeys(_COUNTED, 0)}

    sources = expand(files or ["-"])
    # how many there are is worth knowing only when it is known at once
    countable = not text.raw and all(
        os.path.isfile(source) and not kind_of(source, text.field) for source in sources
    )
    counted = (numbered_lines(source, on_error=lambda _: None) for source in sources)
    total = sum(1 for lines in counted for _ in lines) if countable else 0

    lexicon = parser.grammar_.lexicon
    vocabulary, share = KnownWords({word: lexicon.seen(word) for word in lexicon.words}), Share()

    def lines(log: SkipLog | None, progress: Progress) -> Iterator[str]:
        # as typed: the parser itself knows quotes by their other names
        def looked_up() -> Iterator[list[str]]:
            nonlocal share
            for tokens in text.typed(sources, log):
                typed = [token.typed for token in tokens]
                share = share.plus(vocabulary.share(typed))
                yield typed

        sentences = looked_up()
        for answer in parser.parse_many(sentences, jobs=jobs, device=device, **answers):
            flags["sentences"] += 1
            progress(flags["sentences"], total, "parsing")
            for name in _COUNTED:
                flags[name] += answer is not None and name in answer.flags
            if as_json:
                yield dumps(_answer_as_json(answer), ensure_ascii=False)
            elif answer is None:
                yield ""
            else:
                yield from map(str, [other.tree for other in answer.kbest] or [answer.tree])

    with run.reading("sentences") as (log, progress), workers.at_work(jobs):
        run.write(lines(log, progress))
    run.remark_on_unknown(share, vocabulary)
    for kind, remark in {
        "fallback": "sentence(s) had no parse: a tree of the best pieces",
        "coarse": "sentence(s) were parsed by the plain PCFG alone",
        "negative": "tree(s) have the plain PCFG's log_prob: the model's score is not above zero",
        "split": f"sentence(s) of more than {parser.longest} words were parsed in pieces",
    }.items():
        if flags[kind]:
            run.remark(f"{flags[kind]} {remark}")
    if run.json:
        rates = run.clock.figures(sentences=flags["sentences"])
        run.tell({**flags, "skipped": run.skipped, **rates})


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return value if value > float("-inf") else None


def _answer_as_json(answer: Parse | None) -> dict[str, object]:
    if answer is None:
        return {"tokens": [], "tree": None}
    record: dict[str, object] = {
        "tokens": list(answer.tree.words),
        "tree": str(answer.tree),
        "log_score": _finite(answer.log_score),
        "log_prob": _finite(answer.log_prob),
        "flags": sorted(answer.flags),
    }
    if answer.kbest:
        names = ("log_score", "log_prob", "tree")
        parses = ((o.log_score, _finite(o.log_prob), str(o.tree)) for o in answer.kbest)
        record["kbest"] = [dict(zip(names, parse, strict=True)) for parse in parses]
    if answer.marginals:
        record["marginals"] = [
            {"start": start, "end": end, "label": label, "marginal": round(p, 6)}
            for (start, end, label), p in sorted(answer.marginals.items())
        ]
    return record


@with_flags()
def score(
    model: Model, trees: options.Sources, run: Applying, format_: options.Format = "native"
) -> None:
    """Log probability of trees together with their words, one a line.

    A tree with a rule or a tag that training never saw has log probability -inf (null in JSON), so
    has one that a model of the moments estimator gives a score below zero; it is counted, and left
    out of the total and of the perplexity.

    Example:
        $ eigentext const train sample/train.mrg -o english.lpcfg --n-states 2
        $ eigentext const score english.lpcfg sample/test.mrg -o scores.txt
    """
    from eigentext.constituency import LPCFG
    from eigentext.language.formats.ptb import read_trees
    from eigentext.language.trees.clean import strip_traces

    parser = LPCFG.load(model)
    with run.reading("trees") as (log, _):
        read = (tree for source in expand(trees) for tree in read_trees(source, on_error=log))
        scores = ((parser.log_prob(tree), len(strip_traces(tree) or ())) for tree in read)
        figures = run.write_scores("log_prob", scores, format_)
    n_words = figures["words"]
    figures["perplexity_per_word"] = exp(-figures["log_prob"] / n_words) if n_words else None
    run.tell({**figures, "skipped": run.skipped})


@with_flags()
def eval_(
    model: options.ModelOrAnswers,
    gold: Annotated[str, typer.Argument(help="Gold trees; answers are in the same order.")],
    prm: str | None = flag("EVALB parameter file; else COLLINS rules."),
    report: bool = flag("The full report, sentence by sentence.", False),
    jobs: options.Jobs = 1,
    json: options.Json = False,
) -> None:
    """Score a parser, or the trees of any system, by EVALB's rules.

    EVALB leaves out a sentence whose words do not match, most often because a word was taken for
    punctuation, and such a sentence does not count against the parser. "F1 with errors as misses"
    counts it: all its brackets are wrong. Predictions of other sentences are refused.

    Example:
        $ eigentext const train sample/train.mrg -o english.lpcfg --n-states 2
        $ eigentext const eval english.lpcfg sample/test.mrg
        $ eigentext const eval sample/test.mrg sample/test.mrg
    """
    from eigentext.evaluate.parseval import format_report
    from eigentext.evaluate.tree_files import evaluate_files
    from eigentext.language.formats.prm import EvalbSettings, read_prm

    settings = EvalbSettings.collins() if prm is None else read_prm(prm)
    with answers_of(model, gold, _parse_again, jobs=jobs) as (predicted, _):
        result = evaluate_files(gold, predicted, settings)
    if report:
        print(format_report(result), end="")
        return
    show_figures(result.all.as_dict(), as_json=json)


def _parse_again(*, files: list[str], output: str, **choices: object) -> None:
    """New trees for the words of trees."""
    from eigentext.language.formats.ptb import read_trees
    from eigentext.language.trees.clean import strip_traces

    text = f"{output}.txt"
    spoken = (strip_traces(tree) for source in files for tree in read_trees(source))
    write_lines(text, (" ".join(tree.words if tree else ()) for tree in spoken))
    apply(files=[text], output=output, **choices)


app = group(train, apply, score, eval_, const_inspect.inspect)
