"""Tags of tokens: words -> feature rows -> averaged perceptron -> tags, best or n-best."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.tagging.tagger import SequenceTagger, Tagging

__all__ = ["SequenceTagger", "Tagging"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("eigentext.tagging.tagger"), name)
    raise AttributeError(f"module 'eigentext.tagging' has no attribute {name!r}")
