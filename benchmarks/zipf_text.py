"""Text of any size whose vocabulary and word pairs grow as those of real text do.

    python benchmarks/zipf_text.py /tmp/text --tokens 1e9 --shard-tokens 25e6 --packed --jobs 2
    python benchmarks/zipf_text.py                # beside real text, of $EIGENTEXT_DATA

The model.  A word is its rank x = 0, 1, 2, ... without end; its probability falls as Zipf's law
has it, with two exponents, as in large corpora (the *law*):

    f(x) ~ (x + q)^-a   up to the rank K,    ~ (x + q)^-b   beyond,   b > 1.

New words therefore never stop coming: n tokens have about n^(1/b) types (Heaps' law).

What follows a word w is a Pitman-Yor process G_w over that law.  Such a process is a list of
atoms: the k-th has a weight that falls as a power of k, and a word drawn from the law.  Neither
has to be kept.  k is drawn from P(k >= j) = (1 + j / c)^-d, and the word of an atom is the law's
quantile at a *hash* of (w, k): the same pair gives the same word each time it comes, the number of
different followers of w grows as a power of its tokens, and memory is nothing.  Three things may
follow:

* with the chance LOOSE, a word of the law, whatever comes before;
* with the chance OWN, an atom of the word itself (a collocation);
* else an atom of its *class*, which is w modulo CLASSES.  An atom that is one of the first CLASSES
  words is that word (a function word); any other names the class only, and the word of that class
  is drawn anew from the law.  So words of a class share what stands before and behind them, and
  that is what clusters and vectors find.

Lines have a length that is drawn from a geometric law, and begin with an atom of a class of their
own.  Blocks of tokens are seeded by their number, so that the text hangs on the seed alone, and a
longer text begins with the shorter one.
"""

from __future__ import annotations

import argparse
import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from _data import data
from numba import njit

BLOCK = 1 << 20  # tokens that are seeded together: lines end with a block
SHARD = 25_000_000
SIZES = (1_000_000, 4_000_000, 12_000_000, 36_000_000)

Ids = np.ndarray[Any, np.dtype[np.int64]]


class Law(NamedTuple):
    """The numbers of the model; those given were fitted to 37 million tokens of English."""

    q: float = 1.15  # shift of the first ranks
    a: float = 0.999  # exponent up to rank K; not 1, for which the integral has another form
    K: float = 16_500.0
    b: float = 1.70  # exponent beyond
    classes: int = 512
    loose: float = 0.02  # chance that a word does not look at what comes before
    own: float = 0.563  # chance of a collocation
    own_c: float = 3.5  # the atoms of a word: where their weights begin to fall, and how fast
    own_d: float = 0.71
    class_c: float = 5.6  # the atoms of a class
    class_d: float = 1.175
    line: float = 25.7  # mean tokens of a line


