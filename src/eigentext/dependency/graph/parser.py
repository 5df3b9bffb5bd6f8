"""``DependencyParser``: sentences with trees in, a parser out; then words and tags in, trees out.

1. ``fit`` reads CoNLL-U sentences, takes their tags as they are or has its own taggers make them
   (``tags``), turns all into numbers (``encode``), and learns arcs (``training``) and relations
   (``labels``).
2. ``parse`` answers for one sentence, ``parse_many`` for many, ``predict`` for CoNLL-U, ``kbest``
   with several trees, ``marginals`` with the probability of each arc, ``scores`` with the numbers
   behind all of them.
3. ``storage`` says what is in its file.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eigentext.base.model import Model
from eigentext.base.parallel import in_order
from eigentext.base.tokens import each_sentence
from eigentext.dependency.decoding.search import Search
from eigentext.dependency.graph.answer import (
    Parse,
    checked_sentence,
    columns_of,
    given_columns,
    tags_of,
    with_heads,
)
from eigentext.dependency.graph.encode import Columns, Encoder, known_words
from eigentext.dependency.graph.labels import (
    LabelModel,
    LabelSettings,
    label_templates,
    train_labels,
)
from eigentext.dependency.graph.projectivity import choose_projectivity
from eigentext.dependency.graph.storage import SPEC, pack, restore
from eigentext.dependency.graph.tags import OwnTags, jackknifed
from eigentext.dependency.graph.templates import (
    arc_templates,
    grandparent_templates,
    sibling_templates,
)
from eigentext.dependency.graph.training import ArcModel, ArcSettings, Grandparents, train_arcs
from eigentext.dependency.graph.vectors import vector_bits
from eigentext.dependency.long_sentences import (
    check_length,
    joined,
    parsed_in_pieces,
    pieces_of,
)
from eigentext.dependency.settings import DependencyParserSettings
from eigentext.errors import DataError, SettingsError
from eigentext.tagging.resources import clusters_of
from eigentext.trees.dependency import DependencyTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eigentext.base.model import Packed
    from eigentext.base.progress import Progress
    from eigentext.dependency.graph.encode import Batch
    from eigentext.formats.conllu import Sentence

__all__ = ["DependencyParser", "Parse"]

Arc = tuple[int, int]
_CHUNK = 256  # sentences parsed at a time


@dataclass(eq=False, repr=False)
class DependencyParser(Model, DependencyParserSettings):
    """Graph-based dependency parser, first or second order, with hashed features.

    After ``fit``: ``projectivity_`` (may arcs cross, and why), ``arcs_`` and ``relations_`` (what
    was learned of both), ``encoder_``, ``own_tags_`` (its taggers), ``dev_scores_`` (UAS on the
    development trees after each pass).

    >>> from eigentext.formats.conllu import make_sentence
    >>> trees = [make_sentence(["a", "dog", "barks"], upos=["DET", "NOUN", "VERB"],
    ...                        head=[2, 3, 0], deprel=["det", "nsubj", "root"])] * 3
    >>> parser = DependencyParser(epochs=2, bits=16).fit(trees)
    >>> answer = parser.parse(["the", "cat", "sleeps"], upos=["DET", "NOUN", "VERB"])
    >>> answer.tree.heads.tolist(), answer.tree.relations
    ([2, 3, 0], ('det', 'nsubj', 'root'))
    """

    KIND = "graph-parser"
    SPEC = SPEC

    # ------------------------------------------------------------ training

    def fit(
        self,
        sentences: Iterable[Sentence],
        dev: Iterable[Sentence] | None = None,
        *,
        progress: Progress | None = None,
    ) -> DependencyParser:
        """Train on sentences with heads; ``dev`` chooses the number of passes by UAS."""
        self.check()
        read = [with_heads(sentence) for sentence in sentences]
        if not read:
            raise DataError("<training sentences>", None, "no sentences, expected some with heads")
        columns = [columns_of(sentence) for sentence in read]
        heads = [sentence.heads or () for sentence in read]
        self.clusters_ = clusters_of(self.clusters)
        self.near_ = vector_bits(self.vectors)
        self.own_tags_: OwnTags | None = None
        if self.tags == "own":
            settings: dict[str, Any] = {"clusters": self.clusters_ or None, "seed": self.seed}
            gold, columns = columns, jackknifed(columns, progress=progress, **settings)
            self.own_tags_ = OwnTags(**settings).fit(gold)
        self.tagged_ = any(tag != "_" for one in columns for tag in (*one.upos, *one.xpos))
        self.encoder_ = self._encoder(columns)
        relations = sorted({name for one in read for name in one.column("deprel")})
        number_of = {name: number for number, name in enumerate(relations)}
        numbers = [[number_of[name] for name in one.column("deprel")] for one in read]
        batch = self.encoder_.batch(columns, heads, numbers)
        self.arcs_ = self._train_arcs(batch, dev, progress)
        used = {"clusters": bool(self.clusters_), "vectors": bool(self.near_)}
        self.relations_: LabelModel | None = None
        if self.labels:
            self.relations_ = train_labels(
                batch,
                relations,
                label_templates(**used),
                LabelSettings(seed=self.seed),
                progress=progress,
            )
        return self

    def _arc_settings(self, n_words: int) -> ArcSettings:
        return ArcSettings(
            order=self.order,
            learner=self.learner,
            epochs=self.epochs,
            clip=self.clip,
            grandparents=self.grandparents and self.order == 2,
            bits=_bits_for(n_words) if self.bits is None else self.bits,
            seed=self.seed,
        )

    def _encoder(self, columns: Sequence[Columns]) -> Encoder:
        upos = sorted({tag for one in columns for tag in one.upos})
        xpos = sorted({tag for one in columns for tag in one.xpos} | set(upos))
        return Encoder(
            known=known_words((one.forms for one in columns), self.min_count),
            clusters=self.clusters_,
            near=self.near_,
            upos=upos,
            xpos=xpos,
        )

    def _train_arcs(
        self,
        batch: Batch,
        dev: Iterable[Sentence] | None,
        progress: Progress | None,
    ) -> ArcModel:
        used = {"clusters": bool(self.clusters_), "vectors": bool(self.near_)}
        siblings = sibling_templates(**used) if self.order == 2 else ()
        grand = grandparent_templates(**used) if self.order == 2 and self.grandparents else ()
        templates = arc_templates(**used), siblings, self.encoder_.n_tags
        settings = self._arc_settings(batch.n_words)
        self.projectivity_ = choose_projectivity(
            batch,
            *templates,
            settings,
            self.projective,
            grand_names=grand,
            progress=progress,
        )
        self.dev_scores_: list[float] = []
        best: list[ArcModel] = []
        after_pass = None
        if dev is not None:
            held_out = [with_heads(sentence) for sentence in dev]
            if not held_out:
                raise DataError("<development sentences>", None, "no sentences, expected some")
            tagged = self._columns_of(held_out)
            test = self.encoder_.batch(tagged, [one.heads or () for one in held_out])

            def after_pass(model: ArcModel) -> bool:
                words = test.heads >= 0
                found = model.decode(test)[words] == test.heads[words]
                self.dev_scores_.append(100.0 * float(found.mean()))
                if self.dev_scores_[-1] >= max(self.dev_scores_):
                    best[:] = [model]
                return False

        last = train_arcs(
            batch,
            *templates,
            self.projectivity_.applied(settings),
            grand_names=grand,
            after_pass=after_pass,
            progress=progress,
        )
        return best[0] if best else last

    # ------------------------------------------------------------ parsing

    def columns_of(self, sentence: Sentence) -> Columns:
        """What the parser goes by in a CoNLL-U sentence."""
        self.check_fitted()
        return self._columns_of([sentence])[0]

    def tags_for(self, sentence: Sentence, columns: Columns) -> dict[str, Any]:
        """Tags of our own for the columns of a sentence that are empty."""
        self.check_fitted()
        if self.own_tags_ is None:
            return {}
        empty = (name for name in ("upos", "xpos") if set(sentence.column(name)) == {"_"})
        return {name: getattr(columns, name) for name in empty}

    def _columns_of(self, sentences: Sequence[Sentence]) -> list[Columns]:
        """Forms and tags of sentences; with taggers of our own, their tags."""
        if self.own_tags_ is not None:
            return self.own_columns([sentence.forms for sentence in sentences])
        return [columns_of(sentence) for sentence in sentences]

    def own_columns(self, sentences: Sequence[Sequence[str]]) -> list[Columns]:
        """Words with the tags of our own taggers, which see them as training spelt their signs."""
        self.check_fitted()
        own = self.own_tags_
        if own is None:
            raise SettingsError("this parser has no taggers: train one with tags='own'")
        tagged = own.tag([self.encoder_.familiar(forms) for forms in sentences])
        return [
            one._replace(forms=tuple(forms)) for one, forms in zip(tagged, sentences, strict=True)
        ]

    def columns(
        self,
        tokens: Sequence[str],
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
    ) -> Columns:
        """What the parser goes by: the tags given, or its own where none are given."""
        self.check_fitted()
        found = given_columns(tokens, upos, xpos, feats)
        if upos is None and xpos is None:
            if self.own_tags_ is not None:
                return self.own_columns([tokens])[0]
            if self.tagged_:
                raise SettingsError(
                    "this parser was trained with tags and has no taggers: give upos and xpos, or "
                    "train one with tags='own'"
                )
        return found

    def _search(
        self, columns: Columns, required: Iterable[Arc], forbidden: Iterable[Arc]
    ) -> Search:
        check_length(len(columns.forms), "marginals and demands for arcs are")
        batch = self.encoder_.batch([columns])
        required, forbidden = list(required), list(forbidden)
        # an arc asked for may be one that pruning takes away
        arc, sib = self.arcs_.scores(batch, 0, pruned=not (required or forbidden))
        settings = self.arcs_.settings
        grand = Grandparents(self.arcs_, batch, 0) if settings.grandparents else None
        return Search(arc, sib, settings.projective, required, forbidden, grand, settings.charge)

    def parse(
        self,
        tokens: Sequence[str],
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        *,
        required_arcs: Iterable[Arc] = (),
        forbidden_arcs: Iterable[Arc] = (),
    ) -> Parse:
        """The best tree; arcs are (head, dependent), words from 1 on, head 0 for the root.

        The tree has the tags that the parser went by: upos, or xpos where there is no upos.

        More than 400 words are parsed in pieces, whose trees are joined and whose scores are
        added up (``approximate`` is then true); arcs can only be asked for in shorter sentences.
        """
        tokens = checked_sentence(tokens)
        required_arcs, forbidden_arcs = list(required_arcs), list(forbidden_arcs)
        if len(pieces_of(tokens)) > 1 and not (required_arcs or forbidden_arcs):
            return self._in_pieces(tokens, upos, xpos, feats)
        columns = self.columns(tokens, upos, xpos, feats)
        found = self._search(columns, required_arcs, forbidden_arcs)
        heads, score = found.best()
        return self._labelled(columns, heads[None], [score], found.approximate)[0]

    def _in_pieces(self, tokens: Sequence[str], *tags: Sequence[str] | None) -> Parse:
        """The tree of a sentence that is too long to be parsed whole."""
        given_columns(tokens, *tags)  # checks their lengths
        spans = pieces_of(tokens)
        answers = [
            self.parse(
                tokens[begin:end],
                *(None if column is None else column[begin:end] for column in tags),
            )
            for begin, end in spans
        ]
        trees = [answer.tree for answer in answers]
        heads, names = joined(
            spans,
            [tree.heads.tolist() for tree in trees],
            [tree.relations or ("_",) * len(tree.forms) for tree in trees],
        )
        own = [tag for tree in trees for tag in tree.tags or ()]
        score = sum(answer.score for answer in answers)
        return Parse(DependencyTree(tokens, heads, names, own), score, approximate=True)

    def kbest(
        self,
        tokens: Sequence[str],
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        *,
        k: int = 50,
        required_arcs: Iterable[Arc] = (),
        forbidden_arcs: Iterable[Arc] = (),
    ) -> list[Parse]:
        """At most k different trees, best first; relations are put on each.

        A sentence that is parsed in pieces has one tree.
        """
        tokens = checked_sentence(tokens)
        required_arcs, forbidden_arcs = list(required_arcs), list(forbidden_arcs)
        if len(pieces_of(tokens)) > 1 and not (required_arcs or forbidden_arcs):
            return [self._in_pieces(tokens, upos, xpos, feats)]
        columns = self.columns(tokens, upos, xpos, feats)
        found = self._search(columns, required_arcs, forbidden_arcs)
        heads, scores = found.kbest(k)
        approximate = found.approximate or found.grand is not None
        return self._labelled(columns, heads, scores.tolist(), approximate)

    def marginals(
        self,
        tokens: Sequence[str],
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
        *,
        required_arcs: Iterable[Arc] = (),
        forbidden_arcs: Iterable[Arc] = (),
    ) -> npt.NDArray[np.float64]:
        """(n+1, n+1): probability of arc [h, d] under p(tree) ~ exp(score)."""
        columns = self.columns(tokens, upos, xpos, feats)
        return self._search(columns, required_arcs, forbidden_arcs).marginals()

    def scores(
        self,
        tokens: Sequence[str],
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        feats: Sequence[str] | None = None,
    ) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
        """``arc`` (n+1, n+1) and, for order 2, ``sib`` (n+1, n+1, n+1)."""
        columns = self.columns(tokens, upos, xpos, feats)
        check_length(len(columns.forms), "scores are")
        return self.arcs_.scores(self.encoder_.batch([columns]), 0)

    def _labelled(
        self,
        columns: Columns,
        heads: npt.NDArray[np.int32],
        scores: Sequence[float],
        approximate: bool,
    ) -> list[Parse]:
        n_trees, n = heads.shape
        names: list[tuple[str, ...]] = [("_",) * n] * n_trees
        if self.relations_ is not None:
            batch = self.encoder_.batch([columns] * n_trees)
            rows = np.full((n_trees, n + 1), -1, np.int32)
            rows[:, 1:] = heads
            numbers = self.relations_.label(batch, rows.ravel()).reshape(n_trees, n + 1)[:, 1:]
            known = self.relations_.relations
            names = [tuple(known[number] for number in row) for row in numbers.tolist()]
        return [
            Parse(DependencyTree(columns.forms, row, name, tags_of(columns)), score, approximate)
            for row, name, score in zip(heads, names, scores, strict=True)
        ]

    def parse_many(
        self, sentences: Iterable[Sequence[str]], *, jobs: int = 1
    ) -> Iterator[Parse | None]:
        """The best trees of bare sentences in their order; None for one without tokens.

        ``jobs`` processes share the work; the answers do not depend on it.
        """
        self.check_fitted()
        work = in_order(_parse_all, each_sentence(sentences), state=self, jobs=jobs)
        return (parse for _, parse in work)

    def predict(self, sentences: Iterable[Sentence], *, jobs: int = 1) -> list[Sentence]:
        """The sentences with heads and relations filled in; all else stays as it is.

        With taggers of its own the parser goes by their tags, and fills columns of tags that are
        empty.  More than 400 words are parsed in pieces, as by :meth:`parse`: the comment
        ``# split = 3`` says in how many.  ``jobs`` processes share the work.
        """
        self.check_fitted()
        answers = in_order(_predict_all, sentences, state=self, jobs=jobs, chunk=_CHUNK)
        return [answer for _, answer in answers]

    def score(self, sentences: Sequence[Sentence], y: None = None) -> float:
        """The share of words with the right head and relation, from 0 to 1.

        Of a parser without relations: with the right head.  Rules are those of CoNLL 2018.
        """
        from eigentext.evaluate.attachment import evaluate

        result = evaluate(sentences, self.predict(sentences))
        return (result.las if self.labels else result.uas) / 100

    def _predict(self, sentences: Sequence[Sentence]) -> list[Sentence]:
        self.check_fitted()
        columns = self._columns_of(sentences)
        heads, relations = self.predict_columns(columns)
        answers = []
        for sentence, one, tree, names in zip(sentences, columns, heads, relations, strict=True):
            new: dict[str, Any] = self.tags_for(sentence, one)
            answers.append(sentence.with_columns(head=tree, deprel=names, **new))
        return answers

    def predict_columns(
        self, sentences: Sequence[Columns]
    ) -> tuple[list[list[int]], list[list[str]]]:
        """Heads and relations of sentences given as columns; no text is written.

        What is too long to be parsed whole is parsed in pieces.
        """
        self.check_fitted()
        spans = [pieces_of(one.forms) for one in sentences]
        pieces = [
            Columns(*(column[begin:end] for column in one))
            for one, cuts in zip(sentences, spans, strict=True)
            for begin, end in cuts
        ]
        answers = zip(*self._predict_short(pieces), strict=True)
        trees = []
        for cuts in spans:
            heads, relations = zip(*islice(answers, len(cuts)), strict=True)
            trees.append(joined(cuts, heads, relations))
        return [heads for heads, _ in trees], [names for _, names in trees]

    def _predict_short(
        self, sentences: Sequence[Columns]
    ) -> tuple[list[list[int]], list[list[str]]]:
        self.check_fitted()
        batch = self.encoder_.batch(sentences)
        heads = self.arcs_.decode(batch)
        names = [["_"] * len(one.forms) for one in sentences]
        cut = batch.starts
        if self.relations_ is not None:
            known = self.relations_.relations
            numbers = self.relations_.label(batch, heads).tolist()
            names = [
                [known[number] for number in numbers[cut[k] + 1 : cut[k + 1]]]
                for k in range(len(batch))
            ]
        told = heads.tolist()
        return [told[cut[k] + 1 : cut[k + 1]] for k in range(len(batch))], names

    # ------------------------------------------------------------ storage

    def _pack_learned(self) -> Packed:
        return pack(self)

    def _restore(self, packed: Packed) -> None:
        restore(self, packed)

    def _summary(self) -> str:
        relations = len(self.relations_.relations) if self.relations_ else 0
        return f"2^{self.arcs_.settings.bits} weights, {relations} relations, {self.projectivity_}"


def _parse_all(parser: DependencyParser, sentences: list[list[str]]) -> list[Parse | None]:
    return [parser.parse(tokens) if tokens else None for tokens in sentences]


def _predict_all(parser: DependencyParser, sentences: list[Sentence]) -> list[Sentence]:
    return list(parsed_in_pieces(sentences, parser._predict))


def _bits_for(n_words: int) -> int:
    """Some 64 weights for every word, but no fewer than 2^16 and no more than 2^24."""
    return min(24, max(16, (64 * n_words - 1).bit_length()))
