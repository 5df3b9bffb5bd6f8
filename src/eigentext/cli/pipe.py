"""``eigentext pipe``: from raw text to everything."""

from __future__ import annotations

import math
import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from eigentext.base.files.opening import expand
from eigentext.cli import options, pipe_apply
from eigentext.cli.command import SettingFlags, flag, group, with_flags
from eigentext.cli.inputs import is_model
from eigentext.cli.output import progress_bar, show_figures, show_table
from eigentext.cli.verbs import Training, Workers
from eigentext.errors import SettingsError
from eigentext.pipeline.settings import PipelineSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from eigentext.evaluate.conll18 import Measure
    from eigentext.language.formats.conllu import ConlluBlock
    from eigentext.pipeline import Pipeline

_BESIDE = ("const", "ner")


@with_flags(PipelineSettings)
def train(
    treebanks: options.Sources,
    run: Training,
    workers: Workers,
    settings: SettingFlags,
    dev: list[str] | None = flag("A treebank to score the pipeline on, from its raw text."),
    text: list[str] | None = flag(
        "Text without annotation, raw or tokenised: its words help every stage."
    ),
    with_: list[str] | None = flag(
        "Models to have besides: const=FILE of `const train`, ner=FILE of `tag train`; "
        "joined by commas or given several times."
    ),
    segmenter: str | None = flag("A segmenter to take as it is."),
    morphology: str | None = flag("A morphological tagger to take as it is."),
    parser: str | None = flag("A model of `dep train` to take as it is."),
    reranker: str | None = flag("A model of `dep train-reranker` to take as it is."),
    language: str | None = flag(
        "Code of the language, such as gl: a service finds the model by it.  Unless "
        "told, that of treebanks named as UD's are: gl_treegal-ud-train.conllu."
    ),
    work: str | None = flag("A folder for finished stages; a stopped run goes on there."),
) -> None:
    """Train a whole pipeline on CoNLL-U treebanks.

    Segmentation, morphology and the parser are learned one after the other, the parser from tags
    as the earlier stages really give them; with --rerank another model chooses among its trees.
    With --dev the scores of the CoNLL 2018 shared task
    are among the figures and kept in the model; nothing is chosen by them.

    Example:
        $ eigentext pipe train sample/treebank.conllu -o english.pipe --folds 2
        $ eigentext pipe apply english.pipe sample/raw.txt -o parsed.conllu
        $ eigentext pipe eval english.pipe sample/treebank-dev.conllu
        $ eigentext pipe inspect english.pipe
    """
    from eigentext.pipeline import Pipeline
    from eigentext.pipeline.training import read_treebanks

    sources = expand(treebanks)
    language = _language(sources) if language is None else _checked_language(language)
    beside = _named(with_ or [])
    pipeline = Pipeline(**settings.of(PipelineSettings))
    pipeline.check()
    stages = {
        "segmenter": segmenter,
        "morphology": morphology,
        "parser": parser,
        "reranker": reranker,
    }
    with run.reading("steps") as (log, progress), workers.at_work(run.jobs):
        pipeline.fit(
            read_treebanks(sources, on_error=log),
            dev=read_treebanks(expand(dev), on_error=log) if dev else None,
            text=expand(text) if text else None,
            models={name: file for name, file in (stages | beside).items() if file is not None},
            work=work,
            progress=progress,
        )
    run.save(pipeline, sources, lambda: _figures(pipeline), language=language)


def _checked_language(code: str) -> str:
    """The code, or nothing: a code of ISO 639, perhaps with a script or region."""
    if code and not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", code):
        raise SettingsError(f"--language {code!r}, expected a code such as gl or pt-BR")
    return code


def _language(sources: list[str]) -> str:
    """The language that the names of all treebanks tell; nothing where they tell none, or two."""
    names = [re.match(r"([a-z]{2,3})_[a-z0-9]+-ud-", PurePath(source).name) for source in sources]
    codes = {name[1] if name else "" for name in names}
    return codes.pop() if len(codes) == 1 else ""


def _named(parts: list[str]) -> dict[str, str]:
    """``const=FILE,ner=FILE`` by name."""
    files: dict[str, str] = {}
    for part in ",".join(parts).split(",") if parts else ():
        name, equals, file = part.partition("=")
        if not equals or name.strip() not in _BESIDE or not file:
            raise SettingsError(f"--with {part!r}, expected const=FILE or ner=FILE")
        files[name.strip()] = file
    return files


def _figures(pipeline: Pipeline) -> Mapping[str, Any]:
    sizes = {f"{name}_bytes": len(model.to_bytes()) for name, model in pipeline.stages().items()}
    dev = {f"dev {name}": round(value, 2) for name, value in pipeline.dev_scores_.items()}
    chosen = {
        f"{stage} {name}": round(value, 2) if isinstance(value, float) else value
        for stage, choice in pipeline.choices_.items()
        for name, value in choice.items()
    }
    return {**pipeline.counts_, **sizes, **chosen, **dev}


