r"""Pure metrics, which learners may call; a scorer takes files, Docs, or what it scores itself.

>>> from eigentext import Doc, evaluate
>>> gold = Doc.from_conllu("1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n")
>>> evaluate.conll18.evaluate(gold, gold)["UPOS"].f1, evaluate.attachment.evaluate(gold, gold).las
(100.0, 100.0)
"""

from __future__ import annotations

from eigentext.base.lazy import lazy

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {},
    modules="agreement attachment bootstrap clustering conll18 ner parseval ranking "
    "similarity tree_files",
)
