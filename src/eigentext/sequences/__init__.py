"""Sequences: hidden Markov models by spectral estimators, recovered parameters and EM; taggers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from eigentext.sequences.hmm import HMM
    from eigentext.sequences.observations import Encoded, Symbols
    from eigentext.sequences.parameters import Parameters
    from eigentext.sequences.spectral import SpectralHMM
    from eigentext.sequences.tagger import LatentTagger

__all__ = ["HMM", "Encoded", "LatentTagger", "Parameters", "SpectralHMM", "Symbols"]

_HOME_OF = {
    "HMM": "hmm",
    "Encoded": "observations",
    "LatentTagger": "tagger",
    "Parameters": "parameters",
    "SpectralHMM": "spectral",
    "Symbols": "observations",
}


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"eigentext.sequences.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'eigentext.sequences' has no attribute {name!r}")
