"""Small files of records: the same texts as JSON Lines, Parquet and WET."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def jsonl(texts: list[str], field: str = "text") -> bytes:
    lines = [json.dumps({"id": number, field: text}) for number, text in enumerate(texts)]
    return "".join(f"{line}\n" for line in lines).encode()


def wet(texts: list[str]) -> bytes:
    about = warc_record("warcinfo", b"software: a test\r\n")
    return about + b"".join(warc_record("conversion", text.encode()) for text in texts)


def warc_record(kind: str, content: bytes) -> bytes:
    head = (
        f"WARC/1.0\r\nWARC-Type: {kind}\r\nWARC-Date: 2024-01-01T00:00:00Z\r\n"
        f"WARC-Record-ID: <urn:uuid:1>\r\nContent-Type: text/plain\r\n"
        f"Content-Length: {len(content)}\r\n\r\n"
    )
    return head.encode() + content + b"\r\n\r\n"


def parquet(texts: list[str | None], rows: int = 1000, field: str = "text") -> bytes:
    out = pa.BufferOutputStream()
    column = pa.array(texts, type=pa.string())
    table = pa.table({"id": range(len(texts)), field: column})
    pq.write_table(table, out, row_group_size=rows)
    return out.getvalue().to_pybytes()


def write(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)
