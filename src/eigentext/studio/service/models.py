"""The models of a service: which there are, what each can do, and the loaded ones by name.

The flow: the settings -> `survey`, in the server: the header of each file, so that what cannot be
served is told before anything listens -> `ModelFacts` -> `Served`, in each worker: the models
themselves, loaded and warmed one after the other.  Pages ask for models by kind and name.  What
is not trained yet is known by its facts, and loaded when it is there (`service.samples`).
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from eigentext.errors import EigentextError, SettingsError
from eigentext.studio.service.limits import NoModelError
from eigentext.studio.service.workers import StartingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from eigentext.base.modelfile import Header
    from eigentext.base.types import Json
    from eigentext.studio.service.settings import ServiceSettings


class ServedKind(NamedTuple):
    """A kind of model as the pages know it."""

    what: str  # in plain words
    files: tuple[str, ...]  # the kinds of model files that are of this kind
    flag: str = "--model"  # how the service is given one


KINDS = {
    "pipeline": ServedKind("pipeline", ("pipeline",), "--pipe"),
    "const": ServedKind("constituency parser", ("lpcfg",)),
    "dep": ServedKind("dependency parser", ("graph-parser",), "--dep-model"),
    "reranker": ServedKind("reranker of dependency trees", ("dependency-reranker",)),
    "lex": ServedKind("ranker of readings", ("lexical",), "--lex-model"),
    "words": ServedKind(
        "model of words", ("clusters", "embeddings", "lrmvl", "multiview", "class-bigram")
    ),
    "hmm": ServedKind(
        "model of sequences", ("hmm", "blocked-hmm", "spectral-hmm", "latent-tagger")
    ),
    "tagger": ServedKind("tagger", ("tagger",)),
}

#: The pages, in the order in which they are shown, and the kinds of models that each can use, with
#: the stages of which a model must have one; a page without kinds needs none.
PAGES: dict[str, dict[str, tuple[str, ...]]] = {
    "parse": {"pipeline": ("parser", "const"), "const": (), "dep": ()},
    "read": {"lex": (), "pipeline": ("morphology",)},
    "words": {"words": ()},
    "sequences": {"hmm": ()},
    "annotate": {},
    "tools": {},
    "docs": {},
}

KIND_OF = {file: name for name, kind in KINDS.items() for file in kind.files}


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model."""

    name: str  # the stem of its file, or its whole name; or the name under which it is installed
    kind: str  # one of `KINDS`
    of: str  # the kind of its file (``eigentext info`` shows it)
    what: str  # in plain words
    can: tuple[str, ...] = ()  # stages of a pipeline; else empty
    language: str = ""  # of the texts it is for, as a code; empty where the file does not say
    licence: str = ""  # of the model; empty where the file does not say
    homes: tuple[str, ...] = ()  # of the data it learned from
    summary: str = ""  # half a line, such as its size; empty until it is loaded
    source: str = ""  # where it lies; not for strangers


class Loading(NamedTuple):
    """How far the loading of models is: ``done`` of ``total``, and which one is next."""

    done: int
    total: int
    name: str


def survey(settings: ServiceSettings) -> tuple[ModelFacts, ...]:
    """The models of these settings by what their headers say; the files are not read further.

    A model is called by the stem of its file, or by all of its name where several of a kind have
    the same stem.  A file that is not there, that is no model, or whose kind no page knows is an
    error.
    """
    return distinct(starmap(_facts, _wanted(settings)))


def distinct(models: Iterable[ModelFacts]) -> tuple[ModelFacts, ...]:
    """The models with a name for each; one that is there twice counts once."""
    surveyed = {facts.source: facts for facts in models}.values()
    stems = Counter((facts.kind, facts.name) for facts in surveyed)
    by_name: dict[tuple[str, str], ModelFacts] = {}
    for facts in surveyed:
        alike = stems[facts.kind, facts.name] > 1
        name = PurePath(facts.source).name if alike else facts.name
        if (facts.kind, name) in by_name:
            raise SettingsError(
                f"two models are called {name}, and each is a {KINDS[facts.kind].what}: "
                "rename one of the files"
            )
        by_name[facts.kind, name] = replace(facts, name=name)
    return tuple(by_name.values())


