"""Lists of k best trees for many sentences: made, stored, resumed, measured.

Parsers of cross-validation make those of training sentences, which are then as bad as those of
new ones.  With a folder every finished stretch is a file, where a run that was killed goes on.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from eigentext.base.cores import cores_in_use, row_blocks
from eigentext.base.fields import Ints, Reals, Strings
from eigentext.base.folds import held_out
from eigentext.base.hashing import fingerprint
from eigentext.base.model import Stored
from eigentext.base.parallel import in_order
from eigentext.base.progress import Progress
from eigentext.base.ragged import pointers
from eigentext.base.records import Called, Group, Record
from eigentext.base.types import Float32s, Int16s, Int32s, Int64s
from eigentext.base.values import Packed
from eigentext.dependency.graph.labels import LabelledList
from eigentext.dependency.graph.parser import DependencyParser
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import DataError, SettingsError
from eigentext.language.formats.conllu import ConlluBlock

_ARRAYS = ("lengths", "sizes", "heads", "scores")
_STRETCH = 500  # sentences a file


class OneList(NamedTuple):
    """heads (K, n) and scores (K,) of one sentence, best first."""

    heads: Int16s
    scores: Float32s


class Relations(NamedTuple):
    """The relations of all trees of all lists, end to end."""

    names: tuple[str, ...]
    numbers: Int16s  # (heads,) places in ``names``
    # (trees, 2) how sure the parser is of a tree's relations: what ``LabelledList.columns`` says
    margins: Float32s


class KBestLists(Stored):
    """The lists of many sentences; ``made_with`` says by what settings and from what.

    >>> lists = KBestLists.of([([[0, 1], [2, 0]], [3.0, 1.0]), ([[0]], [0.5])])
    >>> len(lists), lists[0].heads.tolist(), lists[1].scores.tolist()
    (2, [[0, 1], [2, 0]], [0.5])
    >>> lists.best_indices([[2, 0], [0]]).tolist()
    [1, 0]
    """

    KIND = "kbest-lists"
    CONTENT = Group(
        lengths=Ints(("lists",), low=0, below=1 << 15),
        sizes=Ints(("lists",), low=1, below=1 << 30),
        heads=Ints(("heads",), ("int16",), 0),
        scores=Reals(("trees",), ("float32",)),
        relations=Record(
            Relations,
            optional=True,
            names=Strings("names", distinct=True),
            numbers=Called("relations", Ints(("heads",), ("int16",), 0)),
            margins=Reals(("trees", 2), ("float32",)),
        ),
    )

    def __init__(
        self,
        lengths: Int64s,
        sizes: Int64s,
        heads: Int16s,
        scores: Float32s,
        *,
        relations: Relations | None = None,
        made_with: Mapping[str, object] | None = None,
    ) -> None:
        self.lengths, self.sizes, self.heads, self.scores = lengths, sizes, heads, scores
        self.relations = relations
        self.made_with = dict(made_with or {})
        self.tree_at = pointers(sizes)  # (N + 1,) where trees of each sentence begin among all
        self._head_at = pointers(sizes * lengths)

    @classmethod
    def of(
        cls,
        lists: Iterable[tuple[npt.ArrayLike, npt.ArrayLike]],
        labels: tuple[Sequence[str], Sequence[LabelledList]] | None = None,
    ) -> KBestLists:
        """From one (heads, scores) pair for each sentence; ``labels``: names, and relations of
        each list as places in them.
        """
        pairs = list(lists)
        heads = [np.atleast_2d(np.asarray(trees, np.int16)) for trees, _ in pairs]
        scores = [np.asarray(values, np.float32) for _, values in pairs]
        nothing_heads, nothing_scores = np.empty(0, np.int16), np.empty(0, np.float32)
        return cls(
            np.array([trees.shape[1] for trees in heads], np.int64),
            np.array([trees.shape[0] for trees in heads], np.int64),
            np.concatenate([*(trees.ravel() for trees in heads), nothing_heads]),
            np.concatenate([*scores, nothing_scores]),
            relations=None if labels is None else _flat_relations(*labels),
        )

    @classmethod
    def joined(cls, parts: Sequence[KBestLists]) -> KBestLists:
        """The lists of several stretches, one after the other."""
        relations = [part.relations for part in parts if part.relations is not None]
        return cls(
            *(np.concatenate([getattr(part, name) for part in parts]) for name in _ARRAYS),
            relations=_joined_relations(relations) if len(relations) == len(parts) else None,
        )

    def __repr__(self) -> str:
        return f"<KBestLists: {len(self):,} sentences, {len(self.scores):,} trees>"

    def __len__(self) -> int:
        return len(self.sizes)

    def __getitem__(self, number: int) -> OneList:
        a, b = self.tree_at[number], self.tree_at[number + 1]
        flat = self.heads[self._head_at[number] : self._head_at[number + 1]]
        return OneList(flat.reshape(b - a, -1), self.scores[a:b])

    def right(self, gold: Sequence[Sequence[int]]) -> Int32s:
        """Number of right heads of every tree of every list, end to end."""
        self._check_gold([len(heads) for heads in gold])
        counts = []
        for number, heads in enumerate(gold):
            counts.append((self[number].heads == np.asarray(heads)).sum(1, dtype=np.int32))
        return np.concatenate([*counts, np.empty(0, np.int32)])

    def _check_gold(self, lengths: Sequence[int]) -> None:
        """Raise SettingsError unless there are so many lists of as many words."""
        if len(lengths) != len(self):
            raise SettingsError(f"{len(lengths)} gold trees for {len(self)} lists")
        for number, length in enumerate(lengths):
            if length != self.lengths[number]:
                raise SettingsError(
                    f"gold tree {number} has {length} words, its list {self.lengths[number]}"
                )

    def best_indices(self, gold: Sequence[Sequence[int]]) -> Int64s:
        """For every sentence the index of the tree with most right heads, the first of equals."""
        right = self.right(gold)
        at = self.tree_at
        return np.array([int(right[at[i] : at[i + 1]].argmax()) for i in range(len(self))])

    def part(self, begin: int, end: int) -> KBestLists:
        """The lists of sentences ``begin`` to ``end``."""
        trees = slice(self.tree_at[begin], self.tree_at[end])
        heads = slice(self._head_at[begin], self._head_at[end])
        labels = self.relations
        return KBestLists(
            *(self.lengths[begin:end], self.sizes[begin:end]),
            *(self.heads[heads], self.scores[trees]),
            relations=None
            if labels is None
            else Relations(labels.names, labels.numbers[heads], labels.margins[trees]),
        )

    def relations_of(self, number: int) -> Int32s:
        """(K, n) relations of the trees of one list, as places in the names."""
        if self.relations is None:
            raise SettingsError("the trees of these lists have no relations")
        flat = self.relations.numbers[self._head_at[number] : self._head_at[number + 1]]
        return flat.reshape(int(self.sizes[number]), -1).astype(np.int32)

    def right_words(self, gold: Sequence[tuple[Sequence[int], Sequence[str]]]) -> Int32s:
        """Words of every tree whose head and relation are right; subtypes of relations are not
        looked at.
        """
        if self.relations is None:
            return self.right([heads for heads, _ in gold])
        self._check_gold([len(heads) for heads, _ in gold])
        main = [name.partition(":")[0] for name in self.relations.names]
        column = {name: at for at, name in enumerate(dict.fromkeys(main))}
        number_of = np.array([column[name] for name in main])
        counts = [np.empty(0, np.int32)]
        for number, (heads, names) in enumerate(gold):
            right = [column.get(name.partition(":")[0], -1) for name in names]
            same = self[number].heads == np.asarray(heads)
            same &= number_of[self.relations_of(number)] == np.asarray(right)
            counts.append(same.sum(1, dtype=np.int32))
        return np.concatenate(counts)

    def _pack(self) -> Packed:
        return self._packed(self.made_with)

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: object) -> KBestLists:
        lists = cls(**vars(cls._unpacked(packed)), made_with=packed.settings)
        lengths, sizes, relations = lists.lengths, lists.sizes, lists.relations
        # the lists fit into the arrays, and no head lies beyond its sentence
        n_heads = lengths * sizes
        if len(lists.heads) != int(n_heads.sum()) or len(lists.scores) != int(sizes.sum()):
            raise ValueError("arrays 'heads' and 'scores' do not fit lengths and sizes of lists")
        if bool(np.any(lists.heads > np.repeat(lengths, n_heads))):
            raise ValueError("array 'heads' holds a head beyond the end of its sentence")
        if relations and bool(np.any(relations.numbers >= len(relations.names))):
            raise ValueError("array 'relations' holds a relation without a name")
        return lists


def _flat_relations(names: Sequence[str], lists: Sequence[LabelledList]) -> Relations:
    numbers = [labels.relations.ravel().astype(np.int16) for labels in lists]
    margins = [labels.columns() for labels in lists]
    return Relations(
        tuple(names),
        np.concatenate([*numbers, np.empty(0, np.int16)]),
        np.concatenate([*margins, np.empty((0, 2), np.float32)]),
    )


def _joined_relations(parts: Sequence[Relations]) -> Relations:
    number_of: dict[str, int] = {}
    numbers = []
    for part in parts:
        new = np.array(
            [number_of.setdefault(name, len(number_of)) for name in part.names], np.int16
        )
        numbers.append(new[part.numbers])
    return Relations(
        tuple(number_of), np.concatenate(numbers), np.concatenate([part.margins for part in parts])
    )


def lists_of(
    parser: DependencyParser,
    sentences: Sequence[ConlluBlock],
    *,
    k: int = 50,
    progress: Progress | None = None,
) -> KBestLists:
    """The k best trees of every sentence under a trained parser, with relations if it has any."""
    from eigentext.dependency.sentence import TaggedSentence

    return tagged_lists(
        parser, list(map(TaggedSentence.from_conllu, sentences)), k=k, progress=progress
    )


def tagged_lists(
    parser: DependencyParser,
    sentences: Sequence[TaggedSentence],
    *,
    k: int,
    progress: Progress | None = None,
) -> KBestLists:
    """The same of sentences as a parser sees them."""
    batch = parser.encoder_.batch(sentences)
    lists, labels = [], []
    for number in range(len(sentences)):
        heads, scores = parser.arcs_.search(batch, number).kbest(k)
        lists.append((heads.astype(np.int16), scores.astype(np.float32)))
        if parser.relations_ is not None:
            rows = slice(batch.starts[number], batch.starts[number + 1])
            labels.append(parser.relations_.label_list(batch.keys[rows], heads))
        if progress is not None:
            progress(number + 1, len(sentences), "k best trees")
    model = parser.relations_
    return KBestLists.of(lists, None if model is None else (model.relations, labels))


def cross_validated(
    parser: DependencyParser,  # gives its settings and stays as it is.
    sentences: Sequence[ConlluBlock],
    *,
    k: int = 50,
    folds: int = 3,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> KBestLists:
    """Lists of training sentences, each fold's by such a parser of the other folds.

    ``folder``: parsers and finished stretches are kept there and found again.  A folder whose
    lists were made from other sentences or settings is a DataError.
    """
    from eigentext.features.word_classes import clusters_of, vector_bits

    parts = []
    settings: dict[str, object] = {"k": k, "folds": folds}
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        settings["sentences"] = fingerprint(sentence.verbatim for sentence in sentences)
        # clusters and vectors by what they are, not by their file's name
        chosen = parser.get_params(deep=False)
        chosen["clusters"] = clusters_of(parser.clusters)
        chosen["vectors"] = vector_bits(parser.vectors)
        settings["parser settings"] = fingerprint(type(parser).__name__, chosen)
    for fold, (others, numbers) in enumerate(held_out(len(sentences), folds)):
        stretches = [numbers[at] for at in row_blocks(len(numbers), _STRETCH)]
        paths = [
            None if folder is None else Path(folder) / f"fold{fold}-{at - numbers[0]:06d}.kbest"
            for at, *_ in stretches
        ]
        todo = [
            [sentences[i] for i in stretch]
            for stretch, path in zip(stretches, paths, strict=True)
            if path is None or not path.exists()
        ]
        answers: Iterator[tuple[Any, KBestLists]] = iter(())
        if todo:
            learned_from = [sentences[i] for i in others]
            state = _fold_parser(parser, learned_from, folder, fold, settings), k
            answers = in_order(_listed, todo, state=state, jobs=cores_in_use(), chunk=1)
        for stretch, path in zip(stretches, paths, strict=True):
            if path is not None and path.exists():
                parts.append(_loaded(path, settings))
                continue
            _, lists = next(answers)
            if path is not None:
                lists.made_with = settings
                lists.save(path)
            parts.append(lists)
            if progress is not None:
                progress(int(stretch[-1]) + 1, len(sentences), f"lists, fold {fold + 1}")
    return KBestLists.joined(parts)


def _listed(
    state: tuple[DependencyParser, int], stretches: list[Sequence[ConlluBlock]]
) -> list[KBestLists]:
    parser, k = state
    return [lists_of(parser, stretch, k=k) for stretch in stretches]


def _loaded(path: Path, settings: Mapping[str, object]) -> KBestLists:
    lists = KBestLists.load(path)
    if lists.made_with != settings:
        other = [name for name in settings if lists.made_with.get(name) != settings[name]]
        why = f"lists made with other {' and '.join(other)}: expected a folder of their own"
        raise DataError(str(path), None, why)
    return lists


def _fold_parser(
    like: DependencyParser,
    others: Sequence[ConlluBlock],
    folder: str | os.PathLike[str] | None,
    fold: int,
    settings: dict[str, object],
) -> DependencyParser:
    """The parser of the other folds, from the folder if it is there."""
    from sklearn.base import clone

    parser: DependencyParser = clone(like)
    path = None
    if folder is not None:
        mark = fingerprint(settings)[:12]
        path = Path(folder) / f"fold{fold}-{mark}.parser"
        if path.exists():
            return type(parser).load(path)
    parser.fit(others)
    if path is not None:
        parser.save(path)
    return parser
