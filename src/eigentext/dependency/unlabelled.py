"""Sentences without trees: what a model is asked to learn from them, and what became of them.

The learning itself is in the laboratory (``lab/unlabelled``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.language.formats.conllu import ConlluBlock


@dataclass(frozen=True)
class Unlabelled:
    """Sentences with tags and without trees, for a generative parser or a latent tree model.

    ``sentences``  of CoNLL-U; their heads are not looked at
    ``weight``     what a count in them is worth beside one in a tree; None: by held-out trees
    ``rounds``     EM iterations over trees and sentences; a latent tree model has its ``n_iter``
    ``trees``      ``all`` trees of a sentence by their posteriors, or its ``best`` tree alone;
                   ``all`` are a short list of the best ones in a latent tree model
    """

    sentences: Sequence[ConlluBlock]
    weight: float | None = None
    rounds: int = 3
    trees: Literal["all", "best"] = "all"


class UnlabelledReport(NamedTuple):
    """What became of sentences without trees.

    ``weight``    that they counted with; 0: not at all
    ``n_used``    how many there were;  ``n_left_out`` how many more were too long
    ``held_out``  by weight, where it was chosen, in percent: UAS, or with a latent tree model in
                  how many pairs the drawn tree scores above another one
    """

    weight: float
    n_used: int
    n_left_out: int
    held_out: dict[float, float]