def pages_for(models: Iterable[ModelFacts]) -> list[str]:
    """The pages that have what they need, in order.

    >>> pages_for([ModelFacts("english", "hmm", "hmm", "a hidden Markov model")])
    ['sequences', 'annotate', 'tools', 'docs']
    """
    there = {(facts.kind, stage) for facts in models for stage in ("", *facts.can)}
    return [
        page
        for page, kinds in PAGES.items()
        if not kinds
        or any((kind, stage) in there for kind, of in kinds.items() for stage in of or ("",))
    ]


def no_model(kinds: Iterable[str]) -> str:
    """What to do where there is no model of these kinds."""
    from eigentext.base.registry import KINDS as FILES

    there_is = [KINDS[kind] for kind in kinds]
    flags = dict.fromkeys(f"`eigentext serve {kind.flag} FILE`" for kind in there_is)
    ways = (f"`eigentext {FILES[file].command}`" for kind in there_is for file in kind.files)
    return (
        f"this service has no {' and no '.join(kind.what for kind in there_is)}: start it with "
        f"{' or '.join(flags)}, a file of {' or '.join(dict.fromkeys(ways))}; `eigentext studio` "
        "makes small ones of sample data"
    )


def _wanted(settings: ServiceSettings) -> list[tuple[str, str | None]]:
    """Where each model lies, and the kind that its flag asks for."""
    sources: list[tuple[str, str | None]] = [(source, None) for source in settings.models]
    sources += [(source, "pipeline") for source in settings.pipes]
    if settings.dep_model is not None:
        sources.append((settings.dep_model, "dep"))
    if settings.lex_model is not None:
        sources.append((settings.lex_model, "lex"))
    return sources


def _facts(source: str, kind: str | None) -> ModelFacts:
    from eigentext.base.modelfile import read_header
    from eigentext.base.registry import KINDS as FILES
    from eigentext.base.registry import wrong_kind

    allowed = tuple(KIND_OF) if kind is None else KINDS[kind].files
    header = read_header(source, *(allowed if kind else ()))
    if header.kind not in allowed:
        if kind is None:
            kind_of_file = FILES.get(header.kind)
            what = kind_of_file.what if kind_of_file else f"a model of kind {header.kind!r}"
            shown = ", ".join(served.what for served in KINDS.values())
            raise SettingsError(f"{source}: holds {what}, which no page shows; pages show {shown}")
        raise wrong_kind(source, header.kind, *allowed)
    about = header.data
    homes = [str(each["home"]) for each in about.get("sources") or () if each.get("home")]
    return ModelFacts(
        name=PurePath(source).name.partition(".")[0],
        kind=KIND_OF[header.kind],
        of=header.kind,
        what=FILES[header.kind].what,
        can=_stages(header),
        language=str(about.get("language") or ""),
        licence=str(about.get("licence") or ""),
        homes=tuple(homes),
        source=source,
    )


def _stages(header: Header) -> tuple[str, ...]:
    """The stages of a pipeline, in the order in which they work."""
    from eigentext.pipeline.model import KIND_OF

    return tuple(name for name in KIND_OF if f"stage.{name}" in header.arrays)


