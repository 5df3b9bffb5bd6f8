"""A generative parser: p(words, tree) with a hidden state at every word.

1. Words become observations: the word when it was seen often enough, else its signature, always
   together with its tag (UPOS and XPOS).  A hidden state belongs to one tag.
2. The root state is drawn, every state says its word, and takes children outwards on each side
   (Eisner and Satta's split head automata): one more child or stop, given state, side, the kind of
   the last child and the length covered so far; then the child's state given the head's.
3. ``learn`` fits the parameters to gold trees: spectral clusters, counts, EM.
4. ``log_prob`` sums out the states of one tree; the inside algorithm sums over all projective
   trees as well, O(n^3 k^2); inside-outside gives the posterior of every arc.
5. ``parse`` decodes by maximum expected number of right arcs, or the single best tree and states.

    p(x, tree) = sum over h of root(h_r) prod_i p(x_i | h_i) prod_sides stop(h_i, ...)
                               prod_arcs go(h_i, ...) T_d(h_j | h_i, ...)
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from eigentext.base.fields import Ints, Listed, Parts, Real, Reals, Shares, Spec, Strings
from eigentext.base.model import Model, Packed
from eigentext.base.ragged import pointers
from eigentext.base.tokens import checked_tokens
from eigentext.dependency.generative.learn import (
    N_LENGTHS,
    Corpus,
    GenerativeParams,
    fit_states,
    length_classes,
)
from eigentext.dependency.long_sentences import check_length
from eigentext.dependency.settings import GenerativeParserSettings
from eigentext.errors import SettingsError
from eigentext.trees.dependency import DependencyTree
from eigentext.trees.signatures import signatures

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from eigentext.base.progress import Progress
    from eigentext.formats.conllu import Sentence

    Floats = npt.NDArray[np.float64]

__all__ = ["GenerativeParse", "GenerativeParser"]

_KINDS = {
    "DET": 1,
    "ADP": 1,
    "AUX": 1,
    "PART": 1,
    "SCONJ": 1,
    "CCONJ": 1,
    "NOUN": 2,
    "PROPN": 2,
    "PRON": 2,
    "NUM": 2,
    "VERB": 3,
    "ADJ": 4,
    "ADV": 4,
    "INTJ": 4,
    "PUNCT": 5,
}
_PARAMS = ("first", "m", "T", "go", "root", "E")


def _holds(arrays: Mapping[str, npt.NDArray[Any]], *_: object) -> None:
    m = arrays["m"]
    if not len(m):
        raise ValueError("strings 'tags' are none, expected some")
    if not np.array_equal(arrays["first"], np.cumsum(m) - m):
        raise ValueError("array 'first' does not fit the states of the tags")
    if len(arrays["root"]) != m.sum() or arrays["E"].shape[1] != m.max():
        raise ValueError(f"arrays 'root' and 'E' do not fit {m.sum()} states")


_SPEC = Spec(
    {
        "log_likelihoods": Listed(Real()),
    },
    Parts(
        {
            "m": Ints(("tags",), low=1, below=10_000),
            "first": Ints(("tags",), low=0),
            "T": Shares((2, "siblings", "states", "states")),
            "go": Reals((2, "siblings", N_LENGTHS, "states"), low=0, high=1),
            "root": Shares(("states",)),
            "E": Shares(("words", "most")),
            "tag_of": Ints(("words",), low=0, below="tags"),
        },
        {
            "tags": Strings("tags", distinct=True),
            "words": Strings("words"),  # a word is there once for each of its tags
            "known": Strings("known"),
        },
    ),
    _holds,
)


def _kernels() -> Any:
    """The compiled loops, imported when first needed: numba takes half a second."""
    from eigentext.dependency.kernels import generative

    return generative


class GenerativeParse(NamedTuple):
    """A tree and its score: expected right arcs, or log p(words, tree, states)."""

    tree: DependencyTree
    score: float


@dataclass(eq=False, repr=False)
class GenerativeParser(Model, GenerativeParserSettings):
    """Split head automata with hidden states, learned from trees.

    After ``fit``: ``params_``, and ``log_likelihoods_`` before each EM iteration.

    >>> from eigentext.formats.conllu import make_sentence
    >>> tree = make_sentence(["dogs", "bark"], upos=["NOUN", "VERB"], head=[2, 0])
    >>> parser = GenerativeParser(n_states=1, min_count=1).fit([tree] * 5)
    >>> parser.parse(["cats", "purr"], ["NOUN", "VERB"]).tree.heads.tolist()
    [2, 0]
    """

    KIND = "dependency-generative"
    SPEC = _SPEC

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        sentences: Iterable[Sentence],
        *,
        progress: Progress | None = None,
    ) -> GenerativeParser:
        """Learn from sentences with heads; those with several roots are left out."""
        self.check()
        kept = []
        for sentence in sentences:
            heads = sentence.heads
            if heads is None:
                raise SettingsError("a training sentence has no heads")
            if sum(head == 0 for head in heads) == 1:
                kept.append(sentence)
        if not kept:
            raise SettingsError("no training sentence with exactly one root")
        tags = [self._tags(s.column("upos"), s.column("xpos"), len(s.forms)) for s in kept]
        words = Counter(word.lower() for s in kept for word in s.forms)
        self._known = {word for word, n in words.items() if n >= self.min_count}
        self._tag_ids: dict[str, int] = {}
        self._word_ids: dict[tuple[str, int], int] = {}
        relations: dict[str, int] = {}
        tag_of: list[int] = []
        flat: tuple[list[int], ...] = ([], [], [], [])
        for s, its in zip(kept, tags, strict=True):
            for place, (form, tag) in enumerate(zip(s.forms, its, strict=True)):
                t = self._tag_ids.setdefault(tag, len(self._tag_ids))
                key = (self._observation(form, first=place == 0), t)
                if key not in self._word_ids:
                    self._word_ids[key] = len(tag_of)
                    tag_of.append(t)
                flat[0].append(self._word_ids[key])
                flat[1].append(t)
            flat[2].extend(head for head in s.heads or ())
            for relation in s.column("deprel"):
                name = relation.partition(":")[0]
                flat[3].append(relations.setdefault(name, len(relations) + 1))
        word, tag_ids, heads_, relation_ids = (np.array(x, np.int64) for x in flat)
        kinds = np.array([self._kind(tag) for tag in self._tag_ids], np.int64)
        ptr = pointers(len(s.forms) for s in kept)
        corpus = Corpus(
            ptr, word, tag_ids, heads_, relation_ids, np.array(tag_of, np.int64), kinds
        )
        params, self.log_likelihoods_ = fit_states(
            corpus,
            self.n_states,
            n_iter=self.n_iter,
            per_state=self.per_state,
            seed=self.seed,
            progress=progress,
        )
        self._finish(params, np.array(tag_of, np.int64))
        return self

    def _kind(self, tag: str) -> int:
        return _KINDS.get(tag.partition("+")[0], 5) if self.siblings else 1

    def _finish(self, params: GenerativeParams, tag_of: npt.NDArray[np.int64]) -> None:
        self.params_ = params
        self.__dict__.pop("_logs", None)
        self._tag_of = tag_of
        # an unseen observation of a tag: spread as the tag's rarest ones are
        M = params.E.shape[1]
        low = np.where(params.E > 0, params.E, np.inf).min(1)
        lowest = np.full(len(params.m), 1e-4)
        np.minimum.at(lowest, tag_of, low)
        self._unseen = np.where(np.arange(M) < params.m[:, None], lowest[:, None], 0.0)
        self._stop = 1.0 - params.go
        self._kinds = np.array([self._kind(tag) for tag in self._tag_ids], np.int64)
        self._fallback = int(np.argmax(np.bincount(tag_of, minlength=len(params.m))))

    def _observation(self, form: str, *, first: bool) -> str:
        small = form.lower()
        if small in self._known:
            return small
        return signatures(form, first=first, known=self._known, language=self.language)[0]  # type: ignore[arg-type]

    def _tags(self, upos: Sequence[str] | None, xpos: Sequence[str] | None, n: int) -> list[str]:
        upos, xpos = upos or ["_"] * n, xpos or ["_"] * n
        if len(upos) != n or len(xpos) != n:
            raise ValueError(f"{len(upos)} UPOS and {len(xpos)} XPOS tags for {n} words")
        if self.tagset == "upos":
            return list(upos)
        if self.tagset == "xpos":
            return [f"_+{x}" for x in xpos]
        return [f"{u}+{x}" for u, x in zip(upos, xpos, strict=True)]

    # ---------------------------------------------------------------- answers

    def _encoded(
        self, tokens: Sequence[str], upos: Sequence[str] | None, xpos: Sequence[str] | None
    ) -> tuple[Any, ...]:
        """Emissions, states and kinds of the words of one sentence, as the kernels take them."""
        self.check_fitted()
        tokens = checked_tokens(tokens)
        if not tokens:
            raise ValueError("no words to parse")
        names = self._tags(upos, xpos, len(tokens))
        tags = np.array([self._tag_number(name) for name in names], np.int64)
        p = self.params_
        emit = np.empty((len(tokens), p.E.shape[1]))
        for place, (form, t) in enumerate(zip(tokens, tags.tolist(), strict=True)):
            word = self._word_ids.get((self._observation(form, first=place == 0), t))
            emit[place] = self._unseen[t] if word is None else p.E[word]
        widest = int(p.m[tags].max())
        return (
            np.ascontiguousarray(emit[:, :widest]),
            p.first[tags],
            p.m[tags],
            self._kinds[tags],
            length_classes(len(tokens)),
            p.T,
            p.go,
            self._stop,
            p.root,
        )

    def _tag_number(self, name: str) -> int:
        found = self._tag_ids.get(name)
        if found is None:  # an unseen pair: any tag with the same UPOS, or else XPOS
            upos, _, xpos = name.partition("+")
            for known, number in self._tag_ids.items():
                if upos != "_" and known.partition("+")[0] == upos:
                    return number
            for known, number in self._tag_ids.items():
                if xpos and known.partition("+")[2] == xpos:
                    return number
            return self._fallback
        return found

    def log_probs(
        self,
        tokens: Sequence[str],
        upos: Sequence[str] | None,
        xpos: Sequence[str] | None,
        trees: npt.ArrayLike,
    ) -> Floats:
        """log p(words, tree) for many trees, heads (K, n), over one sentence.

        A tree with several roots or a cycle has probability 0.  Non-projective trees get the same
        product of decisions, but are not among those that sum to one.
        """
        from eigentext.dependency.kernels import generative_trees

        trees_log_probs: Any = generative_trees.trees_log_probs
        emit, first, m, kind, length, *rest = self._encoded(tokens, upos, xpos)
        heads = np.atleast_2d(np.asarray(trees, dtype=np.int64))
        if heads.shape[1] != len(tokens):
            raise ValueError(f"trees of {heads.shape[1]} words for {len(tokens)} tokens")
        if heads.min(initial=0) < 0 or heads.max(initial=0) > len(tokens):
            raise ValueError("a head is out of range")
        out = np.empty(len(heads))
        trees_log_probs(heads, emit, first, m, kind, length, *rest, out)
        return out

    def log_prob(
        self,
        tree: DependencyTree,
        *,
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
    ) -> float:
        """log p(words, tree); UPOS is the tree's own tags unless given."""
        return float(self.log_probs(tree.forms, upos or tree.tags, xpos, tree.heads)[0])

    def _chart(self, encoded: tuple[Any, ...]) -> tuple[float, tuple[Any, ...]]:
        n, M = encoded[0].shape
        Q = encoded[5].shape[1]
        chart = (
            np.zeros((2, n, M)),
            np.zeros((n, n, Q, M)),
            np.zeros((n, n, M)),
            np.zeros((n, n), np.int64),
            np.zeros((n, n, M, M)),
            np.zeros((n, n), np.int64),
        )
        return float(_kernels().inside(*encoded, *chart)), chart

    def marginals(
        self,
        tokens: Sequence[str],
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
    ) -> tuple[Floats, float]:
        """(n + 1, n + 1) posterior of every arc [head, dependent], 0 the root; and log p(words).

        Every column but the first sums to one; all are 0 where p(words) is.
        """
        check_length(len(tokens), "this parser is")
        encoded = self._encoded(tokens, upos, xpos)
        log_z, chart = self._chart(encoded)
        n = len(encoded[0])
        found = np.zeros((n + 1, n + 1))
        if log_z == -np.inf:  # no tree has any weight: none is more likely than another
            return found, log_z
        own, U, F = chart[:3]
        outer = (np.zeros_like(own), np.zeros_like(U), np.zeros_like(F))
        _kernels().outside(*encoded, log_z, *chart, *outer, found)
        return found, log_z

    @cached_property
    def _logs(self) -> tuple[Floats, ...]:
        p = self.params_
        with np.errstate(divide="ignore"):
            return np.log(p.T), np.log(p.go), np.log(self._stop), np.log(p.root)

    def parse(
        self,
        tokens: Sequence[str],
        upos: Sequence[str] | None = None,
        xpos: Sequence[str] | None = None,
        *,
        decoder: Literal["mbr", "viterbi"] = "mbr",
    ) -> GenerativeParse:
        """The tree of most expected right arcs (``mbr``), or the best tree with its states."""
        from eigentext.dependency.decoding.best import eisner

        check_length(len(tokens), "this parser is")
        if decoder == "mbr":
            arcs, _ = self.marginals(tokens, upos, xpos)
            heads, score = eisner(arcs)
        elif decoder == "viterbi":
            emit, first, m, kind, length, *_ = self._encoded(tokens, upos, xpos)
            (n, M), Q = emit.shape, self.params_.T.shape[1]
            with np.errstate(divide="ignore"):
                emit = np.log(emit)
            heads = np.zeros(n, np.int32)
            score = _kernels().viterbi(
                emit,
                first,
                m,
                kind,
                length,
                *self._logs,
                np.empty((n, n, 2, Q, M)),
                np.empty((n, n, M, M)),
                np.zeros((n, n, Q, M, 2), np.int32),
                np.zeros((n, n, M, M, 2), np.int32),
                heads,
            )
        else:
            raise SettingsError(f"decoder is {decoder!r}, expected 'mbr' or 'viterbi'")
        return GenerativeParse(DependencyTree(tokens, heads, tags=upos), float(score))

    # ---------------------------------------------------------------- storage

    def _pack_learned(self) -> Packed:
        params = self.params_
        arrays = {name: getattr(params, name) for name in _PARAMS}
        strings = {
            "tags": list(self._tag_ids),
            "words": [word for word, _ in self._word_ids],
            "known": sorted(self._known),
        }
        facts = {"log_likelihoods": self.log_likelihoods_}
        return Packed({**arrays, "tag_of": self._tag_of}, strings, facts)

    def _restore(self, packed: Packed) -> None:
        arrays, strings = packed.arrays, packed.strings
        self._known = set(strings["known"])
        self._tag_ids = {tag: number for number, tag in enumerate(strings["tags"])}
        pairs = zip(strings["words"], arrays["tag_of"].tolist(), strict=True)
        self._word_ids = {pair: number for number, pair in enumerate(pairs)}
        self.log_likelihoods_ = list(packed.facts["log_likelihoods"])
        params = GenerativeParams(*(arrays[name] for name in _PARAMS))
        self._finish(params, arrays["tag_of"])
        if self._kinds.max() >= params.T.shape[1]:
            raise ValueError(f"{params.T.shape[1]} kinds of siblings")

    def _summary(self) -> str:
        return f"{len(self.params_.root)} states of {len(self._tag_ids)} tags"
