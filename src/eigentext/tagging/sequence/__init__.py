"""Tags of tokens: words -> feature rows -> averaged perceptron -> tags, best or n-best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.tagging.sequence.tagger import SequenceTagger as SequenceTagger
    from eigentext.tagging.sequence.tagger import Tagging as Tagging

__getattr__, __dir__, __all__ = lazy(__name__, {"tagger": "SequenceTagger Tagging"})
