"""The stages trained, each on what the ones before it really answer.

1. segmenter: from the treebank's raw text.
2. words: clusters or vectors of words of text without annotation, cut by the segmenter, which all
   further stages look at (``unlabelled``).
3. morphology: on the treebank; and ``folds`` times on its parts without one, to tag that one, so
   that
4. the parser learns from tags as they will be, with their mistakes, and not from gold ones.
5. reranker, where it is asked for: lists by parsers that have not seen the trees (``reranking``).

With a work folder, every stage that is done is a file there under the fingerprint of all that it
was made from, and a run that was broken off goes on after the last of them.
"""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from eigentext.base.cores import cores_in_use
from eigentext.base.engines import cluster_in_use
from eigentext.base.hashing import fingerprint
from eigentext.base.model import load
from eigentext.base.parallel import side_by_side
from eigentext.base.registry import wrong_kind
from eigentext.dependency.sentence import with_other_upos
from eigentext.errors import DataError, SettingsError, StorageError
from eigentext.language.formats import conllu
from eigentext.language.formats.blocks import is_file
from eigentext.language.formats.conllu_docs import without_controls
from eigentext.pipeline.annotate import ROOT, sorted_feats
from eigentext.pipeline.settings import VALUES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from eigentext.base.files.opening import OnError, Source
    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.pipeline.model import Pipeline
    from eigentext.tagging.morphology import Morphology

# the version of what a work folder holds: raised when the same settings would give another model
_WORK_VERSION = 3
Kind = TypeVar("Kind")
_TAGS = "tags"  # the treebank with tags out of sample


def read_treebanks(
    sources: Source | Iterable[Source], *, on_error: OnError | None = None
) -> list[conllu.ConlluBlock]:
    """The sentences of CoNLL-U files, one or several; none at all is an error."""
    from eigentext.base.files.opening import expand

    sentences: list[conllu.ConlluBlock] = []
    for name in expand(listed(sources)):
        before = len(sentences)
        sentences += conllu.read_sentences(name, on_error=on_error)
        if len(sentences) == before:
            raise DataError(name, None, "no sentences in this file, expected CoNLL-U")
    if not sentences:
        raise DataError("<treebanks>", None, "no files, expected CoNLL-U")
    return sentences


def treebank_of(source: conllu.Treebank | Iterable[Source]) -> list[conllu.ConlluBlock]:
    """The sentences of a treebank, or of several files."""
    names = list(source) if isinstance(source, (list, tuple)) else []
    if names and all(map(is_file, names)):
        return read_treebanks(names)
    return list(conllu.each_conllu(source))


def listed(sources: Source | Iterable[Source]) -> list[str]:
    """One source or several, as a list of names."""
    if isinstance(sources, (str, os.PathLike)):
        return [os.fspath(sources)]
    return [os.fspath(source) for source in sources]


def train_stages(
    pipeline: Pipeline,
    sentences: conllu.Treebank | Iterable[Source],
    *,
    dev: conllu.Treebank | Iterable[Source] | None,
    text: Source | Iterable[Source] | None,
    at_hand: Mapping[str, object],
    work: Source | None,
    progress: Progress | None,
) -> None:
    """Train what was not given and not left out, and score the whole on ``dev``."""
    treebank = list(map(without_controls, treebank_of(sentences)))
    if not treebank:
        raise DataError("<treebank>", None, "no sentences, expected some to learn from")
    stages = {name: _model_of(name, model) for name, model in at_hand.items()}
    for name in stages:
        if name in pipeline.without:
            raise SettingsError(f"{name} is given and left out: expected one of them")
    if pipeline.analyzer is not None:
        from eigentext.lexical.analyzers import open_analyzer

        if "morphology" in stages:
            raise SettingsError("an analyzer is for a tagger that is trained, and one is given")
        open_analyzer(pipeline.analyzer)  # if it is not there, that is said before long work
    todo = [n for n in _TRAINED if n not in stages and n not in pipeline.without]
    _check_reranker(pipeline, stages, todo)
    files = WorkFolder(work)
    report = _StageProgress(progress)
    about = fingerprint([sentence.verbatim for sentence in treebank], _WORK_VERSION)
    settings = {"seed": pipeline.seed}

    works = _SideBySide(files, report)
    if "segmenter" in todo:
        from eigentext.tagging.segmentation import Segmenter

        segmenter = _new(Segmenter, settings, pipeline.segmenter_settings)
        key = fingerprint(about, segmenter.get_params())
        works.model("segmenter", key, partial(segmenter.fit, treebank))
    shared = {"clusters": pipeline.clusters, "vectors": pipeline.vectors}
    if text is not None:
        from eigentext.pipeline.unlabelled import words_of_text

        stages |= works.done()
        shared |= words_of_text(
            pipeline, stages.get("segmenter"), text, files, report.of("words of text")
        )
    settings |= {name: value for name, value in shared.items() if value is not None}
    learned_from, parses = treebank, "parser" in todo or "reranker" in todo
    if "morphology" in todo:
        _morphology(pipeline, treebank, settings, works, about, parse=parses)
        stages |= works.done()
        learned_from = stages.pop(_TAGS, treebank)
    elif parses and "morphology" in stages:
        # a tagger that was given may have seen these sentences: its tags are what the parser gets
        tagged = stages["morphology"].tag([sentence.forms for sentence in treebank])
        learned_from = _with_tags(treebank, tagged)
    stages |= works.done()
    trees: list[conllu.ConlluBlock] = []
    if "parser" in todo or "reranker" in todo:
        from eigentext.dependency.graph.answer import with_heads

        trees = [with_heads(sentence) for sentence in learned_from]
    if "parser" in todo:
        from eigentext.dependency import DependencyParser

        parser = _new(DependencyParser, settings, pipeline.parser_settings)
        key = fingerprint([s.verbatim for s in trees], keyed(parser.get_params()))
        stages["parser"] = files.get_or_make(
            "parser", key, lambda: parser.fit(trees, progress=report.of("parser"))
        )
    pipeline.choices_ = {}
    if "reranker" in todo:
        from eigentext.pipeline.reranking import trained_reranker

        reranker, pipeline.choices_ = trained_reranker(
            pipeline, trees, stages["parser"], files, report.of("reranker")
        )
        stages |= {"reranker": reranker} if reranker is not None else {}
    pipeline._take(stages)
    pipeline.counts_, pipeline.values_ = _counts(treebank)
    # is the relation of every root `root`, as Universal Dependencies have it?
    rows = (row for sentence in treebank for row in sentence.rows)
    pipeline.universal_ = all((row[6] == "0") == (row[7] == ROOT) for row in rows)
    pipeline.dev_scores_ = {}
    if dev is not None:
        from eigentext.pipeline.scoring import score

        result = score(pipeline, treebank_of(dev), jobs=cores_in_use())
        pipeline.dev_scores_ = {name: measure.f1 for name, measure in result.items()}


