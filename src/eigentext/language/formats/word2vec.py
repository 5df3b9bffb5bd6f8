r"""Word vectors as word2vec.c, gensim and GloVe keep them, in text and in binary.

Files of word2vec begin with a line ``number-of-words dimension``, for which no
memory is set aside.  Text: ``word x1 x2 ... xd`` a line.  Binary: the word, a space, d
little-endian float32, and (word2vec.c, not gensim) a line end.  Files of GloVe are the same text
without the first line; a word may hold spaces there.  Numbers in text have the fewest digits that
give the same float32.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Iterator, Sequence

import numpy as np

from eigentext.base.files.opening import (
    NO_TEXT,
    OnError,
    Source,
    atomic_write,
    is_model,
    open_binary,
)
from eigentext.errors import DataError

_HEADER = re.compile(rb"[ \t]*([0-9]{1,15})[ \t]+([0-9]{1,15})[ \t]*\r?\n?")
_MOST_DIMENSIONS = 1_000_000
_LONGEST_WORD = 100_000
_LONGEST_FIRST_LINE = 1 << 20
_BLOCK = 1 << 20
_PRINTABLE = re.compile("[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]*")


class Word2VecReader:
    """The vectors of one file, to be gone through once: pairs of word and float32 array.

    ``size`` and ``dim`` are what the first line says, and ``binary`` is which kind the file is.  A
    file without that line has a ``size`` of None, and the dimension of its first vector.
    """

    def __init__(
        self, source: Source, *, binary: bool | None = None, on_error: OnError | None = None
    ) -> None:
        self.path = os.fspath(source)
        self._on_error = on_error
        self._open = contextlib.ExitStack()
        with contextlib.ExitStack() as opening:
            self._stream = opening.enter_context(open_binary(self.path))
            self._first = self._stream.readline(_LONGEST_FIRST_LINE).removeprefix(b"\xef\xbb\xbf")
            self.size, self.dim = _read_header(self.path, self._first, binary=bool(binary))
            if self.size is None:
                binary = False
            self.binary = _looks_binary(self._stream) if binary is None else binary
            self._open = opening.pop_all()

    def __enter__(self) -> Word2VecReader:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; going through all vectors does it too."""
        self._open.close()

    def __iter__(self) -> Iterator[tuple[str, np.ndarray]]:
        if self._stream.closed:
            raise ValueError(f"{self.path}: these vectors were gone through already; open it anew")
        with self:
            if self.binary and self.size is not None:
                yield from self._records(self.size)
            else:
                yield from self._lines(self.size)

    def _lines(self, size: int | None) -> Iterator[tuple[str, np.ndarray]]:
        """Vectors of lines; without a header there is no size, and the first line is one."""
        limit = _LONGEST_WORD + 100 * self.dim
        number = 1 if size is None else 2
        line = self._first if size is None else self._line(number, limit)
        while line:
            content = line.removesuffix(b"\n")
            try:
                if size is not None and number > size + 1:
                    if content.strip():
                        why = f"more vectors than the {size} that the first line announces"
                        raise DataError(self.path, number, why)
                elif size is not None or content.strip():
                    yield _parsed_line(self.path, number, content, self.dim, spaces=size is None)
            except DataError as error:
                if (
                    self._on_error is None
                    or len(content) >= limit
                    or number > (size or number) + 1
                ):
                    raise
                self._on_error(error)
            number += 1
            line = self._line(number, limit)
        if size is not None and number < size + 2:
            why = f"the file ends after {number - 2} vectors, expected {size}"
            raise DataError(self.path, number - 1, why)

    def _line(self, number: int, limit: int) -> bytes:
        try:
            return self._stream.readline(limit)
        except DataError as error:  # a broken archive
            raise DataError(self.path, number, error.why) from error

    def _records(self, size: int) -> Iterator[tuple[str, np.ndarray]]:
        width = 4 * self.dim
        buffer, at = b"", 0
        for number in range(1, size + 1):
            # look for the space that ends the word, reading on as long as there is none
            searched = at
            while (space := buffer.find(b" ", searched)) < 0 or len(buffer) < space + 1 + width:
                if space < 0 and len(buffer) - at > _LONGEST_WORD:
                    raise self._bad(number, f"no space in {_LONGEST_WORD} bytes, expected a word")
                block = self._stream.read(_BLOCK)
                if not block:
                    why = f"the file ends inside it, after {number - 1} of {size} vectors"
                    raise self._bad(number, why)
                buffer, at = buffer[at:] + block, 0
                searched = 0
            raw = buffer[at:space].lstrip(b"\n")
            at = space + 1 + width
            vector = np.frombuffer(buffer, "<f4", self.dim, space + 1).astype(np.float32)
            try:
                word = raw.decode()
            except UnicodeDecodeError:
                raise self._bad(number, f"the word {raw[:40]!r} is not UTF-8") from None
            if not word or "\n" in word:
                raise self._bad(number, f"word {word[:40]!r}, expected one without a line end")
            if not np.isfinite(vector).all():
                raise self._bad(number, f"the vector of {word[:40]!r} holds NaN or infinity")
            yield word, vector
        if (buffer[at:] + self._stream.read(2)).strip(b"\r\n"):
            why = f"more bytes after the {size} vectors that the first line announces"
            raise DataError(self.path, None, why)

    def _bad(self, number: int, why: str) -> DataError:
        return DataError(self.path, None, f"record {number}: {why}")


