"""Names of what is imported only when it is needed: models by the kind of their files, and parts.

A part stands above the rooms that use it: in the laboratory (``lab``), or in the code for graphics
cards (``accel``).  They import those rooms, and are known there by the strings of ``PARTS`` alone.

Models have names, too: ``eigentext model make english`` and ``eigentext model get`` put one into
the folder that ``EIGENTEXT_MODELS`` names, or else ``eigentext/models`` where the user's data lies
by the XDG rule (``XDG_DATA_HOME``, or else ``~/.local/share``).  From then on ``english`` does
wherever the path of a model does; a file that exists goes before a name.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from eigentext.base.files.storage import Source, is_url
from eigentext.errors import DataError, ModelFileError, SettingsError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
_SUFFIX = ".model"

NO_MODEL = "a file that is no eigentext model"  # what `no_model` says of a file


class ModelKind(NamedTuple):
    """What a model is called, how it is made (after ``eigentext``), and its class."""

    what: str
    command: str
    home: str = ""  # ``module:Class``: nothing is imported before it is needed


# kind -> what it is called, and the command that makes it
_NAMES = {
    "blocked-hmm": ("a hidden Markov model with blocked emissions", "hmm train-blocked"),
    "bracketer": ("a bracketer learned without trees", "lab train-bracketer"),
    "class-bigram": ("a language model of word classes", "words train-lm"),
    "class-automata": ("automata of strings, one a class", "lab train-automaton --of classes"),
    "clusters": ("word clusters", "words cluster"),
    "counts": ("counts of words", "words count"),
    "dependency-generative": ("a generative dependency parser", "dep train-generative"),
    "dependency-reranker": ("a reranker of dependency trees", "dep train-reranker"),
    "embeddings": ("word vectors", "words embed"),
    "graph-parser": ("a dependency parser", "dep train"),
    "hmm": ("a hidden Markov model", "hmm train"),
    "kbest-lists": ("lists of dependency trees", "dep train-reranker --work"),
    "latent-tagger": ("a latent tagger", "hmm train-tagger"),
    "latent-tree": ("a latent tree model", "dep train-latent"),
    "learned-analyzer": ("a learned analyzer", "lex train-analyzer"),
    "lexical": ("a ranker of analyses", "lex train"),
    "lpcfg": ("a constituency parser", "const train"),
    "lrmvl": ("word vectors", "words embed --method lrmvl"),
    "morph-tagger": ("a morphological tagger", ""),
    "multiview": ("word vectors", "words embed --views"),
    "segmenter": ("a segmenter of raw text", ""),
    "pipeline": ("a pipeline", "pipe train"),
    "spectral-hmm": ("a hidden Markov model, as operators", "hmm train-spectral"),
    "topics": ("topics of documents", "words train-topics"),
    "string-automaton": ("an automaton of strings", "lab train-automaton"),
    "string-transducer": ("a transducer of strings", "lab train-automaton --of pairs"),
    "tagger": ("a tagger", "tag train"),
}
# kind -> ``module:Class`` under ``eigentext``
_CLASSES = {
    "blocked-hmm": "sequences.blocked.model:BlockedHMM",
    "bracketer": "lab.induction.model:Bracketer",
    "class-bigram": "words.lm.class_bigram:ClassBigram",
    "class-automata": "lab.automata.classes:ClassAutomata",
    "clusters": "words.clusters.model:SpectralClusters",
    "counts": "counting.counts:Counts",
    "dependency-generative": "dependency.generative.parser:GenerativeParser",
    "dependency-reranker": "dependency.rerank.reranker:Reranker",
    "embeddings": "words.embeddings.cca:CCAEmbedding",
    "graph-parser": "dependency.graph.parser:DependencyParser",
    "hmm": "sequences.hmm.model:HMM",
    "kbest-lists": "dependency.rerank.lists:KBestLists",
    "latent-tagger": "sequences.tagger.model:LatentTagger",
    "latent-tree": "dependency.latent.model:LatentTreeModel",
    "learned-analyzer": "lexical.analyzers.learned:LearnedAnalyzer",
    "lexical": "lexical.ranker.model:LexicalRanker",
    "lpcfg": "constituency.model:LPCFG",
    "lrmvl": "words.embeddings.lrmvl:LRMVL",
    "morph-tagger": "tagging.morphology.tagger:MorphTagger",
    "multiview": "words.embeddings.multiview:MultiviewEmbedding",
    "segmenter": "tagging.segmentation.model:Segmenter",
    "pipeline": "pipeline.model:Pipeline",
    "spectral-hmm": "sequences.spectral.model:SpectralHMM",
    "topics": "words.topics.model:TopicModel",
    "string-automaton": "lab.automata.model:StringAutomaton",
    "string-transducer": "lab.automata.transducer:StringTransducer",
    "tagger": "tagging.sequence.tagger:SequenceTagger",
}
KINDS = {kind: ModelKind(*names, _CLASSES[kind]) for kind, names in _NAMES.items()}

# name -> ``module:attribute`` under ``eigentext``
PARTS = {
    "card": "accel.devices:card",
    "card backend of CuPy": "accel.devices:CupyBackend",
    "HMM passes on a card": "accel.hmm:DeviceMachine",
    "constituency parser on a card": "accel.constituency.parser:CardParser",
    "why no constituency parser on a card": "accel.constituency.parser:why_not_card",
    "automata of characters": "lab.automata.classes:CharacterAutomata",
    "automata of dependents": "lab.experts:HeadAutomata",
    "generative parser of trees and text": "lab.unlabelled.learn:fit_generative",
    "HMM of paths": "lab.experts:PathHMM",
    "HMM of the surface": "lab.experts:SurfaceHMM",
    "HMM from third moments": "lab.tensor.recover:parameters_from_tensor",
    "latent trees of trees and text": "lab.unlabelled.learn:fit_latent",
    "pivot counts": "lab.pivot.learn:pivot_counts",
    "rules in products": "lab.products.rules:in_products",
}


def part(name: str) -> Any:
    """One of ``PARTS``, imported now.

    >>> part("pivot counts").__name__
    'pivot_counts'
    """
    return _at(PARTS[name])


def class_of(kind: str) -> Any:
    """The class that loads files of this kind; None for a kind that is not known."""
    return _at(KINDS[kind].home) if kind in KINDS else None


def _at(home: str) -> Any:
    module, name = home.split(":")
    return getattr(import_module(f"eigentext.{module}"), name)


def wrong_kind(path: str, kind: str, *needed: str) -> ModelFileError:
    """The error for a model that is not one of those needed, in the words of the commands.

    >>> print(wrong_kind("x.model", "clusters", "graph-parser"))
    x.model: holds word clusters (made by `eigentext words cluster`); this needs a dependency \
