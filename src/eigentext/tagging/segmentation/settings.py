"""Settings of the segmenter, for Python and the commands alike."""

from __future__ import annotations

from dataclasses import dataclass

from eigentext.base.settings import setting
from eigentext.base.values import Whole


@dataclass
class SegmenterSettings:
    """Settings of a segmenter."""

    epochs: int = setting(8, Whole(1, 1000), "Passes over the training text.")
    bits: int = setting(
        18,
        Whole(8, 24),
        "The weights of each stage lie in a table of 2 to this power.",
        flag=False,
    )
    seed: int = setting(0, Whole(0), "Start of every random choice.")