_TRAINED = ("segmenter", "morphology", "parser", "reranker")


def _check_reranker(pipeline: Pipeline, stages: Mapping[str, object], todo: list[str]) -> None:
    """No reranker is trained unless it is asked for; none can be without a parser."""
    parses = "parser" in todo or "parser" in stages
    if "reranker" in stages and not parses:
        raise SettingsError("a reranker is given and the parser is left out: expected both")
    if "reranker" in todo and (pipeline.rerank == "no" or not parses):
        todo.remove("reranker")


def _model_of(name: str, model: Any) -> Any:
    """The model of a stage, from its file if a file is given."""
    from eigentext.pipeline.model import KIND_OF

    if name not in KIND_OF:
        raise SettingsError(f"stage {name!r}, expected one of {', '.join(KIND_OF)}")
    where = os.fspath(model) if isinstance(model, (str, os.PathLike)) else f"<{name}>"
    if isinstance(model, (str, os.PathLike)):
        model = load(model)
    if getattr(model, "KIND", None) != KIND_OF[name]:
        raise wrong_kind(where, getattr(model, "KIND", "?"), KIND_OF[name])
    model.check_fitted()
    return model


def _new(cls: type[Kind], settings: Mapping[str, object], more: Json | None) -> Kind:
    """An untrained model with those of the settings that its class has, and ``more``."""
    from eigentext.base.settings import declared

    names = declared(cls)
    shared = {name: settings[name] for name in settings if name in names}
    return cls(**shared | (more or {}))


def keyed(settings: Mapping[str, object]) -> Json:
    """Settings for a fingerprint: files by their names, vectors by their numbers."""
    from eigentext.features.word_classes import VectorTable

    keyed: Json = {}
    for name, value in settings.items():
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if isinstance(value, VectorTable):
            value = [value.words, value.matrix]
        keyed[name] = value
    return keyed


def _morphology(
    pipeline: Pipeline,
    treebank: list[conllu.ConlluBlock],
    settings: Mapping[str, object],
    works: _SideBySide,
    about: str,
    *,
    parse: bool,
) -> None:
    """The tagger, and the treebank as the parser is to see it, added to what is to be done."""
    from eigentext.tagging.morphology import MorphTagger, fold_works

    tagger = _new(MorphTagger, settings, pipeline.morphology_settings)
    analyzer = pipeline.analyzer
    key = fingerprint(about, keyed(tagger.get_params()))
    if analyzer is not None:
        name = analyzer if isinstance(analyzer, str) else analyzer.name
        key = fingerprint(key, [name, about_file(name.partition(":")[2])])
    works.model("morphology", key, partial(tagger.fit, treebank, analyzer=analyzer))
    ways = min(pipeline.folds, len(treebank))
    if parse and ways >= 2:
        works.tags(
            fingerprint(key, pipeline.folds),
            treebank,
            fold_works(treebank, tagger, ways=ways, analyzer=analyzer),
        )


