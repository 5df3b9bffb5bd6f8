"""Sequences: hidden Markov models by spectral estimators, recovered parameters and EM; taggers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.sequences.hmm.model import HMM
    from eigentext.sequences.hmm.parameters import Parameters
    from eigentext.sequences.observations import Encoded, Symbols
    from eigentext.sequences.spectral.model import SpectralHMM
    from eigentext.sequences.tagger.model import LatentTagger

__all__ = ["HMM", "Encoded", "LatentTagger", "Parameters", "SpectralHMM", "Symbols"]

_HOME_OF = {
    "HMM": "hmm.model",
    "Encoded": "observations",
    "LatentTagger": "tagger.model",
    "Parameters": "hmm.parameters",
    "SpectralHMM": "spectral.model",
    "Symbols": "observations",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"eigentext.sequences.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'eigentext.sequences' has no attribute {name!r}")
