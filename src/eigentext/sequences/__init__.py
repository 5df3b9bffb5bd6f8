"""Sequences: hidden Markov models by spectral estimators, recovered parameters and EM; taggers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.sequences.blocked.model import BlockedHMM as BlockedHMM
    from eigentext.sequences.hmm.model import HMM as HMM
    from eigentext.sequences.hmm.parameters import Parameters as Parameters
    from eigentext.sequences.observations import Encoded as Encoded
    from eigentext.sequences.observations import Symbols as Symbols
    from eigentext.sequences.spectral.model import SpectralHMM as SpectralHMM
    from eigentext.sequences.tagger.model import LatentTagger as LatentTagger

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "blocked.model": "BlockedHMM",
        "hmm.model": "HMM",
        "hmm.parameters": "Parameters",
        "observations": "Encoded Symbols",
        "spectral.model": "SpectralHMM",
        "tagger.model": "LatentTagger",
    },
)
