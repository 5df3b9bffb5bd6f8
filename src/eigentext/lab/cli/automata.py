"""Weighted automata of strings: ``eigentext lab train-automaton``, ``score``, and answers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import typer

from eigentext.base.files.opening import OnError, expand, raise_or_tell
from eigentext.base.registry import wrong_kind
from eigentext.cli import options
from eigentext.cli.command import Flags, SettingFlags, flag, with_flags
from eigentext.cli.output import show_figures
from eigentext.cli.verbs import Applying, Training, of_files
from eigentext.errors import DataError
from eigentext.sequences.settings import (
    AutomatonSettings,
    ClassAutomataSettings,
    TransducerSettings,
)

Model = Annotated[str, typer.Argument(help="A model of `lab train-automaton`.")]
Of = Annotated[
    Literal["strings", "classes", "pairs"],
    typer.Option(
        "--of",
        help="What is learned: strings, one a line; strings with their classes behind a tab; "
        "inputs with their outputs behind a tab.",
    ),
]
Tokens = Annotated[
    bool,
    typer.Option("--tokens", help="Symbols are tokens between spaces, instead of characters."),
]
TokensAsLearned = Annotated[
    bool | None,
    typer.Option(
        "--tokens/--characters",
        help="Symbols are tokens between spaces, or characters; by default as in training.",
        show_default=False,
    ),
]
ANSWERING = ("class-automata", "string-transducer")


def _rows(
    files: list[str], of: str, tokens: bool, on_error: OnError | None
) -> Iterator[tuple[Any, str]]:
    """Strings, with what stands behind the tab; of CoNLL-U the words, with tags or lemmas."""
    # An input of pairs from CoNLL-U has the tag of the word for its first symbol.  Words whose tag
    # or lemma is not given are left out where it is what is learned.
    from eigentext.dependency.sentence import TaggedSentence
    from eigentext.lab.automata.model import STOP
    from eigentext.language.formats.conllu import read_sentences
    from eigentext.language.formats.text import text_lines
    from eigentext.tagging.sequence.reading import format_of

    for source in expand(files):
        if source != "-" and format_of(source) == "conllu":
            words: dict[tuple[Any, str], None] = {}
            for sentence in read_sentences(source, on_error=on_error):
                tags = TaggedSentence.from_conllu(sentence).coarse
                columns = zip(sentence.forms, tags, sentence.column("lemma"), strict=True)
                for form, tag, lemma in columns:
                    if of == "strings":
                        words[form, ""] = None
                    elif of == "inputs":
                        words[(f"<{tag}>", *form), ""] = None
                    elif of == "classes" and tag != "_":
                        words[form, tag] = None
                    elif of == "pairs" and lemma != "_":
                        words[(f"<{tag}>", *form), lemma] = None
            if not words:
                what = {"classes": " with a tag", "pairs": " with a lemma"}.get(of, "")
                raise DataError(source, None, f"no word{what} in this file")
            yield from words
            continue
        for number, line in text_lines(source, on_error=on_error):
            if not line.strip():
                continue
            string, *others = line.split("\t")
            bare = of in ("strings", "inputs")
            other = others[0] if others else ""
            symbols = string.split() if tokens else string
            why = ""
            if len(others) != (not bare) or not symbols or (of == "classes" and not other):
                expected = {
                    "classes": "string TAB class, one tab a line",
                    "pairs": "input TAB output, one tab a line",
                }.get(of, "a string and no tab")
                why = f"expected {expected}"
            elif of in ("strings", "classes") and STOP in list(symbols):
                why = f"{STOP} is the end of strings, expected other tokens"
            if why:
                raise_or_tell(DataError(source, number, f"{line[:60]!r}: {why}"), on_error)
                continue
            yield symbols, other


@with_flags(AutomatonSettings, ClassAutomataSettings, TransducerSettings)
def train_automaton(
    files: options.Sources,
    run: Training,
    settings: SettingFlags,
    of: Of = "strings",
    tokens: Tokens = False,
) -> None:
    """Learn an automaton of strings, automata of classes of strings, or a transducer.

    A file is one string a line; of CoNLL-U files the different words are taken, with their UPOS as
    class (XPOS in sentences without), and for pairs tag and letters as input and the lemma as
    output.  Rank and basis are chosen on a tenth of the strings unless given.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext lab train-automaton train.conllu -o words.model --basis 100
        $ eigentext lab train-automaton train.conllu -o tags.model --of classes --basis 50
        $ eigentext lab score words.model train.conllu --summary
    """
    from eigentext.lab import ClassAutomata, StringAutomaton, StringTransducer
    from eigentext.tagging.sequence.reading import format_of

    model: Any
    if of == "strings":
        model = StringAutomaton(**settings.of(AutomatonSettings))
    elif of == "classes":
        model = ClassAutomata(**settings.of(ClassAutomataSettings))
    else:
        model = StringTransducer(**settings.of(TransducerSettings))
    model.check()
    sources = expand(files)
    with run.reading("strings") as (log, _):
        rows = list(_rows(files, of, tokens, log))
        if not rows:
            raise DataError(sources[0], None, "no strings to learn from")
        strings = [string for string, _ in rows]
        try:
            model.fit(strings, *([] if of == "strings" else [[other for _, other in rows]]))
        except DataError as error:  # the model was given strings, and knows no files
            raise of_files(error, sources, "strings", "pairs") from None
    figures = {"strings": len(rows), **model.figures()}
    text = any(format_of(source) != "conllu" for source in sources)  # of which words are taken
    run.save(model, sources, figures, read_as="tokens" if tokens and text else "characters")


def _load(path: str, tokens: bool | None, *kinds: str) -> tuple[Any, bool]:
    """The model, and whether strings are tokens: as told, or else as in training."""
    from eigentext.base.model import load
    from eigentext.base.modelfile import read_header

    header = read_header(path, *kinds)
    if header.kind not in kinds:
        raise wrong_kind(path, header.kind, *kinds)
    model, read_as = load(path), header.data.get("read_as")
    if tokens is None:
        tokens = _by_tokens(model) if read_as is None else read_as == "tokens"
    return model, tokens


def _by_tokens(model: Any) -> bool:
    """Were the symbols of training longer than a character?  Tags and the end do not count."""
    # That is asked of a file that does not say, such as one that was saved from Python.
    if model.KIND != "string-automaton":  # one inside has the symbols
        model = model.models_[0] if model.KIND == "class-automata" else model.automaton_
    names = (name.partition("\t")[0] for name in model.symbols_.names)
    return any(len(name) > 1 and not (name[0] == "<" and name[-1] == ">") for name in names)


@with_flags()
def score(
    model: Model,
    files: options.Sources,
    run: Applying,
    tokens: TokensAsLearned = None,
    summary: bool = flag("The figures alone.", False),
) -> None:
    """Print log probability of every string, and the perplexity of all.

    Natural logarithms; the end of a string is one of its symbols.  The figures tell for how many
    symbols the automaton's own value was not positive.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext lab train-automaton train.conllu -o words.model --basis 100
        $ eigentext lab score words.model train.conllu --json --summary
    """
    import numpy as np

    automaton, tokens = _load(model, tokens, "string-automaton")
    with run.reading() as (log, _):
        strings = [string for string, _ in _rows(files, "strings", tokens, log)]
        nats = automaton.surprisals(strings)
    if not summary:
        run.write(
            f"{-float(each.sum()):.4f}\t{string if isinstance(string, str) else ' '.join(string)}"
            for string, each in zip(strings, nats, strict=True)
        )
    everything = np.concatenate([np.zeros(0), *nats])
    figures = {
        "strings": len(strings),
        "symbols": len(everything),
        "log_prob": 0.0 - float(everything.sum()),
        "perplexity": float(np.exp(everything.mean())) if len(everything) else None,
        "negative_rate": automaton.negative_rate_ if len(everything) else 0.0,
        "skipped": run.skipped,
    }
    if summary:
        show_figures(figures, as_json=run.json)
    else:
        run.tell(figures)


@dataclass(kw_only=True)
class AutomatonFlags(Flags):
    """What means something of automata alone."""

    tokens: TokensAsLearned = None
    kbest: int = flag("How many answers, each with its score.", 1, min=1)


def answer_lines(
    model: str, files: list[str], flags: AutomatonFlags, on_error: OnError | None
) -> list[str]:
    """The class of every string, or the output of every input, behind a tab."""
    import numpy as np

    from eigentext.lab import ClassAutomata

    kbest = flags.kbest
    answering, tokens = _load(model, flags.tokens, *ANSWERING)
    transducer = answering.KIND == "string-transducer"
    of = "inputs" if transducer else "strings"
    strings = [string for string, _ in _rows(files, of, tokens, on_error)]
    answers: list[list[tuple[str, float]]]
    if isinstance(answering, ClassAutomata):
        shares = answering.posteriors(strings) if strings else np.zeros((0, 1))
        answers = [
            [(answering.classes_[at], float(row[at])) for at in np.argsort(-row, kind="stable")]
            for row in shares
        ]
    else:
        answers = [[*map(tuple, answering.kbest(string, kbest))] for string in strings]
        strings = ["".join(s[1:]) if isinstance(s, tuple) else s for s in strings]
    lines = []
    for string, best in zip(strings, answers, strict=True):
        shown = string if isinstance(string, str) else " ".join(string)
        if kbest == 1:
            lines.append(f"{shown}\t{best[0][0]}")
        else:
            cells = (f"{answer}\t{value:.4f}" for answer, value in best[:kbest])
            lines.append("\t".join((shown, *cells)))
    return lines


@with_flags()
def inspect(
    model: Model,
    sample: int = flag("How many strings.", 10, min=0),
    longest: int = flag("Most symbols of each.", 50, min=0),
    tokens: TokensAsLearned = None,
    seed: options.Seed = 0,
) -> None:
    """Print strings drawn from an automaton.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext lab train-automaton train.conllu -o words.model --basis 100
        $ eigentext lab inspect words.model --sample 3
    """
    automaton, tokens = _load(model, tokens, "string-automaton")
    for symbols in automaton.sample(sample, longest=longest, seed=seed):
        print((" " if tokens else "").join(symbols))