class Served:
    """The models of a service, loaded and ready: no request waits for files or compilers."""

    def __init__(
        self,
        models: Sequence[ModelFacts],  # those of `survey`
        *,
        analyzer: str | None = None,  # where that of rankers lies, if not where it was in training
        coming: Sequence[ModelFacts] = (),  # those that are being trained
        tell: Callable[[Loading], object] = lambda _: None,  # before each model and at the end
    ) -> None:
        self._models: dict[str, Json] = {kind: {} for kind in KINDS}
        self._analyzer = analyzer
        # what is said of models that are not there, by kind and name
        self._absent = {(facts.kind, facts.name): _trained(facts) for facts in coming}
        self.facts: tuple[ModelFacts, ...] = ()
        for done, facts in enumerate(models):
            tell(Loading(done, len(models), facts.name))
            self.add(facts)
        tell(Loading(len(models), len(models), ""))

    def add(self, facts: ModelFacts, why_not: str = "") -> None:
        """Load one more; or, of one that was to come, keep why it does not."""
        key = facts.kind, facts.name
        if why_not:
            self._absent[key] = NoModelError(why_not)
            return
        model = _loaded(facts, self._analyzer)
        warm(facts.kind, model)
        self._models[facts.kind][facts.name] = model
        self._absent.pop(key, None)
        language = model.scheme_.language if facts.kind == "lex" else facts.language
        self.facts += (replace(facts, language=language, summary=_summary(model)),)

    def get(self, kind: str, name: str | None = None) -> Any:
        """The model of this kind and name; without a name the first of its kind."""
        return self._models[kind][self.chosen(kind, name)]

    def named(self, name: str, kinds: Sequence[str]) -> Any:
        """The model of this name that is of one of these kinds, the first that fits."""
        for kind in kinds:
            if name in self._models[kind]:
                return self._models[kind][name]
        gone = NoModelError(f"this service no longer has the model {name[:60]!r}")
        raise self._why([(kind, name) for kind in kinds], gone)

    def chosen(self, kind: str, name: str | None = None) -> str:
        """The name of the model that is meant."""
        there = self._models[kind]
        if not there:
            raise self.lack(kind)
        if not name:
            return next(iter(there))
        if name not in there:
            # what was asked for is shortened: it may be anything
            what = KINDS[kind].what
            why = f"no {what} is called {name[:60]!r} here: {', '.join(there)}"
            raise self._why([(kind, name)], SettingsError(why))
        return name

    def lack(self, *kinds: str) -> EigentextError:
        """Why there is no model of these kinds, and what to do about it."""
        absent = [key for key in self._absent if key[0] in kinds]
        return self._why(absent, NoModelError(no_model(kinds)))

    def _why(self, keys: Iterable[tuple[str, str]], usual: EigentextError) -> EigentextError:
        """What is said where none of these is there: that it comes, or failed, or as usual."""
        errors = [self._absent[key] for key in keys if key in self._absent]
        coming = [error for error in errors if isinstance(error, StartingError)]
        error = (*coming, *errors, usual)[0]
        return type(error)(str(error))  # one that was raised before would keep where

    def names(self, kind: str) -> list[str]:
        """The names of the models of a kind; the first is the default."""
        return list(self._models[kind])


def _trained(facts: ModelFacts) -> EigentextError:
    file, seconds = PurePath(facts.source).name, StartingError.retry_after
    return StartingError(
        f"the sample model {file} is being trained; try again in {seconds} seconds"
    )


def _loaded(facts: ModelFacts, analyzer: str | None) -> Any:
    from eigentext.base.model import load

    elsewhere = {"analyzer": analyzer} if facts.kind == "lex" and analyzer is not None else {}
    return load(facts.source, **elsewhere)


def _summary(model: object) -> str:
    summary = getattr(model, "_summary", None)
    return str(summary()) if summary else ""


def warm(kind: str, model: object) -> None:
    """Ask a model of this kind all that pages ask, of a few words.

    What it cannot answer it says when somebody asks.
    """
    if kind in _USES:
        with suppress(EigentextError, ValueError):
            _USES[kind](model)


def _pipeline(model: Any) -> None:
    if model.segmenter_ is not None:
        model("Hello, world.", top=2, probabilities=True)
    else:
        model("Hello , world .", keep="tokens", top=2, probabilities=True)
    if model.parser_ is not None:
        (sentence,) = model([["a", "b"]], keep="tokens").sentences
        for k in (1, 2):
            model.parses(sentence, k, required_arcs=[(2, 1)])
        model.marginals(sentence, required_arcs=[(2, 1)])
    if model.const_ is not None:
        _const(model.const_)


def _const(model: Any) -> None:
    from eigentext.constituency.chart.constraints import Constraints

    words = ["a", "b", "c"]
    model.parse(words, kbest=2, marginals=True)
    for k in (1, 2):
        model.parse(words, kbest=k, marginals=True, constraints=Constraints(required=[(0, 2)]))


def _dep(model: Any) -> None:
    tagged = model.tagged(["a", "b"])
    for arcs in ({}, {"required_arcs": [(2, 1)]}):
        model.parse(tagged, **arcs)
        model.marginals(tagged, **arcs)
        model.kbest(tagged, k=2, **arcs)


def _words(model: object) -> None:
    embeddings = getattr(model, "embeddings_", None)
    if embeddings is not None:
        embeddings.neighbours(embeddings.words[0], 2)


def _hmm(model: object) -> None:
    text = [["a", "b"]]
    for ask in ("surprisals", "predict", "predict_proba"):
        if hasattr(model, ask):
            getattr(model, ask)(text)
    if hasattr(model, "analyse"):  # a tagger with hidden states
        model.analyse(text[0], kbest=2)


_USES: dict[str, Callable[[Any], object]] = {
    "pipeline": _pipeline,
    "const": _const,
    "dep": _dep,
    "lex": lambda model: model.rank(["a"]),
    "words": _words,
    "hmm": _hmm,
    "tagger": lambda model: model.kbest(["a", "b"], 2),
}
