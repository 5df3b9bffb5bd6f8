"""What each kind of model file holds, and the command that makes it."""

from __future__ import annotations

from typing import NamedTuple

from eigentext.errors import ModelFileError

__all__ = ["KINDS", "Kind", "wrong_kind"]


class Kind(NamedTuple):
    """What a model is called, and how it is made (after ``eigentext``)."""

    what: str
    command: str


KINDS = {
    "class-bigram": Kind("a language model of word classes", "words lm train"),
    "clusters": Kind("word clusters", "words cluster"),
    "counts": Kind("counts of words", "words count"),
    "dependency-generative": Kind(
        "a generative dependency parser", "dep train --model generative"
    ),
    "dependency-reranker": Kind("a reranker of dependency trees", "dep rerank"),
    "embeddings": Kind("word vectors", "words embed"),
    "graph-parser": Kind("a dependency parser", "dep train"),
    "hmm": Kind("a hidden Markov model", "hmm train"),
    "kbest-lists": Kind("lists of dependency trees", "dep rerank --work"),
    "latent-tagger": Kind("a latent tagger", "hmm train --tagged"),
    "latent-tree": Kind("a latent tree model", "dep latent"),
    "learned-analyzer": Kind("a learned analyzer", "lex learn-analyzer"),
    "lexical": Kind("a ranker of analyses", "lex train"),
    "lpcfg": Kind("a constituency parser", "const train"),
    "lrmvl": Kind("word vectors", "words embed --method lrmvl"),
    "spectral-hmm": Kind("a hidden Markov model, as operators", "hmm train"),
    "tagger": Kind("a tagger", "tag train"),
}


def wrong_kind(path: str, found: str, *needed: str) -> ModelFileError:
    """The error for a model that is not one of those needed, in the words of the commands.

    >>> print(wrong_kind("x.model", "clusters", "graph-parser"))
    x.model: holds word clusters (made by `eigentext words cluster`); this needs a dependency \
parser made by `eigentext dep train`
    """
    ways: dict[str, list[str]] = {}  # command -> what it makes
    for name in needed:
        what, command = _of(name)
        ways.setdefault(command, []).append(what)
    wanted = " or ".join(
        f"{whats[0]} made by `eigentext {way}`" if way else whats[0] for way, whats in ways.items()
    )
    what, command = _of(found)
    made = f" (made by `eigentext {command}`)" if command else ""
    why = f"holds {what}{made}; this needs {wanted}"
    return ModelFileError(path, found=what, supported=wanted, why=why)


def _of(name: str) -> Kind:
    return KINDS.get(name, Kind(f"a model of kind {name!r}", ""))
