"""The laboratory: what answers a remark of the papers and does not pay by its own page.

The core knows these models, starts and parts by their names alone, and imports none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.lab.automata.classes import ClassAutomata as ClassAutomata
    from eigentext.lab.automata.model import StringAutomaton as StringAutomaton
    from eigentext.lab.automata.transducer import StringTransducer as StringTransducer
    from eigentext.lab.induction.model import Bracketer as Bracketer

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "automata.classes": "ClassAutomata",
        "automata.model": "StringAutomaton",
        "automata.transducer": "StringTransducer",
        "induction.model": "Bracketer",
    },
)
