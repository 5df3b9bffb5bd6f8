"""Estimators with the manners of scikit-learn, which is not imported for them.

``clone``, pipelines, searches and ``check_is_fitted`` ask an estimator for its methods, not for
its class: those methods are here.  Only what hands over an object of scikit-learn's own, the tags,
imports it, and then somebody else has.  Its ``NotFittedError`` is one thing that goes by class:
ours (:mod:`eigentext.base.model`) is a ValueError and an AttributeError, as that one is, and
``except`` takes it by either or by its own name.
"""

from __future__ import annotations

import inspect
import sys
from html import escape
from typing import TYPE_CHECKING, Any, Self

from eigentext.base import foreign
from eigentext.base.values import shown
from eigentext.errors import MissingExtraError, SettingsError

_CONTAINERS = ("default", "pandas", "polars")


class Estimator:
    """Something with settings, the arguments of its constructor, and ``fit``."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        """The settings and what each is by default."""
        _, *parameters = inspect.signature(cls.__init__).parameters.values()
        return {parameter.name: parameter.default for parameter in parameters}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name; ``deep``: of estimators in them, too: ``name__setting``."""
        params = {}
        for name in self._defaults():
            params[name] = value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                params |= {f"{name}__{inner}": each for inner, each in value.get_params().items()}
        return params

    def set_params(self, **params: object) -> Self:
        """Set some anew, by the names of :meth:`get_params`."""
        names = self._defaults()
        of_inner: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, nested, inner = name.partition("__")
            if outer not in names:
                raise SettingsError(foreign.no_setting(type(self), outer, names))
            if nested:
                of_inner.setdefault(outer, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, settings in of_inner.items():
            getattr(self, name).set_params(**settings)
        return self

    def _changed(self) -> dict[str, Any]:
        """The settings that are not what they are by default."""
        return {
            name: getattr(self, name)
            for name, default in self._defaults().items()
            if not is_same(getattr(self, name), default)
        }

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={shown(value)}" for name, value in self._changed().items())
        return f"{type(self).__name__}({settings})"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>"

    def __sklearn_is_fitted__(self) -> bool:
        return any(name.endswith("_") and not name.startswith("_") for name in vars(self))

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import Tags, TargetTags

        return Tags(estimator_type=None, target_tags=TargetTags(required=False))

    if not TYPE_CHECKING:  # where types are checked, names are known already

        def __new__(cls, *values: object, **settings: object) -> Any:
            """Refuse a setting that is none, before ``__init__`` does without advice."""
            names = cls._defaults() if settings else {}
            for name in settings:
                if name not in names:
                    raise TypeError(foreign.no_setting(cls, name, names))
            return super().__new__(cls)

        def __getattr__(self, name: str) -> Any:
            advice = foreign.no_method(type(self), name)
            if advice:
                raise AttributeError(advice, name=name, obj=self)
            # the usual message; of a property that found nothing learned, its own
            return object.__getattribute__(self, name)


class Transformer(Estimator):
    """An estimator with ``transform``."""

    def fit_transform(self, X: object, y: object = None, **more: object) -> Any:
        """``fit`` to the data, and what ``transform`` makes of them."""
        estimator: Any = self
        return estimator.fit(X, y, **more).transform(X)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags()
        return tags


class TableTransformer(Transformer):
    """One whose answers are tables, with a row a sample and ``get_feature_names_out``."""

    # the name by which scikit-learn asks and clones this
    _sklearn_output_config: dict[str, str]

    def set_output(self, *, transform: str | None = None) -> Self:
        """What ``transform`` gives: an array (``default``), or a frame of pandas or polars."""
        if transform is not None and transform not in _CONTAINERS:
            kinds = ", ".join(map(repr, _CONTAINERS))
            raise SettingsError(f"transform is {shown(transform)}, expected one of {kinds}")
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _table(self, rows: object) -> Any:
        """The rows in what :meth:`set_output` or the configuration of scikit-learn asks for."""
        chosen = vars(self).get("_sklearn_output_config", {}).get("transform")
        if chosen is None and "sklearn" in sys.modules:
            import sklearn

            chosen = sklearn.get_config()["transform_output"]
        if chosen in (None, "default"):
            return rows
        estimator: Any = self
        names = estimator.get_feature_names_out().tolist()
        try:
            if chosen == "polars":
                import polars

                return polars.DataFrame(rows, schema=names, orient="row")
            import pandas

            return pandas.DataFrame(rows, columns=names)
        except ImportError:
            raise MissingExtraError(f"tables of {chosen}", modules=[chosen]) from None


def is_same(value: object, default: object) -> bool:
    """Whether a setting is what it is by default."""
    return type(value) is type(default) and bool(value == default)