def _read_header(path: str, line: bytes, *, binary: bool) -> tuple[int | None, int]:
    """Number of words (None where it is not told) and dimension."""
    header = _HEADER.fullmatch(line)
    if not header:
        fields = line.rstrip(b"\r\n ").split(b" ")
        if not binary and len(fields) > 2 and fields[0] and all(map(_is_number, fields[1:])):
            return None, len(fields) - 1
        if is_model(line):
            raise DataError(path, None, f"{NO_TEXT} of vectors, or word2vec's binary one")
        why = f"first line {line[:40]!r}, expected 'number-of-words dimension'"
        raise DataError(path, 1, f"{why}, or a word and its numbers")
    size, dim = int(header[1]), int(header[2])
    if not 1 <= dim <= _MOST_DIMENSIONS:
        raise DataError(path, 1, f"dimension {dim}, expected 1 to {_MOST_DIMENSIONS}")
    return size, dim


def _is_number(field: bytes) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _looks_binary(stream: io.BufferedReader) -> bool:
    """Binary floats all but never make up printable UTF-8."""
    start = stream.peek(4096)[:4096]
    for cut in range(min(4, len(start) + 1)):  # a character may be cut at the end
        with contextlib.suppress(UnicodeDecodeError):
            return not _PRINTABLE.fullmatch(start[: len(start) - cut].decode())
    return True


def _parsed_line(
    path: str, number: int, line: bytes, dim: int, *, spaces: bool = False
) -> tuple[str, np.ndarray]:
    """Word and vector of a line; with ``spaces`` all but the last ``dim`` fields is the word."""
    content = line.removesuffix(b"\r").rstrip(b" ")
    raw, *fields = content.rsplit(b" ", dim) if spaces else content.split(b" ")
    if spaces and b" " in raw and _is_number(raw.rsplit(b" ", 1)[1]):
        raw, *fields = content.split(b" ")  # too many numbers, and not a word of several parts
    if len(fields) != dim:
        raise DataError(path, number, f"{len(fields)} numbers, expected {dim} after the word")
    try:
        word = raw.decode()
    except UnicodeDecodeError:
        raise DataError(path, number, f"the word {raw[:40]!r} is not UTF-8") from None
    if not word:
        raise DataError(path, number, "a space at the start, expected a word")
    try:
        if b"_" in line[len(raw) :]:  # which float() takes
            raise ValueError
        numbers = list(map(float, fields))
    except ValueError:
        bad = next(field for field in fields if b"_" in field or not _is_number(field))
        shown = bad[:40].decode(errors="replace")
        raise DataError(path, number, f"{shown!r}, expected a number") from None
    with np.errstate(over="ignore"):
        vector = np.array(numbers, dtype=np.float32)
    if not np.isfinite(vector).all():
        bad = fields[int(np.flatnonzero(~np.isfinite(vector))[0])]
        raise DataError(path, number, f"{bad[:40]!r}, expected a finite float32 number")
    return word, vector