class _SideBySide:
    """Trainings that need nothing of each other, done side by side; what is in files is not done.

    With one core a training tells its progress, with several each tells that it is done.
    """

    def __init__(self, files: WorkFolder, progress: _StageProgress) -> None:
        self._files, self._progress = files, progress
        self._works: list[Callable[[], Any]] = []
        self._results: list[tuple[str, Callable[[Iterator[Any]], Any]]] = []

    def model(self, name: str, key: str, fit: Callable[..., object]) -> None:
        """A stage that is a model; ``fit`` takes progress."""
        if not self._files.has(name, key):
            # what goes to another process or machine cannot tell its progress here
            here = cores_in_use() == 1 and cluster_in_use() is None
            progress = self._progress.of(name) if here else None
            self._works.append(partial(fit, progress=progress))
        self._results.append(
            (name, lambda models: self._files.get_or_make(name, key, models.__next__))
        )

    def tags(
        self,
        key: str,
        treebank: list[conllu.ConlluBlock],
        folds: list[Callable[[], list[Morphology]]],
    ) -> None:
        """The treebank with tags out of sample, one stretch after the other."""
        if not self._files.has(_TAGS, key):
            self._works += folds
        report = self._progress.of("out-of-sample tags")

        def tagged_treebank(answers: Iterator[Any]) -> list[conllu.ConlluBlock]:
            tagged: list[Morphology] = []
            for way in range(1, len(folds) + 1):
                tagged += next(answers)
                if report is not None:
                    report(way, len(folds), "tagging out of sample")
            return _with_tags(treebank, tagged)

        def take(answers: Iterator[Any]) -> Any:
            make = partial(tagged_treebank, answers)
            read, write = lambda path: [*conllu.read_sentences(path)], conllu.write_sentences
            return self._files.get_or_make(_TAGS, key, make, read, write)

        self._results.append((_TAGS, take))

    def done(self) -> Json:
        """What was asked for since the last time, each in its file as soon as it is there."""
        results = side_by_side(self._works)
        answers = {name: take(results) for name, take in self._results}
        self._works, self._results = [], []
        return answers


def about_file(name: str) -> tuple[int, ...]:
    """What tells a file from an older one of its name; nothing of one that is elsewhere."""
    if not os.path.exists(name):
        return ()
    status = os.stat(name)
    return status.st_size, status.st_mtime_ns


def _with_tags(
    treebank: list[conllu.ConlluBlock], taggings: Iterable[Morphology]
) -> list[conllu.ConlluBlock]:
    """The treebank with these tags in the place of its own."""
    return [
        sentence.with_columns(
            upos=tags.upos,
            xpos=tags.xpos,
            feats=[sorted_feats(feats) for feats in tags.feats],
            lemma=tags.lemmas,
            misc=list(map(with_other_upos, sentence.column("misc"), tags.others)),
        )
        for sentence, tags in zip(treebank, taggings, strict=True)
    ]


def _counts(treebank: Sequence[conllu.ConlluBlock]) -> tuple[dict[str, int], dict[str, list[str]]]:
    """How much there was to learn from, and what the columns hold."""
    values_of: dict[str, set[str]] = {name: set() for name in VALUES}
    counts = {"sentences": len(treebank), "words": 0, "multiword_tokens": 0}
    for sentence in treebank:
        rows = sentence.rows
        counts["words"] += len(rows)
        counts["multiword_tokens"] += len(sentence.ranges)
        for name in VALUES:
            column = conllu.ConlluBlock.COLUMNS.index(name)
            values_of[name].update(row[column] for row in rows)
    values_of["feats"] = {item for feats in values_of["feats"] for item in feats.split("|")}
    return counts, {name: sorted(values - {"_"}) for name, values in values_of.items()}


class _StageProgress:
    """Progress of stages that are named."""

    def __init__(self, progress: Progress | None) -> None:
        self.progress = progress

    def of(self, name: str) -> Progress | None:
        progress = self.progress
        if progress is None:
            return None
        return lambda done, total, stage: progress(done, total, f"{name}: {stage}")


class WorkFolder:
    """The folder of what is done, if there is one."""

    def __init__(self, folder: Source | None) -> None:
        self.folder = None if folder is None else Path(folder)
        if self.folder is not None:
            try:
                self.folder.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                why = f"cannot make this folder: {error.strerror}"
                raise StorageError(str(folder), None, why) from error

    def _path(self, name: str, key: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{name}-{key[:16]}"

    def has(self, name: str, key: str) -> bool:
        """Is it there already?"""
        path = self._path(name, key)
        return path is not None and path.exists()

    def get_or_make(
        self,
        name: str,
        key: str,
        make: Callable[[], object],
        read: Callable[[Path], Any] = load,
        write: Callable[[Any, Path], Any] = lambda model, path: model.save(path),
    ) -> Any:
        """A model, from its file if that is there; else it is made and written."""
        path = self._path(name, key)
        if path is not None and path.exists():
            return read(path)
        model = make()
        if path is not None:
            write(model, path)
        return model
