"""Words of other libraries: each is an error that names ours."""

from __future__ import annotations

import pytest

from eigentext import HMM, LPCFG, CCAEmbedding, Tree
from eigentext.base.foreign import METHODS, SETTINGS, TREE
from eigentext.base.model import Model, NotFittedError
from eigentext.base.settings import declared, types_of
from eigentext.base.values import Anything, shown
from eigentext.errors import SettingsError
from helpers.small_models import SMALL

CLASSES = sorted({model.kind for model in SMALL.values()}, key=lambda kind: kind.__name__)
TREE_OF_TWO = Tree.from_brackets("(S (A a) (B b))")


@pytest.mark.parametrize("kind", CLASSES)
def test_settings_of_others(kind: type[Model]) -> None:
    ours = declared(kind)
    for word in ["n_jobs", "verbose", *SETTINGS]:
        if word in ours:
            continue
        with pytest.raises(TypeError, match=f"{kind.__name__} has no setting {word!r}: ") as error:
            kind(**{word: 1})
        candidates = [name for name in SETTINGS.get(word, "").split() if name in ours]
        if candidates:
            assert str(error.value).endswith(f": use {candidates[0]}")
        with pytest.raises(SettingsError, match=f"has no setting {word!r}: "):
            kind().set_params(**{word: 1})


@pytest.mark.parametrize("kind", CLASSES)
def test_methods_of_others(kind: type[Model]) -> None:
    model = kind()
    for word, candidates in METHODS.items():
        ours = [name for name in candidates.split() if hasattr(kind, name)]
        if not hasattr(kind, word):
            assert not hasattr(model, word)
            with pytest.raises(AttributeError, match=f"use {ours[0]}$" if ours else word):
                getattr(model, word)


def test_every_word_helps_somewhere() -> None:
    for word, candidates in METHODS.items():
        assert any(
            not hasattr(kind, word) and any(hasattr(kind, name) for name in candidates.split())
            for kind in CLASSES
        ), word
    for word, candidates in SETTINGS.items():
        assert any(
            word not in declared(kind) and set(candidates.split()) & set(declared(kind))
            for kind in CLASSES
        ), word


def test_some_by_name() -> None:
    for act, words in (
        (lambda: LPCFG(n_components=8), "LPCFG has no setting 'n_components': use n_states"),
        (lambda: LPCFG(n_jobs=8), "'n_jobs': cores are used where they help"),
        (lambda: HMM(random_state=1), "use seed"),
        (lambda: HMM(max_iter=1), "use n_iter"),
        (lambda: HMM(verbose=True), r"use fit\(..., progress=print\)"),
        (lambda: HMM(n_stats=1), "use n_states"),
        (lambda: HMM(foo=1), "has no setting 'foo': it has n_states, vocab_size, min_count"),
        (lambda: CCAEmbedding().most_similar, "CCAEmbedding has no most_similar: use neighbours"),
        (lambda: CCAEmbedding().wv, "has no wv: use embeddings_"),
        (lambda: HMM().nothing, "'HMM' object has no attribute 'nothing'"),
        (lambda: Tree("(S (A a))"), r"use Tree.from_brackets\(text\)"),
        (lambda: Tree("S", []), "from_nested"),
        (lambda: Tree(labels="ab", sizes=[1]), "labels, one string a node"),
        (lambda: Tree.fromstring, "use from_brackets"),
        (lambda: TREE_OF_TWO.leaves(), "use words"),
        (lambda: TREE_OF_TWO.nothing, "Tree has no attribute 'nothing'$"),
    ):
        with pytest.raises((TypeError, AttributeError), match=words):
            act()
    with pytest.raises(NotFittedError, match="learned nothing yet"):
        HMM().spread_  # noqa: B018  a property keeps its own error


def test_words_of_trees() -> None:
    for word in TREE:
        assert not hasattr(Tree, word)
        assert not hasattr(TREE_OF_TWO, word)


@pytest.mark.parametrize("kind", CLASSES)
def test_the_docstring_explains_every_setting(kind: type[Model]) -> None:
    head, _, section = (kind.__doc__ or "").partition("\n\nParameters\n----------\n")
    assert head
    entries = {}
    for line in section.splitlines():
        if line[0] != " ":
            name, _, rest = line.partition(" : ")
            entries[name] = [rest]
        else:
            entries[name].append(line.strip())
    types = types_of(kind)
    assert list(entries) == list(declared(kind))
    for name, setting in declared(kind).items():
        first, *words = entries[name]
        assert first == f"{types[name]}, default={shown(setting.default)}"
        assert types[name]
        assert "Anything" not in types[name]
        assert " ".join(words).split() == setting.help.split()
        if not isinstance(setting.value, Anything) and setting.value.optional:
            assert "None" in types[name]