@njit(cache=True, nogil=True, inline="always")
def _mixed(z):
    """The finaliser of SplitMix64: a good hash of 64 bits."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@njit(cache=True, nogil=True, inline="always")
def _unit(z):
    """Bits to a number above 0 and at most 1."""
    return (np.float64(z >> np.uint64(11)) + 1.0) / 9007199254740992.0


@njit(cache=True, nogil=True, inline="always")
def _ranked(u, q, a, K, b, head, share):
    """The word x with P(word > x) = u: the law's quantile, by the inverse of its integral.

    ``head`` is the integral of (x + q)^-a from 0 to K, ``share`` the probability of that part.
    """
    if u > 1.0 - share:
        low = q ** (1.0 - a) + (1.0 - a) * head * (1.0 - u) / share
        return np.int64(low ** (1.0 / (1.0 - a)) - q)
    rest = (K + q) * (u / (1.0 - share)) ** (1.0 / (1.0 - b)) - q
    return np.int64(min(rest, 1e15))


@njit(cache=True, nogil=True, inline="always")
def _atom(u, c, d):
    """The number k of an atom, P(k >= j) = (1 + j / c)^-d."""
    return np.uint64(min(c * (u ** (-1.0 / d) - 1.0), 1e15))


@njit(cache=True, nogil=True)
def _draw(seed, law, out):
    """Words with -1 after each line, into ``out``; returns how many places are used."""
    q, a, K, b, classes, loose, own, own_c, own_d, class_c, class_d, line = law
    head = ((K + q) ** (1.0 - a) - q ** (1.0 - a)) / (1.0 - a)
    tail = (K + q) ** (1.0 - a) / (b - 1.0)
    share = head / (head + tail)
    state = seed
    step = np.uint64(0x9E3779B97F4A7C15)
    n_tokens = 0
    used = 0
    before = np.int64(-1)  # the word before; -1 where a line begins
    while n_tokens < BLOCK:
        state += step
        kind = _unit(_mixed(state))
        state += step
        fresh = _unit(_mixed(state))
        if kind <= loose:
            word = _ranked(fresh, q, a, K, b, head, share)
        else:
            is_own = before >= 0 and kind <= loose + own
            if is_own:
                key = np.uint64(before) * np.uint64(2) + np.uint64(1)
                k = _atom(fresh, own_c, own_d)
            else:
                group = np.uint64(classes) if before < 0 else np.uint64(before % classes)
                key = group * np.uint64(2)
                k = _atom(fresh, class_c, class_d)
            # the word of atom k: the law's quantile at a hash
            place = _unit(_mixed(_mixed(key * step + np.uint64(1)) + k * step))
            word = _ranked(place, q, a, K, b, head, share)
            if not is_own and word >= classes:
                group = word % classes
                state += step
                # only the words from ``classes`` on: their part of the law lies below this u
                word = _ranked(
                    _unit(_mixed(state)) * _above(classes, law, head, share),
                    q,
                    a,
                    K,
                    b,
                    head,
                    share,
                )
                word += group - word % classes
        out[used] = word
        used += 1
        n_tokens += 1
        before = word
        state += step
        if _unit(_mixed(state)) * line <= 1.0:
            out[used] = -1
            used += 1
            before = np.int64(-1)
    if before >= 0:
        out[used] = -1
        used += 1
    return used


@njit(cache=True, nogil=True, inline="always")
def _above(x, law, head, share):
    """P(word >= x) for x up to K."""
    q, a = law[0], law[1]
    return 1.0 - share * ((x + q) ** (1.0 - a) - q ** (1.0 - a)) / (1.0 - a) / head


def block_ids(number: int, law: Law, seed: int) -> Ids:
    """Block ``number`` of the text, as words with -1 after each line."""
    begin = np.random.SeedSequence([seed, number]).generate_state(1, np.uint64)[0]
    out = np.empty(2 * BLOCK + 1, dtype=np.int64)
    return out[: _draw(begin, law, out)]


@njit(cache=True, nogil=True)
def _spell(ids, out):
    """Words as text into ``out``, a line feed for -1; returns how many bytes are used.

    A word is its rank in digits of 25 syllables, such as ``ka`` or ``moli``: different ranks are
    different words, and frequent ones are short (a token has 4.3 letters, as in English).
    """
    consonants = (107, 108, 109, 110, 115)  # k l m n s
    vowels = (97, 101, 105, 111, 117)  # a e i o u
    used = 0
    begins = True
    for word in ids:
        if word < 0:
            out[used] = 10
            used += 1
            begins = True
            continue
        if not begins:
            out[used] = 32
            used += 1
        begins = False
        rest = word + 1
        while rest > 0:
            digit = (rest - 1) % 25
            out[used] = consonants[digit // 5]
            out[used + 1] = vowels[digit % 5]
            used += 2
            rest = (rest - 1) // 25
    return used


def block_text(number: int, law: Law, seed: int) -> bytes:
    """Block ``number`` of the text."""
    ids = block_ids(number, law, seed)
    out = np.empty(24 * len(ids), dtype=np.uint8)  # a rank below 10^15 has at most 11 syllables
    return out[: _spell(ids, out)].tobytes()


def shard_name(folder: Path, number: int, packed: bool) -> Path:
    """Where shard ``number`` is."""
    return folder / f"{number:05d}.txt{'.zst' if packed else ''}"


def write_shards(
    folder: Path,
    n_tokens: int,
    *,
    seed: int = 0,
    law: Law | None = None,
    shard_tokens: int = SHARD,
    packed: bool = False,
    jobs: int = 1,
) -> list[Path]:
    """Write the text into files of a folder; those that are there already are kept.

    The number of tokens is rounded up to whole blocks.
    """
    from eigentext.base.files.opening import atomic_write

    folder.mkdir(parents=True, exist_ok=True)
    per_shard = max(1, shard_tokens // BLOCK)
    n_blocks = -(-n_tokens // BLOCK)
    chosen = law or Law()

    def write(first: int) -> Path:
        path = shard_name(folder, first // per_shard, packed)
        if not path.exists():
            with atomic_write(path) as out:
                for number in range(first, min(first + per_shard, n_blocks)):
                    out.write(block_text(number, chosen, seed))
        return path

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(write, range(0, n_blocks, per_shard)))


def growth(ids: Ids, sizes: tuple[int, ...]) -> list[dict[str, int]]:
    """Types and pairs of the first so many tokens, and how many of them came once."""
    place = np.cumsum(ids >= 0)
    rows = []
    for size in sizes:
        part = ids[: np.searchsorted(place, size) + 1]
        inside = (part[:-1] >= 0) & (part[1:] >= 0)
        # a word has far fewer than 40 bits, and a pair is hashed into 64
        pairs = part[:-1][inside] * 0x9E3779B97F4A7C1 + part[1:][inside]
        row = {"tokens": size}
        for name, seen in (("types", part[part >= 0]), ("pairs", pairs)):
            counts = np.unique(seen, return_counts=True)[1]
            row |= {name: len(counts), f"{name}_once": int(np.count_nonzero(counts == 1))}
        rows.append(row)
    return rows


def real_ids(seed: int = 0) -> Ids:
    """All lines of the real text, as words with -1 after each, in an order of chance.

    The files are of different kinds: one after the other they would have steps in their curve.
    """
    from eigentext.counting.encoding import encode_files

    ids = encode_files([str(data() / "text" / "*.txt.xz")]).ids.astype(np.int64)
    ends = np.flatnonzero(ids < 0) + 1
    begins = np.append(0, ends[:-1])
    order = np.random.default_rng(seed).permutation(len(ends))
    sizes = (ends - begins)[order]
    moved = np.repeat(begins[order] - np.append(0, np.cumsum(sizes)[:-1]), sizes)
    return ids[moved + np.arange(len(ids))]


def check(seed: int, target: str | None) -> None:
    """Print the growth of generated and real text side by side."""
    began = time.process_time()
    n_blocks = -(-SIZES[-1] // BLOCK)
    ids = np.concatenate([block_ids(number, Law(), seed) for number in range(n_blocks)])
    seconds = time.process_time() - began
    print(f"{len(ids) / seconds / 1e6:.1f} million words a second are drawn by one core")
    made, real = growth(ids, SIZES), growth(real_ids(), SIZES)
    head = f"{'tokens':>12} " + "".join(f"{name:>31}" for name in list(made[0])[1:])
    print(head, f"{'':>12} " + f"{'made':>12}{'real':>11}{'ratio':>8}" * 4, sep="\n")
    for ours, theirs in zip(made, real, strict=True):
        cells = [
            f"{ours[name]:>12,}{theirs[name]:>11,}{ours[name] / theirs[name]:>8.3f}"
            for name in list(ours)[1:]
        ]
        print(f"{ours['tokens']:>12,} " + "".join(cells))
    for name in ("types", "pairs"):
        shown = []
        for rows in (made, real):
            steps = np.diff(np.log([(row["tokens"], row[name]) for row in rows]), axis=0)
            shown.append(" ".join(f"{slope:.3f}" for slope in steps[:, 1] / steps[:, 0]))
        print(f"exponents of growth, {name}: made {shown[0]}, real {shown[1]}")
    if target:
        Path(target).write_text(json.dumps({"made": made, "real": real}, indent=1) + "\n")


def main() -> None:
    """Write a text, or without a folder check the model."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", nargs="?", type=Path, help="where the shards go")
    parser.add_argument("--tokens", type=float, default=1e6)
    parser.add_argument("--shard-tokens", type=float, default=SHARD)
    parser.add_argument("--packed", action="store_true", help="shards are .zst")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", help="figures of the check go here")
    options = parser.parse_args()
    if options.folder is None:
        check(options.seed, options.json)
    else:
        wall, cpu = time.perf_counter(), time.process_time()
        paths = write_shards(
            options.folder,
            int(options.tokens),
            seed=options.seed,
            shard_tokens=int(options.shard_tokens),
            packed=options.packed,
            jobs=options.jobs,
        )
        size = sum(path.stat().st_size for path in paths)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(f"{len(paths)} files, {size / 1e6:.0f} MB, {cpu:.1f} CPU s, {wall:.1f} s")


if __name__ == "__main__":
    main()
