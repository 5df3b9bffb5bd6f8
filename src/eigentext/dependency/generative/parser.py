"""A generative parser: p(words, tree) with a hidden state at every word.

1. Words become observations: the word when it was seen often enough, else its signature, always
   together with its tag (UPOS and XPOS).  A hidden state belongs to one tag.
2. The root state is drawn, every state says its word, and takes children outwards on each side
   (Eisner and Satta's split head automata): one more child or stop, given state, side, the kind of
   the last child and the length covered so far; then the child's state given the head's.
3. The inside algorithm sums over all projective trees and their states, O(n^3 k^2).

    p(x, tree) = sum over h of root(h_r) prod_i p(x_i | h_i) prod_sides stop(h_i, ...)
                               prod_arcs go(h_i, ...) T_d(h_j | h_i, ...)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, Unpack

import numpy as np

from eigentext.base.fields import Ints, Strings
from eigentext.base.model import Model
from eigentext.base.parallel import in_order
from eigentext.base.ragged import pointers
from eigentext.base.records import As, Record, stored
from eigentext.base.registry import part
from eigentext.base.tokens import checked_item, checked_list, checked_tokens
from eigentext.base.values import Listed, Real
from eigentext.dependency.generative.learn import (
    Corpus,
    GenerativeParams,
    fit_states,
    length_classes,
)
from eigentext.dependency.long_sentences import check_length
from eigentext.dependency.sentence import TagColumns, TaggedSentence
from eigentext.dependency.settings import GenerativeParserSettings
from eigentext.errors import DataError, SettingsError
from eigentext.features.signatures import signatures
from eigentext.features.symbols import frequent_words
from eigentext.language.formats.conllu import ConlluBlock, each_conllu
from eigentext.language.trees.dependency import DependencyTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt

    from eigentext.base.em import EMResult
    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s, Int64s
    from eigentext.dependency.generative.learn import TreeCounts
    from eigentext.dependency.kernels.generative import Automaton, Words
    from eigentext.dependency.settings import Unlabelled, UnlabelledReport

    Numbers = tuple[Int64s, Int64s]  # of (word, tag) pairs, of tags

_KINDS = {  # of siblings, by their UPOS
    **dict.fromkeys(("DET", "ADP", "AUX", "PART", "SCONJ", "CCONJ"), 1),
    **dict.fromkeys(("NOUN", "PROPN", "PRON", "NUM"), 2),
    "VERB": 3,
    **dict.fromkeys(("ADJ", "ADV", "INTJ"), 4),
    "PUNCT": 5,
}


@dataclass
class _Content:
    """What a file holds; a word is there once for each of its tags."""

    params: GenerativeParams = stored(Record(GenerativeParams), of="params_")
    tags: tuple[str, ...] = stored(
        Strings("tags", distinct=True), of=lambda parser: list(parser._tag_ids)
    )
    words: tuple[str, ...] = stored(
        Strings("words"), of=lambda parser: [word for word, _ in parser._word_ids]
    )
    tag_of: Int64s = stored(Ints(("words",), low=0, below="tags"), of="_tag_of")
    vocabulary: tuple[str, ...] = stored(
        Strings("known"), "known", of=lambda parser: sorted(parser._known)
    )
    log_likelihoods_: list[float] = stored(As(Listed(Real()), list, list))


class GenerativeParse(NamedTuple):
    """A tree and its score: expected right arcs, or log p(words, tree, states)."""

    tree: DependencyTree
    score: float


class TextLearner(Protocol):
    """Sentences without trees, and how they are learned from: a part of the laboratory."""

    @property
    def sentences(self) -> list[ConlluBlock]:
        """Those without trees."""

    def with_words(self, counts: TreeCounts, corpus: Corpus, numbers: Numbers) -> TreeCounts:
        """Counts of trees, to which the words of the sentences are added."""

    def improve(
        self, params: GenerativeParams, corpus: Corpus, numbers: Numbers, progress: Progress | None
    ) -> EMResult[GenerativeParams]:
        """EM over trees and sentences, from the parameters of the trees."""


@dataclass(eq=False, repr=False)
class GenerativeParser(Model, GenerativeParserSettings):
    """Split head automata with hidden states, learned from trees.

    After ``fit``: ``params_``, and ``log_likelihoods_`` before each EM iteration; of trees, and
    then, where there is text without trees, of trees and text.

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> tree = make_sentence(["dogs", "bark"], upos=["NOUN", "VERB"], head=[2, 0])
    >>> parser = GenerativeParser(n_states=1, min_count=1).fit([tree] * 5)
    >>> parser.parse(["cats", "purr"], upos=["NOUN", "VERB"]).tree.heads.tolist()
    [2, 0]
    """

    KIND = "dependency-generative"
    CONTENT = _Content

    # ---------------------------------------------------------------- learning

    def fit(
        self,
        sentences: Iterable[ConlluBlock],
        *,
        unlabelled: Unlabelled | None = None,
        progress: Progress | None = None,
    ) -> GenerativeParser:
        """Learn from sentences with heads; those with several roots are left out.

        ``unlabelled`` are sentences without trees to learn from as well; ``unlabelled_`` then
        tells what became of them.
        """
        self.check()
        usable = []
        for sentence in each_conllu(sentences):
            heads = sentence.heads
            if heads is None:
                raise SettingsError("a training sentence has no heads")
            if sum(head == 0 for head in heads) == 1:
                usable.append(sentence)
        if not usable:
            raise SettingsError("no training sentence with exactly one root")
        if unlabelled is None:
            return self.fit_trees(usable, None, progress)
        fit = part("generative parser of trees and text")
        self.unlabelled_: UnlabelledReport = fit(self, usable, unlabelled, progress)
        return self

    def fit_trees(
        self, usable: list[ConlluBlock], text: TextLearner | None, progress: Progress | None
    ) -> GenerativeParser:
        """Learn from trees with one root each, and from a text if there is one."""
        without_trees = [] if text is None else text.sentences
        self._known = frequent_words(
            (word.lower() for s in (*usable, *without_trees) for word in s.forms), self.min_count
        )
        self._tag_ids: dict[str, int] = {}
        self._word_ids: dict[tuple[str, int], int] = {}
        relations: dict[str, int] = {}
        word, tag_ids = self._numbers(usable, new_tags=True)
        heads = np.array([head for s in usable for head in s.heads or ()], np.int64)
        names = (name.partition(":")[0] for s in usable for name in s.column("deprel"))
        relation_ids = np.array(
            [relations.setdefault(name, len(relations) + 1) for name in names], np.int64
        )
        kinds = np.array([self._kind(tag) for tag in self._tag_ids], np.int64)
        self._fallback = _tag_of_most(np.array([tag for _, tag in self._word_ids], np.int64))
        numbers = self._numbers(without_trees, new_tags=False)
        tag_of = np.array([tag for _, tag in self._word_ids], np.int64)
        ptr = pointers(len(s.forms) for s in usable)
        corpus = Corpus(ptr, word, tag_ids, heads, relation_ids, tag_of, kinds)
        extra: dict[str, Any] = {}
        if text is not None:
            extra["more"] = partial(text.with_words, corpus=corpus, numbers=numbers)
        params, self.log_likelihoods_ = fit_states(
            corpus,
            self.n_states,
            n_iter=self.n_iter,
            per_state=self.per_state,
            seed=self.seed,
            start=self.start,
            progress=progress,
            **extra,
        )
        if text is not None:
            result = text.improve(params, corpus, numbers, progress)
            params = result.params
            self.log_likelihoods_ += result.log_likelihoods
        self._finish(params, tag_of)
        return self

    def _numbers(self, sentences: list[ConlluBlock], *, new_tags: bool) -> Numbers:
        """Numbers of (word, tag) pairs and of tags, all sentences end to end."""
        # Pairs get numbers as they come; so do tags if they may be new, else the nearest is taken.
        words: list[int] = []
        tags: list[int] = []
        for sentence in sentences:
            names = self._tags(TaggedSentence.from_conllu(sentence))
            for i, (form, name) in enumerate(zip(sentence.forms, names, strict=True)):
                if new_tags:
                    tag = self._tag_ids.setdefault(name, len(self._tag_ids))
                else:
                    tag = self._tag_number(name)
                pair = (self._observation(form, first=i == 0), tag)
                words.append(self._word_ids.setdefault(pair, len(self._word_ids)))
                tags.append(tag)
        return np.array(words, np.int64), np.array(tags, np.int64)

    def _kind(self, tag: str) -> int:
        return _KINDS.get(tag.partition("+")[0], 5) if self.siblings else 1

    def _finish(self, params: GenerativeParams, tag_of: Int64s) -> None:
        self.params_ = params
        self.__dict__.pop("_log_automaton", None)
        self._tag_of = tag_of
        # an unseen observation of a tag: spread as the tag's rarest ones are
        M = params.E.shape[1]
        low = np.where(params.E > 0, params.E, np.inf).min(1)
        lowest = np.full(len(params.m), 1e-4)
        np.minimum.at(lowest, tag_of, low)
        self._unseen = np.where(np.arange(M) < params.m[:, None], lowest[:, None], 0.0)
        self._kinds = np.array([self._kind(tag) for tag in self._tag_ids], np.int64)
        self._fallback = _tag_of_most(tag_of)

    def _observation(self, form: str, *, first: bool) -> str:
        small = form.lower()
        if small in self._known:
            return small
        language = self.settings_.language
        return signatures(form, first=first, vocabulary=self._known, language=language)[0]

    def _tags(self, sentence: TaggedSentence) -> list[str]:
        upos, xpos = sentence.upos, sentence.xpos
        tagset = self.settings_.tagset
        if tagset == "upos":
            return list(upos)
        if tagset == "xpos":
            return [f"_+{x}" for x in xpos]
        return [f"{u}+{x}" for u, x in zip(upos, xpos, strict=True)]

    # ---------------------------------------------------------------- answers

    def _encoded(self, sentence: TaggedSentence) -> Words:
        """Emissions, states and kinds of the words of one sentence, as the kernels take them."""
        from eigentext.dependency.kernels.generative import Words

        self.check_fitted()
        tokens = sentence.forms
        names = self._tags(sentence)
        tags = np.array([self._tag_number(name) for name in names], np.int64)
        p = self.params_
        emit = np.empty((len(tokens), p.E.shape[1]))
        for i, (form, t) in enumerate(zip(tokens, tags.tolist(), strict=True)):
            word = self._word_ids.get((self._observation(form, first=i == 0), t))
            emit[i] = self._unseen[t] if word is None else p.E[word]
        widest = int(p.m[tags].max())
        return Words(
            np.ascontiguousarray(emit[:, :widest]),
            p.first[tags],
            p.m[tags],
            self._kinds[tags],
            length_classes(len(tokens)),
        )

    @cached_property
    def _log_automaton(self) -> Automaton:
        automaton = self.params_.automaton
        with np.errstate(divide="ignore"):
            return type(automaton)(*map(np.log, automaton))

    def _tag_number(self, name: str) -> int:
        number = self._tag_ids.get(name)
        if number is None:  # an unseen pair: any tag with the same UPOS, or else XPOS
            upos, _, xpos = name.partition("+")
            for tag, number in self._tag_ids.items():
                if upos != "_" and tag.partition("+")[0] == upos:
                    return number
            for tag, number in self._tag_ids.items():
                if xpos and tag.partition("+")[2] == xpos:
                    return number
            return self._fallback
        return number

    def log_probs(
        self,
        sentence: Sequence[str] | TaggedSentence,
        trees: npt.ArrayLike,
        **tags: Unpack[TagColumns],
    ) -> Float64s:
        """log p(words, tree) for many trees, heads (K, n), over one sentence.

        A tree with several roots or a cycle has probability 0.  Non-projective trees get the same
        product of decisions, but are not among those that sum to one.
        """
        from eigentext.dependency.kernels.generative_trees import trees_log_probs

        self.check_fitted()
        words = self._encoded(TaggedSentence.of(sentence, **tags))
        n = len(words.emit)
        heads = np.atleast_2d(np.asarray(trees, dtype=np.int64))
        if heads.shape[1] != n:
            raise ValueError(f"trees of {heads.shape[1]} words for {n} tokens")
        if heads.min(initial=0) < 0 or heads.max(initial=0) > n:
            raise ValueError("a head is out of range")
        logs: Float64s = trees_log_probs(heads, words, self.params_.automaton)
        return logs

    def log_prob(self, tree: DependencyTree, **tags: Unpack[TagColumns]) -> float:
        """log p(words, tree); UPOS is the tree's own tags unless given."""
        self.check_fitted()
        tree = checked_item(DependencyTree, tree, "a dependency tree")
        tags["upos"] = tags.get("upos") or tree.tags
        return float(self.log_probs(tree.forms, tree.heads, **tags)[0])

    def marginals(
        self, sentence: Sequence[str] | TaggedSentence, **tags: Unpack[TagColumns]
    ) -> tuple[Float64s, float]:
        """(n + 1, n + 1) posterior of every arc [head, dependent], 0 the root; and log p(words).

        Every column but the first sums to one; all are 0 where p(words) is.
        """
        from eigentext.dependency.kernels.generative import inside, outside

        self.check_fitted()
        tagged = TaggedSentence.of(sentence, **tags)
        n = len(tagged.forms)
        check_length(n, "this parser is")
        words = self._encoded(tagged)
        chart, log_z = inside(words, self.params_.automaton)
        if log_z == -np.inf:  # no tree has any weight: none is more likely than another
            return np.zeros((n + 1, n + 1)), log_z
        return outside(words, self.params_.automaton, chart, log_z)[0], float(log_z)

    def parse(
        self,
        sentence: Sequence[str] | TaggedSentence,
        *,
        decoder: Literal["mbr", "viterbi"] = "mbr",
        **tags: Unpack[TagColumns],
    ) -> GenerativeParse:
        """The tree of most expected right arcs (``mbr``), or the best tree with its states."""
        from eigentext.dependency.decoding.decoders import eisner
        from eigentext.dependency.kernels.generative import viterbi

        self.check_fitted()
        tagged = TaggedSentence.of(sentence, **tags)
        check_length(len(tagged.forms), "this parser is")
        if decoder == "mbr":
            arcs, _ = self.marginals(tagged)
            heads, score = eisner(arcs)
        elif decoder == "viterbi":
            words = self._encoded(tagged)
            with np.errstate(divide="ignore"):
                words = words._replace(emit=np.log(words.emit))
            heads = np.zeros(len(tagged.forms), np.int32)
            score = viterbi(words, self._log_automaton, heads)
        else:
            raise SettingsError(f"decoder is {decoder!r}, expected 'mbr' or 'viterbi'")
        upos = None if set(tagged.upos) == {"_"} else tagged.upos
        tree = DependencyTree(tagged.forms, heads, tags=upos)
        return GenerativeParse(tree, float(score))

    def parse_many(
        self,
        sentences: Iterable[Sequence[str] | ConlluBlock],
        *,
        jobs: int = 1,
        decoder: Literal["mbr", "viterbi"] = "mbr",
    ) -> Iterator[GenerativeParse | None]:
        """The trees of sentences in their order; None for one without tokens.

        A sentence is a list of tokens, or one of CoNLL-U, whose tags are then taken.  ``jobs``
        processes share the work; the answers do not depend on it.
        """
        self.check_fitted()
        tagged = map(_tagged, checked_list(sentences, "sentences"))
        work = in_order(partial(_parse_all, decoder=decoder), tagged, state=self, jobs=jobs)
        return (parse for _, parse in work)

    def predict(self, sentences: Iterable[ConlluBlock], *, jobs: int = 1) -> list[ConlluBlock]:
        """The sentences with heads filled in; all relations are ``_``."""
        self.check_fitted()
        blocks = list(each_conllu(sentences))
        parses = self.parse_many(blocks, jobs=jobs)
        return [
            sentence.with_columns(head=parse.tree.heads.tolist(), deprel=["_"] * len(parse.tree))
            for sentence, parse in zip(blocks, parses, strict=True)
            if parse is not None  # CoNLL-U has no sentence without words
        ]

    def score(self, sentences: Sequence[ConlluBlock], y: None = None) -> float:
        """The share of words with the right head, from 0 to 1, by the rules of CoNLL 2018."""
        from eigentext.evaluate.attachment import evaluate

        self.check_fitted()
        gold = list(each_conllu(sentences))
        if not gold:
            raise DataError("<sentences>", None, "no sentences to score")
        return evaluate(gold, self.predict(gold)).uas / 100

    # ---------------------------------------------------------------- storage

    def _restore(self, content: _Content) -> None:
        self._known = frozenset(content.vocabulary)
        self._tag_ids = {tag: number for number, tag in enumerate(content.tags)}
        pairs = zip(content.words, content.tag_of.tolist(), strict=True)
        self._word_ids = {pair: number for number, pair in enumerate(pairs)}
        self._finish(content.params, content.tag_of)
        n_siblings = content.params.T.shape[1]
        if self._kinds.max() >= n_siblings:
            raise ValueError(f"{n_siblings} kinds of siblings")

    def _summary(self) -> str:
        return f"{len(self.params_.root)} states of {len(self._tag_ids)} tags"


def _tag_of_most(tag_of: Int64s) -> int:
    return int(np.argmax(np.bincount(tag_of)))


def _tagged(sentence: Sequence[str] | ConlluBlock) -> TaggedSentence | None:
    if isinstance(sentence, ConlluBlock):
        return TaggedSentence.from_conllu(sentence) if len(sentence) else None
    tokens = checked_tokens(sentence)
    return TaggedSentence.of(tokens) if tokens else None


def _parse_all(
    parser: GenerativeParser, sentences: list[TaggedSentence | None], **options: Any
) -> list[GenerativeParse | None]:
    return [
        None if sentence is None else parser.parse(sentence, **options) for sentence in sentences
    ]
