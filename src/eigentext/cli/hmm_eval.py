"""``eigentext hmm score``, ``eval`` and ``inspect``: probabilities, and what models know."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from json import dumps
from math import isfinite
from typing import TYPE_CHECKING, Annotated, Any

import typer

from eigentext.base.files.opening import expand
from eigentext.cli import options
from eigentext.cli.command import Flags, flag, with_flags
from eigentext.cli.inputs import TaggedInput, TextInput, kind_of_model, load_model
from eigentext.cli.output import Clock, check_picture, show_figures, write_picture
from eigentext.cli.verbs import Run
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.registry import format_of

if TYPE_CHECKING:
    from eigentext.base.types import Json
    from eigentext.sequences.hmm.model import HMM

TEXT_KINDS = ("hmm", "spectral-hmm", "blocked-hmm")  # models of text without tags
Model = Annotated[str, typer.Argument(help="A model of `hmm train` or its kin.")]
_AT_ONCE = 20_000  # sentences that are scored together


@with_flags()
def score(
    model: Model,
    files: options.Sources,
    run: Run,
    text: TextInput,
    surprisals: bool = flag("A line for each token: its surprisal, in nats.", False),
    summary: bool = flag("The figures alone.", False),
    format_: options.Format = "native",
) -> None:
    """Print log probability and perplexity of every sentence, or the surprisal of every token.

    Natural logarithms; a sentence has no end symbol, so its probability is that of all that begins
    so.  Figures of the whole text go to stderr, or with --summary to stdout.

    Example:
        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5
        $ eigentext hmm score text.hmm sample/text.txt
        $ eigentext hmm score text.hmm sample/text.txt --surprisals --format jsonl --quiet
        $ eigentext hmm score text.hmm sample/text.txt --summary --json
    """
    from eigentext.sequences.inspection import perplexity

    hmm = load_model(model, *TEXT_KINDS)
    total, n_tokens, n_sentences, n_negative = 0.0, 0, 0, 0.0
    with run.reading() as (log, _):
        lines = text.typed(files, log)
        while block := list(islice(lines, _AT_ONCE)):
            values = hmm.surprisals([[token.text for token in tokens] for tokens in block])
            n_negative += getattr(hmm, "negative_rate_", 0.0) * sum(map(len, block))
            for sentence, nats in zip(block, values, strict=True):
                total, n_tokens = total - float(nats.sum()), n_tokens + len(nats)
                n_sentences += 1
                if not summary:
                    typed = [token.typed for token in sentence]
                    _print_scored(typed, nats.tolist(), surprisals, format_)
    figures = {
        "sentences": n_sentences,
        "tokens": n_tokens,
        "log_prob": total,
        "perplexity": perplexity(total, n_tokens),
        "skipped": run.skipped,
    }
    if hasattr(hmm, "negative_rate_"):
        figures["negative_rate"] = n_negative / max(n_tokens, 1)
    if run.json or summary or not run.quiet:
        show_figures(figures, as_json=run.json, results_on_stdout=not summary)


def _print_scored(
    sentence: list[str], values: list[float], surprisals: bool, format_: str
) -> None:
    from eigentext.sequences.inspection import perplexity

    value = 0.0 - sum(values)
    if format_ == "jsonl":
        record: Json = {"log_prob": value if isfinite(value) else None}
        record["perplexity"] = perplexity(value, len(values))
        record["tokens"] = sentence
        if surprisals:
            record["surprisals"] = [nats if isfinite(nats) else None for nats in values]
        print(dumps(record, ensure_ascii=False))
    elif surprisals:
        for token, nats in zip(sentence, values, strict=True):
            print(f"{token}\t{nats:.4f}")
        print()
    else:
        branches = perplexity(value, len(values))
        shown = "-" if branches is None else f"{branches:.2f}"
        print(f"{value:.4f}\t{shown}\t{' '.join(sentence)}")


@with_flags()
def eval_(
    model: Model,
    files: options.Sources,
    text: TextInput,
    tagged: TaggedInput,
    train: list[str] | None = flag("Text of training: adds Kneser-Ney bigrams and trigrams."),
    tags: bool = flag("Input has tags: how far do the states agree with them?", False),
    json: options.Json = False,
) -> None:
    """Perplexity of held-out text, beside a unigram and Kneser-Ney n-grams of the same symbols.

    Of operators it also shows the negative rate: the share of tokens for which they had no
    positive value, so that the unigram had to speak.  Of a latent tagger: the
    accuracy on tagged text.  With --tags the states of a model without tags are compared with the
    tags of the input: many_to_one is the share of tokens that are right when each state stands
    for its most frequent tag, v_measure the harmonic mean of homogeneity and completeness.

    Example:
        $ eigentext hmm train-spectral sample/text.txt -o text.hmm --n-states 5
        $ eigentext hmm eval text.hmm sample/text.txt --train sample/text.txt
        $ eigentext hmm train-tagger sample/entities.bio -o latent.model --n-states 4
        $ eigentext hmm eval latent.model sample/entities.bio
        $ eigentext hmm train sample/text.txt -o anchor.hmm --estimator anchor --n-states 5
        $ eigentext hmm eval anchor.hmm sample/entities.bio --tags
    """
    import numpy as np

    from eigentext.sequences.inspection import (
        kneser_ney_surprisals,
        kneser_ney_trigram_surprisals,
        perplexity,
    )

    kind = kind_of_model(model, *TEXT_KINDS, "latent-tagger")
    if kind == "latent-tagger" or tags:
        text.refuse("is for text without tags")
        if kind == "latent-tagger" and (train or tags):
            name = "--train" if train else "--tags"
            raise SettingsError(f"{name} is for models of text without tags")
        if train:
            raise SettingsError("--train and --tags: expected one of them")
        score_tags = _eval_states if tags else _eval_tagged
        score_tags(model, files, tagged, json=json)
        return
    tagged.refuse("is for text with tags")
    clock = Clock()
    hmm = load_model(model, kind)
    symbols = hmm.symbols_
    data = symbols.encode(text.sentences(files))
    if not data.n_tokens:
        raise DataError(files[0], None, "no tokens, expected text")
    surprisals = hmm.surprisals_encoded(data)
    figures: Json = {
        "sentences": len(data),
        "tokens": data.n_tokens,
        "perplexity": perplexity(-surprisals.sum(), data.n_tokens),
        "unigram": perplexity(np.log(symbols.unigram()[data.ids]).sum(), data.n_tokens),
    }
    if train:
        learned = symbols.encode(text.sentences(train))
        bigrams = kneser_ney_surprisals(learned, data, len(symbols))
        trigrams = kneser_ney_trigram_surprisals(learned, data, len(symbols))
        figures["kneser_ney_bigram"] = perplexity(-bigrams.sum(), data.n_tokens)
        figures["kneser_ney_trigram"] = perplexity(-trigrams.sum(), data.n_tokens)
    if hasattr(hmm, "negative_rate_"):
        figures["negative_rate"] = hmm.negative_rate_
    show_figures(figures | clock.figures(), as_json=json)


def _eval_tagged(model: str, files: list[str], tagged: TaggedInput, *, json: bool = False) -> None:
    """Accuracy of a latent tagger on tagged text: all, known and unknown words, tag by tag."""
    from eigentext.sequences.tagger.evaluation import evaluate_tagger
    from eigentext.sequences.tagger.model import LatentTagger

    clock = Clock()
    tagger = LatentTagger.load(model)
    tokens, tags, _ = tagged.tagged(expand(files), scheme="plain")
    report = evaluate_tagger(tagger.stream, tagger.words_.knows, tokens, tags)
    figures: Json = {
        "tokens": report.n_tokens,
        "accuracy": round(report.accuracy, 2),
        "known": round(report.known, 2) if report.n_unknown < report.n_tokens else None,
        "unknown": round(report.unknown, 2) if report.n_unknown else None,
        "unknown_tokens": report.n_unknown,
        **clock.figures(),
    }
    if json:
        figures["tags"] = {
            score.type: {
                "gold": score.gold,
                "precision": round(score.precision, 2),
                "recall": round(score.recall, 2),
                "f1": round(score.f1, 2),
            }
            for score in report.tags
        }
    else:
        figures.update({f"f1 {score.type}": round(score.f1, 2) for score in report.tags})
    show_figures(figures, as_json=json)


def _eval_states(model: str, files: list[str], tagged: TaggedInput, *, json: bool = False) -> None:
    """How far the best path of states of a model without tags agrees with the tags of a text."""
    import numpy as np

    from eigentext.evaluate.clustering import contingency, many_to_one, v_measure
    from eigentext.sequences.hmm.model import HMM

    clock = Clock()
    hmm = HMM.load(model)
    tokens, tags, _ = tagged.tagged(expand(files), scheme="plain")
    flat = [tag for sentence in tags for tag in sentence]
    if not flat:
        raise DataError(files[0], None, "no tokens, expected text with tags")
    table = contingency(np.concatenate(hmm.predict(tokens)), flat)
    figures = {
        "tokens": len(flat),
        "n_states": hmm.n_states,
        "tags": table.shape[1],
        "many_to_one": round(100 * many_to_one(table), 2),
        "v_measure": round(100 * v_measure(table), 2),
        **clock.figures(),
    }
    show_figures(figures, as_json=json)


@dataclass(kw_only=True)
class SpectrumFlags(Flags):
    """How the singular values of a text are taken."""

    most: int = flag("Of a text: how many singular values.", 50, min=2)
    vocab_size: int = flag("Of a text: how many words, the most frequent.", 10_000, min=1)


@with_flags()
def inspect(
    source: Annotated[str, typer.Argument(help="A model of `hmm train`, or text (.txt).")],
    top: int = flag("How many words and next states.", 8, min=1),
    state: int | None = flag("This state alone."),
    graph: str | None = flag("Draw the transitions of a model: FILE.svg.", written=True),
    plot: str | None = flag("Draw the singular values: FILE.svg or FILE.png.", written=True),
    sample: int | None = flag("Print so many sequences drawn from the model.", min=0),
    length: int = flag("Tokens of each of them.", 20, min=0),
    *,
    spectrum: SpectrumFlags,
    seed: options.Seed = 0,
    json: options.Json = False,
) -> None:
    """Show a model's states with their words, draw from it, or show the spectrum of a text.

    Of a model with parameters: for each state its share, words and next states.  Of operators:
    their singular values.  Of a text: its singular values beside those of the same tokens in
    random order; as many as lie above chance are the suggested number of states.  In sequences
    that are drawn (--sample) rare words show as classes such as <lower-ing>.

    Example:
        $ eigentext hmm inspect sample/text.txt --plot spectrum.svg
        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5
        $ eigentext hmm inspect text.hmm --top 4 --graph states.svg
        $ eigentext hmm inspect text.hmm --sample 3 --length 10
    """
    if graph is not None and not graph.endswith(".svg"):
        raise SettingsError(f"the graph is written as .svg, not {graph!r}")
    if plot is not None:
        from eigentext.drawing.plots import require_matplotlib

        check_picture(plot, "--plot")
        require_matplotlib()  # before any work is done
    if _is_text(source):
        if graph is not None or state is not None:
            raise SettingsError("--graph and --state are for models with parameters")
        if sample is not None:
            raise SettingsError("--sample is for a model, not for a text")
        _show_text(source, spectrum, seed, plot, json)
        return
    spectrum.refuse("is for a text, not for a model")
    from eigentext.sequences import HMM, BlockedHMM

    model: Any = load_model(source, *TEXT_KINDS)
    if sample is not None:
        for tokens in model.sample(sample, length, seed=seed):
            print(" ".join(tokens))
        return
    if isinstance(model, BlockedHMM):
        raise SettingsError(
            "a blocked model has too many states to show; `hmm apply` gives those of a text"
        )
    if isinstance(model, HMM):
        if plot is not None:
            raise SettingsError("--plot draws singular values: of a text, or of operators")
        _show_states(model, top, state, graph, json)
        return
    if graph is not None or state is not None:
        raise SettingsError(
            "--graph and --state are for models with parameters; this one has operators"
        )
    values = model.singular_values_.tolist()
    if plot is not None:
        _draw_values(plot, {"model": values}, f"{model.settings_.estimator} operators")
    if json:
        print(dumps({"estimator": model.settings_.estimator, "singular_values": values}))
        return
    print(f"{model.settings_.estimator} operators, {len(values)} dimensions")
    for rank, value in enumerate(values, start=1):
        print(f"{rank:4d}  {value:.4g}")


def _is_text(source: str) -> bool:
    """By its name; whatever is called otherwise is a model, or says that it is none."""
    return source == "-" or bool(format_of(source, ("tokens",), ""))


def _show_states(model: HMM, top: int, state: int | None, graph: str | None, json: bool) -> None:
    from eigentext.sequences.inspection import states_of

    views = states_of(model.parameters_, model.symbols_, top=top)
    if graph is not None:
        from eigentext.sequences.inspection import graph_of

        title = f"{model.parameters_.n_states} states"
        write_picture(graph, graph_of(model.parameters_, model.symbols_, title=title))
    if state is not None:
        views = [view for view in views if view.state == state]
        if not views:
            raise SettingsError(
                f"no state {state} in this model: expected 0 to {model.parameters_.n_states - 1}"
            )
    if json:
        print(dumps({"states": [view._asdict() for view in views]}, ensure_ascii=False))
        return
    for view in views:
        words = ", ".join(f"{name} ({p:.2f})" for name, p in view.words)
        after = ", ".join(f"{number} ({p:.2f})" for number, p in view.after)
        print(f"state {view.state}  {view.share:.4f} of all tokens")
        print(f"    words: {words}\n    then: {after}")


def _show_text(source: str, flags: SpectrumFlags, seed: int, plot: str | None, json: bool) -> None:
    from eigentext.sequences import Symbols
    from eigentext.sequences.inspection import spectrum_of

    bank = list(TextInput().sentences([source]))
    if not any(bank):
        raise DataError(source, None, "no tokens, expected text")
    symbols = Symbols.fit(bank, vocab_size=flags.vocab_size, min_count=2)
    spectrum = spectrum_of(symbols.encode(bank), len(symbols), most=flags.most, seed=seed)
    at_least = "at least " if spectrum.suggested >= len(spectrum.values) else ""
    if plot is not None:
        title = f"suggested: {at_least}{spectrum.suggested} states"
        _draw_values(plot, {"text": spectrum.values, "shuffled": spectrum.shuffled}, title)
    if json:
        print(dumps(spectrum._asdict()))
        return
    print("rank  text    shuffled")
    for rank, value in enumerate(spectrum.values, start=1):
        chance = f"{spectrum.shuffled[rank - 1]:.4f}" if rank <= len(spectrum.shuffled) else "-"
        print(f"{rank:4d}  {value:.4f}  {chance}")
    print(f"suggested number of states: {at_least}{spectrum.suggested}")


def _draw_values(path: str, series: dict[str, list[float]], title: str) -> None:
    import numpy as np

    from eigentext.drawing.plots import line_plot

    curves = {
        name: (np.arange(1.0, len(values) + 1), np.asarray(values))
        for name, values in series.items()
        if values
    }
    plot = line_plot(curves, title=title, x_label="rank", y_label="singular value")
    write_picture(path, plot.as_file(path))
