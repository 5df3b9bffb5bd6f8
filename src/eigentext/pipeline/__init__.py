"""From raw text to everything: sentences, words, tags, features, lemmas and trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.pipeline.model import Pipeline as Pipeline

__getattr__, __dir__, __all__ = lazy(__name__, {"model": "Pipeline"})