parser made by `eigentext dep train`
    """
    needs = _wanted(needed)
    what, command, _ = _of(kind)
    origin = f" (made by `eigentext {command}`)" if command else ""
    why = f"holds {what}{origin}; this needs {needs}"
    return ModelFileError(path, content=what, supported=needs, why=why)


def no_model(path: str, *needed: str) -> ModelFileError:
    """The error for a file that is no model, such as a text, where one of those was needed.

    >>> print(no_model("x.txt", "hmm"))
    x.txt: found a file that is no eigentext model, but this needs a hidden Markov model made by \
`eigentext hmm train`
    """
    return ModelFileError(path, content=NO_MODEL, supported=_wanted(needed))


def _wanted(needed: Sequence[str]) -> str:
    """What the commands call these kinds, and how they are made; none: any model."""
    ways: dict[str, list[str]] = {}  # command -> what it makes
    for name in needed:
        what, command, _ = _of(name)
        ways.setdefault(command, []).append(what)
    descriptions = (
        f"{whats[0]} made by `eigentext {way}`" if way else whats[0] for way, whats in ways.items()
    )
    return " or ".join(descriptions) or "a file that eigentext wrote"


def _of(name: str) -> ModelKind:
    return KINDS.get(name, ModelKind(f"a model of kind {name!r}", ""))


def models_folder() -> Path:
    """The folder of the models that have names; it need not be there yet."""
    if chosen := os.environ.get("EIGENTEXT_MODELS"):
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME", "")
    base = Path(data) if os.path.isabs(data) else Path.home() / ".local" / "share"
    return base / "eigentext" / "models"


def is_name(text: str) -> bool:
    """Whether a model may be called so: letters, digits, ``-`` and ``_``, neither dot nor slash.

    >>> is_name("english-gum"), is_name("english.pipe"), is_name("../english")
    (True, False, False)
    """
    return _NAME.fullmatch(text) is not None


def place_of(name: str) -> Path:
    """The file of the model of this name, whether it is there or not.

    >>> place_of("english").name
    'english.model'
    """
    if not is_name(name):
        raise SettingsError(f"{name!r} is no name: expected letters, digits, - and _")
    return models_folder() / f"{name}{_SUFFIX}"


def installed() -> dict[str, Path]:
    """The files of all models that have names, by name, in order."""
    try:
        files_there = sorted(models_folder().glob(f"*{_SUFFIX}"))
    except OSError:
        return {}
    return {path.stem: path for path in files_there if is_name(path.stem) and path.is_file()}


def located(source: Source) -> str:
    """The path that a model's argument stands for: itself, or the file of an installed name.

    >>> located("memory://models/a.pipe"), located("no/such.pipe")
    ('memory://models/a.pipe', 'no/such.pipe')
    >>> located("klingon")
    Traceback (most recent call last):
    ...
    eigentext.errors.DataError: klingon: no such file, and no model of this name: \
`eigentext model list` shows those that there are
    """
    path = os.fspath(source)
    if path == "-" or is_url(path) or os.path.isfile(path) or not is_name(path):
        return path
    file = place_of(path)
    if file.is_file():
        return str(file)
    if os.path.exists(path):  # a folder, a pipe: who opens it says what is wrong
        return path
    if (files("eigentext") / "recipes" / f"{path}.toml").is_file():
        why = f"not made yet: `eigentext model make {path}` makes it"
    else:
        list_them = "`eigentext model list` shows those that there are"
        why = f"no such file, and no model of this name: {list_them}"
    raise DataError(path, None, why)
