"""Every public method of every model: before ``fit``, and with what is no sentence and no tree."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from eigentext.base.model import Estimator, Model, NotFittedError, TableTransformer, Transformer
from eigentext.dependency.latent.operators import SpectralTreeOperators
from eigentext.errors import EigentextError
from eigentext.language.formats.conllu import make_sentence
from helpers import small_models as small
from helpers.small_models import HEADS, SENTENCE, SMALL, TREES, UPOS

CLASSES = sorted(
    {one.kind for one in SMALL.values()} | {SpectralTreeOperators}, key=lambda kind: kind.__name__
)
# what asks nothing of what was learned
FREE = {
    "CONTENT",
    "check",
    "contexts_to_count",
    "from_bytes",
    "load",
    "settings_",
    "most_states",  # of the settings of an LPCFG
    "usual_estimator",
    "noised",
    "observe",  # which, as the next, the laboratory calls
    "scores_of",
    "train",  # which makes a model
}
MANNERS = (Estimator, Transformer, TableTransformer)  # methods of every estimator
CONLLU = {"choose", "tagged_conllu", "tags_for"}  # these take one sentence of CoNLL-U
DEPENDENCY = {"DependencyParser", "GenerativeParser", "Reranker"}


def _argument(kind: Any, method: str, name: str) -> Any:
    """Something that the parameter may be."""
    if name in ("X", "y", "sentences"):
        if kind.__name__ in DEPENDENCY and method != "parse_many":
            return TREES[:1] if method != "trees" else []
        if kind.__name__ == "LPCFG" and method == "score":
            return small.constituent_trees()[:1]
        return UPOS if kind.__name__ == "SpectralClusters" and method != "assign" else [SENTENCE]
    if name == "tree":
        return small.constituent_trees()[0] if kind.__name__ == "LPCFG" else small.tree()
    if name == "heads":
        return HEADS if method == "sample" else [HEADS]
    if name == "path":
        return "memory://small/file"
    plain: dict[str, Any] = {
        "tokens": SENTENCE,
        "device": "auto",
        "sentence": make_sentence(SENTENCE, upos=UPOS) if method in CONLLU else SENTENCE,
        "words": SENTENCE,
        "forms": SENTENCE,
        "tags": UPOS,
        "upos": UPOS,
        "xpos": None,
        "trees": [HEADS] if kind.__name__ == "GenerativeParser" else [small.tree()],
        "parses": small.parses(),
        "documents": small.documents(),
        "tagged": None,
        "table": None,
        "data": None,
        "signs": None,
        "logs": None,
        "n_words": 1,
        "n_sentences": 1,
        "k": 2,
        "word": "dog",
        "symbol": "d",
        "text": "The dog ran.",
        "texts": ["The dog ran."],
        "name": "parser",
        "parser": None,
        "model": None,
        "decided": {},
        "cuts": {},
    }
    return plain[name]


def _public(kind: type[Model]) -> Iterator[str]:
    for name in dir(kind):
        home = next(one for one in kind.__mro__ if name in vars(one))
        ours = home.__module__.startswith("eigentext") and home not in MANNERS
        public = not name.startswith(("_", "fit")) and name not in FREE
        if ours and public and (callable(getattr(kind, name)) or _is_property(kind, name)):
            yield name


def _is_property(kind: type[Model], name: str) -> bool:
    return isinstance(inspect.getattr_static(kind, name), property)


def _call(model: Any, name: str) -> None:
    """The property, or the method with something for each parameter that has no default."""
    value = getattr(model, name)
    given = {
        one.name: _argument(type(model), name, one.name)
        for one in inspect.signature(value).parameters.values()
        if one.default is one.empty and one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
    }
    answer = value(**given)
    if isinstance(answer, Iterator):
        next(answer)


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, id=f"{kind.__name__}.{name}")
        for kind in CLASSES
        for name in _public(kind)
    ],
)
def test_a_model_that_is_not_fitted_says_so_and_nothing_else(kind: Any, name: str) -> None:
    with pytest.raises(NotFittedError, match=f"this {kind.__name__} has learned nothing yet"):
        _call(kind(), name)


# ---------------------------------------------------------------- what is no sentence and no tree

NO_LIST = ("the dog", b"the dog", None, 7)
NO_ITEMS = ([[1, 2], [3]], [7], [None], ["the dog"])
MANY = ("X", "sentences", "documents", "trees")  # names of parameters that take several
ONE = ("tokens", "tree", "sentence", "forms", "words")
# for these a text is a string of characters, as good as a list of symbols
OF_CHARACTERS = ("ClassAutomata", "StringAutomaton", "StringTransducer")


def _methods() -> Iterator[Any]:
    for name in SMALL:
        kind = SMALL[name].kind
        if " " in name:  # another model of the same class
            continue
        for method in ("fit", *_public(kind)):
            if _is_property(kind, method) or method == "trees":
                continue  # which takes records of sentences
            for parameter in inspect.signature(getattr(kind, method)).parameters:
                heads = (kind.__name__, parameter) == ("GenerativeParser", "trees")
                if parameter in MANY + ONE and not heads:
                    yield pytest.param(name, method, parameter, id=f"{kind.__name__}.{method}")


def _outcome(model: Any, method: str, parameter: str, value: Any, **more: Any) -> str:
    """What the error says; nothing where there is none."""
    ask = getattr(model, method)
    given = {
        one.name: _argument(type(model), method, one.name)
        for one in inspect.signature(ask).parameters.values()
        if one.default is one.empty and one.kind is not one.VAR_KEYWORD
    }
    try:
        answer = ask(**{**given, parameter: value, **more})
        if isinstance(answer, Iterator):
            list(answer)
    except EigentextError as error:
        return str(error)
    return ""


_TRAINED: dict[str, Any] = {}


@pytest.mark.parametrize(("name", "method", "parameter"), list(_methods()))
def test_what_is_no_sentence_and_no_tree_is_refused(
    name: str, method: str, parameter: str
) -> None:
    if name not in _TRAINED:
        _TRAINED[name] = SMALL[name].trained()
    model = SMALL[name].untrained() if method == "fit" else _TRAINED[name]
    text = ["the dog"] if parameter in MANY else "the dog"
    for value in (*NO_LIST, *(NO_ITEMS if parameter in MANY else [[1, 2]])):
        if value == text and type(model).__name__ in OF_CHARACTERS:
            continue
        why = _outcome(model, method, parameter, value)
        # where a treebank may be the name of its file, a text is taken for one
        reasons = ("expected", "is a list of tokens", "a token is", "the dog: no such file")
        assert any(reason in why for reason in reasons), value
    if method in ("fit", "score"):  # nothing to learn from, nothing to score
        nothing = {"y": []} if "y" in inspect.signature(getattr(model, method)).parameters else {}
        assert _outcome(model, method, parameter, [], **nothing)
