"""The bytes of a model with other parts than it has."""

from __future__ import annotations

from typing import Any

from eigentext.base import modelfile


def changed(model: Any, **parts: dict[str, Any]) -> bytes:
    """The file of a model with these ``arrays``, ``strings`` or ``facts``; None: without it."""
    whole = model._parts(None)
    for kind, others in parts.items():
        items = {**whole[kind], **others}
        whole[kind] = {name: item for name, item in items.items() if item is not None}
    return modelfile.dumps(**whole)