@with_flags()
def eval_(
    model: options.ModelOrAnswers,
    gold: Annotated[str, typer.Argument(help="A gold treebank, CoNLL-U.", show_default=False)],
    workers: Workers,
    level: Literal["sentences", "tokens", "words", "tags"] | None = flag(
        "What is taken from the treebank; by default its raw text alone.", None, "--given"
    ),
    counts: bool = flag("Numbers of words in place of percentages.", False),
    jobs: options.Jobs = 1,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Score a pipeline, or the CoNLL-U of any system, against a treebank.

    The raw text is put together from the treebank.  Precision, recall, F1 and the accuracy on
    aligned words are those of the official scorer; a column that the treebank lacks has "-".

    Example:
        $ eigentext pipe train sample/treebank.conllu -o english.pipe --folds 2
        $ eigentext pipe eval english.pipe sample/treebank-dev.conllu
        $ eigentext pipe eval english.pipe sample/treebank-dev.conllu --given tokens --json
        $ eigentext pipe eval sample/treebank-dev.conllu sample/treebank-dev.conllu
    """
    from eigentext.evaluate.conll18 import evaluate, lacking
    from eigentext.pipeline.training import read_treebanks

    treebank = read_treebanks(gold)
    if is_model(model):
        with workers.at_work(jobs):
            scores = _of_model(model, treebank, level, jobs, quiet)
    else:
        if level is not None:
            raise SettingsError(f"--given is for a model, and {model} is none")
        scores = evaluate(treebank, read_treebanks(model))
    if json:
        show_figures({name: _row(measure) for name, measure in scores.items()}, as_json=True)
        return
    columns = ("correct", "gold", "system", "aligned") if counts else _PERCENTAGES
    absent = lacking(treebank)
    rows = []
    for name, measure in scores.items():
        row = _row(measure)
        cells = {column: "-" if name in absent else _cell(row[column]) for column in columns}
        rows.append({"measure": name, **cells})
    show_table("", rows)


_PERCENTAGES = ("precision", "recall", "f1", "aligned_accuracy")


def _of_model(
    model: str, gold: list[ConlluBlock], level: str | None, jobs: int, quiet: bool
) -> dict[str, Measure]:
    from eigentext.pipeline import Pipeline
    from eigentext.pipeline.scoring import score

    pipeline = Pipeline.load(model)
    with progress_bar(quiet=quiet, unit="pieces") as progress:
        return score(pipeline, gold, keep=level, jobs=jobs, progress=progress)


def _row(measure: Measure) -> dict[str, Any]:
    percentages = {name: getattr(measure, name) for name in _PERCENTAGES}
    return {**percentages, **measure._asdict()}


def _cell(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def inspect(
    model: Annotated[str, typer.Argument(help="A model written by `pipe train`.")],
    json: options.Json = False,
) -> None:
    """Show the stages of a pipeline, their sizes, the tags they give, and how it was made.

    Example:
        $ eigentext pipe train sample/treebank.conllu -o english.pipe --folds 2
        $ eigentext pipe inspect english.pipe
    """
    from eigentext.base.modelfile import read_header
    from eigentext.pipeline import Pipeline

    header = read_header(model, Pipeline.KIND)
    pipeline = Pipeline.load(model)
    sizes = {name: math.prod(shape) for name, (_, shape) in header.arrays.items()}
    stages = [
        {"stage": name, "kind": stage.KIND, "bytes": sizes[f"stage.{name}"], "what": repr(stage)}
        for name, stage in pipeline.stages().items()
    ]
    facts: dict[str, Any] = {
        "data": header.data,
        "treebank": pipeline.counts_,
        "chosen": pipeline.choices_,
        "dev": pipeline.dev_scores_,
        "columns": pipeline.values_,
        "stages": stages,
        "sha256": header.sha256,
        "eigentext": header.package_version,
    }
    if json:
        show_figures(facts, as_json=True)
        return
    _show_facts(facts)


def _show_facts(facts: dict[str, Any]) -> None:
    about = facts["data"]
    named = {name: about[name] for name in ("language", "name", "licence") if about.get(name)}
    files = {"files": ", ".join(about["files"])} if about.get("files") else {}
    show_figures({**named, **files, **facts["treebank"], "sha256": facts["sha256"]}, as_json=False)
    show_table("Stages", facts["stages"])
    if facts["chosen"]:
        chosen = [
            {"stage": stage, **_choice_cells(said)} for stage, said in facts["chosen"].items()
        ]
        show_table("Chosen on held-out sentences of the treebank", chosen)
    rows = [
        {"column": name, "values": len(values), "such as": ", ".join(values[:12])}
        for name, values in facts["columns"].items()
    ]
    if rows:
        show_table("Columns", rows)
    if facts["dev"]:
        scores = [{"measure": name, "F1": f"{value:.2f}"} for name, value in facts["dev"].items()]
        show_table("On the development treebank", scores)


def _choice_cells(said: dict[str, Any]) -> dict[str, str]:
    cells = {"kept": "yes" if said["kept"] else "no"}
    for measure in ("las", "uas"):
        if measure in said and f"reranked_{measure}" in said:
            cells[f"{measure.upper()} without"] = f"{said[measure]:.2f}"
            cells[f"{measure.upper()} with"] = f"{said[f'reranked_{measure}']:.2f}"
    return cells


app = group(train, pipe_apply.apply, eval_, inspect)