def read_vectors(
    source: Source, *, binary: bool | None = None, on_error: OnError | None = None
) -> Word2VecReader:
    """Open a file of word vectors; text or binary is found out unless ``binary`` says it.

    ``on_error`` gets the bad lines of a text file; a binary file has no way to go on after one.

    >>> write_vectors(["cat", "dog"], np.array([[1, 0.1], [2, 3]]), "memory://doc/v.txt")
    >>> with read_vectors("memory://doc/v.txt") as vectors:
    ...     print(vectors.size, vectors.dim, [(word, x.tolist()) for word, x in vectors][1])
    2 2 ('dog', [2.0, 3.0])
    """
    return Word2VecReader(source, binary=binary, on_error=on_error)


def load_vectors(
    source: Source, *, binary: bool | None = None, on_error: OnError | None = None
) -> tuple[list[str], np.ndarray]:
    """All words of a file and their vectors as one float32 matrix, one row a word.

    >>> write_vectors(["cat", "dog"], np.eye(2), "memory://doc/e.bin", binary=True)
    >>> words, matrix = load_vectors("memory://doc/e.bin")
    >>> words, matrix.tolist()
    (['cat', 'dog'], [[1.0, 0.0], [0.0, 1.0]])
    """
    words: list[str] = []
    with read_vectors(source, binary=binary, on_error=on_error) as vectors:
        matrix = np.empty((0, vectors.dim), dtype=np.float32)
        for word, vector in vectors:
            if len(words) == len(matrix):  # grown as the vectors come, not as the file claims
                rows = max(2 * len(words), 64)
                rows = rows if vectors.size is None else min(vectors.size, rows)
                matrix.resize((rows, vectors.dim), refcheck=False)
            matrix[len(words)] = vector
            words.append(word)
    matrix.resize((len(words), vectors.dim), refcheck=False)
    return words, matrix


def write_vectors(
    words: Sequence[str], vectors: np.ndarray, path: Source, *, binary: bool = False
) -> None:
    """Write words and their vectors (one row a word, kept as float32).

    >>> write_vectors(["new york"], np.eye(1), "memory://doc/bad.txt")
    Traceback (most recent call last):
    ...
    eigentext.errors.DataError: memory://doc/bad.txt:2: word 'new york': this format separates by \
spaces and line ends, so a word may not be empty or hold one
    """
    target = os.fspath(path)
    if isinstance(words, str):
        raise TypeError("words must be a list of strings, not one string")
    with np.errstate(over="ignore"):
        matrix = np.asarray(vectors).astype(np.float32)
    if matrix.ndim != 2 or len(matrix) != len(words) or not matrix.shape[1]:
        raise ValueError(f"vectors have shape {matrix.shape}, expected ({len(words)}, d >= 1)")
    with atomic_write(target) as out:
        out.write(b"%d %d\n" % matrix.shape)
        for number, (word, vector) in enumerate(zip(words, matrix, strict=True), start=2):
            # in binary the place is a record, but counting the first line serves both
            if not word or re.search("[ \n]", word):
                why = "this format separates by spaces and line ends, so a word may not be empty"
                raise DataError(target, number, f"word {word[:40]!r}: {why} or hold one")
            if not np.isfinite(vector).all():
                raise DataError(target, number, f"the vector of {word[:40]!r} is not finite")
            try:
                name = word.encode() + b" "
            except UnicodeEncodeError as error:
                raise DataError(target, number, f"word {word!r}: a lone surrogate") from error
            if binary:
                out.write(name + vector.astype("<f4").tobytes() + b"\n")
            else:
                out.write(name + " ".join(vector.astype("U").tolist()).encode() + b"\n")
