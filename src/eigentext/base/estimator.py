"""Estimators of scikit-learn that do not need it: they join it when somebody imports it.

Reading scikit-learn takes most of a second, and a model that only answers never asks for it.  So
the classes here have stand-ins as bases.  As soon as ``sklearn.base`` is imported, before or after
this module and by whomever, its own classes take their place (:func:`_join`): ``isinstance``,
``clone``, pipelines and searches find true estimators.  A method of theirs that is called before,
such as ``get_params``, imports scikit-learn.
"""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType

__all__ = ["Clusterer", "Estimator", "NotFitted", "Transformer"]

_HOME = "sklearn.base"


def _later(ours: str, name: str) -> Callable[..., Any]:
    """A method of scikit-learn's class, which takes its place as soon as it is called."""

    def method(self: Any, *positional: Any, **named: Any) -> Any:
        import sklearn.base  # noqa: F401

        return getattr(super(globals()[ours], self), name)(*positional, **named)

    method.__name__ = name
    method.__doc__ = "As in scikit-learn."
    return method


class _Estimator:
    """Stands for ``BaseEstimator``."""

    get_params = _later("Estimator", "get_params")
    set_params = _later("Estimator", "set_params")
    get_metadata_routing = _later("Estimator", "get_metadata_routing")
    __repr__ = _later("Estimator", "__repr__")
    _repr_html_ = _later("Estimator", "_repr_html_")
    _repr_mimebundle_ = _later("Estimator", "_repr_mimebundle_")
    __sklearn_clone__ = _later("Estimator", "__sklearn_clone__")
    __sklearn_tags__ = _later("Estimator", "__sklearn_tags__")


class _Transformer:
    """Stands for ``TransformerMixin``."""

    fit_transform = _later("Transformer", "fit_transform")
    set_output = _later("Transformer", "set_output")
    __sklearn_tags__ = _later("Transformer", "__sklearn_tags__")


class _Clusterer:
    """Stands for ``ClusterMixin``."""

    fit_predict = _later("Clusterer", "fit_predict")
    __sklearn_tags__ = _later("Clusterer", "__sklearn_tags__")


class _NotFitted(ValueError, AttributeError):
    """Stands for ``sklearn.exceptions.NotFittedError``."""


class Estimator(_Estimator):
    """What ``BaseEstimator`` is."""

    if TYPE_CHECKING:  # scikit-learn has no types

        def __getattr__(self, name: str) -> Any: ...


class Transformer(_Transformer):
    """What ``TransformerMixin`` is."""


class Clusterer(_Clusterer):
    """What ``ClusterMixin`` is."""


class NotFitted(_NotFitted):
    """What ``NotFittedError`` is."""


def _join() -> None:
    """Give the classes scikit-learn's own as bases, and their subclasses what these set up."""
    from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin
    from sklearn.exceptions import NotFittedError

    NotFitted.__bases__ = (NotFittedError,)
    Estimator.__bases__ = (BaseEstimator,)
    Transformer.__bases__ = (TransformerMixin,)
    Clusterer.__bases__ = (ClusterMixin,)
    each: Any
    for each in _below(Estimator, Transformer, Clusterer):
        super(each, each).__init_subclass__()


def _below(*classes: type) -> list[type]:
    """The classes and all that are derived from them, a base before what is derived from it."""
    found = dict.fromkeys(classes)
    todo = list(classes)
    while todo:
        more: list[type] = type.__subclasses__(todo.pop())
        found.update(dict.fromkeys(more))
        todo += more
    return sorted(found, key=lambda each: len(each.__mro__))


class _Finder(MetaPathFinder):
    """Finds ``sklearn.base`` as the others do, and hears of it when it has been read."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _HOME:
            return None
        for finder in [other for other in sys.meta_path if other is not self]:
            spec = finder.find_spec(fullname, path, target)
            if spec is not None:
                if spec.loader is not None:
                    spec.loader = _Loader(spec.loader, self)
                return spec
        return None


class _Loader(Loader):
    """Reads the module as its own loader does, and lets our classes join."""

    def __init__(self, own: Any, finder: _Finder) -> None:
        self.own, self.finder = own, finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """As usual."""
        module: ModuleType | None = self.own.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """As usual, and without a trace of this loader and its finder."""
        module.__loader__ = self.own
        if module.__spec__ is not None:
            module.__spec__.loader = self.own
        self.own.exec_module(module)
        if self.finder in sys.meta_path:
            sys.meta_path.remove(self.finder)
            _join()


if _HOME in sys.modules:
    import sklearn.base  # noqa: F401  it may be half read by another thread: this waits for it

    _join()
else:
    sys.meta_path.insert(0, _Finder())
