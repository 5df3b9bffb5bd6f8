"""``eigentext pipe train``: from treebanks to a pipeline."""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from eigentext.cli import options
from eigentext.cli.command import SettingFlags, flag, with_flags
from eigentext.cli.verbs import Training, Workers
from eigentext.errors import SettingsError
from eigentext.pipeline.settings import PipelineSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    from eigentext.base.files.opening import expand
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
