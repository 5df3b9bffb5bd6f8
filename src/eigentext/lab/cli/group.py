"""``eigentext lab``: models of the laboratory, by the verbs of every group."""

from __future__ import annotations

from collections.abc import Iterable

from eigentext.cli import options
from eigentext.cli.command import SettingFlags, flag_of, group, with_flags
from eigentext.cli.inputs import Column, kind_of_model
from eigentext.cli.verbs import Applying
from eigentext.constituency.settings import BracketingSettings
from eigentext.errors import SettingsError
from eigentext.lab.cli import automata, brackets


@with_flags(BracketingSettings, show_defaults=False)
def apply(
    model: options.Model,
    files: options.Sources,
    run: Applying,
    automaton: automata.AutomatonFlags,
    settings: SettingFlags,
    column: Column = "upos",
) -> None:
    """Print the class or the output of every string, or the brackets of every sentence.

    Of automata a file is one string a line, or CoNLL-U, whose different words are asked about; a
    transducer that learned from CoNLL-U is told their tags.  With --kbest each answer is followed
    by its probability (classes) or log score (outputs).

    Of a bracketer a file has tagged sentences, and comes out as one tree a line, every bracket X:
    binary brackets, and punctuation where it falls between them.  Where the root lies is the
    model's own choice unless told.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext lab train-automaton train.conllu -o tags.model --of classes --basis 50
        $ eigentext lab apply tags.model train.conllu --kbest 2
        $ eigentext lab train-bracketer sample/train.mrg -o english.bracketer
        $ eigentext lab apply english.bracketer sample/test.mrg -o brackets.mrg --root first
    """
    if kind_of_model(model, *automata.ANSWERING, "bracketer") != "bracketer":
        flags = [*sorted(settings.values), *(["column"] if column != "upos" else [])]
        if flags:
            raise SettingsError(f"{flag_of(flags[0])} is for a bracketer, not for automata")
        with run.reading() as (log, _):
            lines = automata.answer_lines(model, files, automaton, log)
        run.write(lines)
        run.tell({"strings": len(lines), "skipped": run.skipped})
        return
    from eigentext.lab import Bracketer

    automaton.refuse("is for automata, not for a bracketer")
    bracketer = Bracketer.load(model)
    bracketer.set_params(**settings.of(BracketingSettings))
    bracketer.check()
    count = 0

    def counted(lines: Iterable[str]) -> Iterable[str]:
        nonlocal count
        for line in lines:
            count += 1
            yield line

    with run.reading("sentences") as (log, _):
        run.write(counted(brackets.bracket_lines(bracketer, files, column, log)))
    if run.json:
        rates = run.clock.figures(sentences=count)
        run.tell({"sentences": count, "skipped": run.skipped, **rates})


app = group(
    automata.train_automaton, brackets.train_bracketer, apply, automata.score, automata.inspect
)
