"""Frames of Zstandard, by whichever library this Python has."""

from __future__ import annotations

import io

from eigentext.base.files.archives import packer, unpacked


def compress(raw: bytes) -> bytes:
    """One frame with this content."""
    frame = io.BytesIO()
    with packer(".zst", frame) as out:
        out.write(raw)
    return frame.getvalue()


def decompress(packed: bytes) -> bytes:
    """The content of frames."""
    return b"".join(unpacked("a.zst", iter([packed])))
