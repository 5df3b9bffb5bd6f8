"""``LexicalRanker``: documents of labelled words in, a ranker out; then tokens in, rankings out.

1. ``fit`` gathers the labels seen with each form, counts features with label elements (stage 1),
   learns the weights of features over each word's candidates (stage 2), then does both again with
   the neighbours' predicted labels as features (second pass), and calibrates.
2. ``rank`` answers for one sentence, ``rank_documents`` for many at once; both take what a person
   decided already.
3. ``save`` and ``load`` go through ``storage``.

All of the data serve both stages: what a training word is weighed by never contains its own
document's counts.  ``holdout=0.1`` splits the documents 9:1 instead, as the paper does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from eigentext.errors import SettingsError
from eigentext.lexical import features
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.calibration import temperature
from eigentext.lexical.candidates import Candidates
from eigentext.lexical.counts import CountTable, DocumentCounts
from eigentext.lexical.documents import Document, Word
from eigentext.lexical.encoding import GUESS, Encoded, Encoder, Observed, Targets, hard_elements
from eigentext.lexical.labels import Label, LabelScheme, load_scheme
from eigentext.lexical.ranked import RankedCandidate, RankedWord, with_decision
from eigentext.lexical.second_pass import (
    Columns,
    Stage,
    best_rows,
    look,
    predicted_targets,
    together,
    weighed,
)
from eigentext.lexical.softmax import Inputs, Weights, fit_softmax, probabilities, scores
from eigentext.tagging.resources import clusters_of

if TYPE_CHECKING:
    import os

    from eigentext.lexical.analysis import Analyzer

__all__ = ["LexicalRanker", "RankedCandidate", "RankedWord"]

Progress = Callable[[int, int, str], None]


class LexicalRanker:
    """Ranks every analysis of every word in context.

    ``analyzer``   an analyzer, or what ``open_analyzer`` takes
    ``scheme``     a label scheme, or what ``load_scheme`` takes
    ``templates``  features of the first pass; ``second`` those that later passes add
    ``clusters``   bits by word, or a file of them: adds the templates ``features.CLUSTERED``
    ``passes``     1 for what was typed only; each further pass sees the neighbours' labels
    ``documents``  score candidates by the documents that are like this one (Z_tf)
    ``bits``       the last pass also learns 2^bits weights of its own; 0 for none
    ``epochs``     passes of the learner over the words
    ``holdout``    None: every document serves both stages; a share: that share learns weights only
    ``min_count``  features seen less often in training are left out: they do not help
    ``only``       targets to count (``label``, ``morph``, ``hard``, elements); None for all
    ``transform``  of counts: ``ratio``, ``count`` (Eq. 5), ``variance`` (Eq. 3)
    ``observed``   whether labels seen with a form in training are candidates (Eq. 9)
    ``weights``    adagrad, or a method of ``weights.METHODS`` (few documents, no pairs)
    ``seed``       of shuffles and of the split

    >>> from eigentext.lexical.documents import Document, Word
    >>> scheme = load_scheme("arabic14")
    >>> def word(form, pos):
    ...     return Word(form, scheme.from_mapping({"lemma": form, "pos": pos, "det": "0"}))
    >>> text = [Document(f"d{i}", [[word("من", "P"), word("علم", "N")]]) for i in range(4)]
    >>> ranker = LexicalRanker(analyzer="sample", scheme=scheme, bits=0).fit(text)
    >>> ranker.rank(["من", "علم"])[1].best.label[1]
    'N'
    """

    def __init__(
        self,
        *,
        analyzer: str | Analyzer = "sample",
        scheme: str | LabelScheme = "arabic14",
        templates: Sequence[str] = features.WIDE,
        second: Sequence[str] = features.SECOND_PASS,
        clusters: Mapping[str, str] | str | os.PathLike[str] | None = None,
        passes: int = 3,
        documents: bool = True,
        bits: int = 22,
        epochs: int = 2,
        rate: float = 0.05,
        sparse_rate: float = 0.05,
        holdout: float | None = None,
        min_count: int = 2,
        only: Sequence[str] | None = None,
        transform: str = "ratio",
        observed: bool = True,
        weights: str = "adagrad",
        seed: int = 0,
    ) -> None:
        self.analyzer = open_analyzer(analyzer) if isinstance(analyzer, str) else analyzer
        self.analyzer_name = analyzer if isinstance(analyzer, str) else analyzer.name
        self.scheme = scheme if isinstance(scheme, LabelScheme) else load_scheme(scheme)
        self.clusters = clusters_of(clusters)
        more = features.CLUSTERED if self.clusters else ()
        self.templates = tuple(dict.fromkeys((*templates, *more)))
        self.second = tuple(second)
        self.passes = passes
        self.documents = documents
        self.bits = bits
        self.epochs = epochs
        self.rate = rate
        self.sparse_rate = sparse_rate
        self.holdout = holdout
        self.min_count = min_count
        self.only = None if only is None else tuple(only)
        self.transform = transform
        self.observed = observed
        self.weights = weights
        self.seed = seed
        self.oracle = False  # benchmarks only: neighbours' gold labels in later passes
        self.candidates = Candidates(self.analyzer, self.scheme)
        self._check()

    def _check(self) -> None:
        if self.passes < 1:
            raise SettingsError(f"passes: expected 1 or more, found {self.passes}")
        if self.min_count < 1:
            raise SettingsError(f"min_count: expected 1 or more, found {self.min_count}")
        if self.transform not in ("ratio", "count", "variance"):
            raise SettingsError(
                f"transform: expected ratio, count or variance, found {self.transform!r}"
            )
        if self.holdout is not None and not 0 < self.holdout < 1:
            raise SettingsError(f"holdout: expected a share between 0 and 1, not {self.holdout}")
        for template in (*self.templates, *self.second):
            features.parse(template)

    # ---- learning

    def fit(
        self,
        documents: Iterable[Document],
        *,
        out_of_sample: Mapping[str, Analyzer] | None = None,
        progress: Progress | None = None,
    ) -> LexicalRanker:
        """Learn from documents whose words have labels.

        Where the analyzer itself learned from them, ``out_of_sample`` gives by document id one
        that did not learn from that document: training words then look like new ones.
        """
        counted, held_out = self._split(list(documents))
        tell = progress or (lambda *_: None)
        tell(0, self.passes + 1, "analyses")
        forms = [w.form for d in counted for w in d.words() if w.label is not None]
        if not forms:
            raise SettingsError("no word with a label in the training documents: nothing to learn")
        with self.candidates.keeping_all():
            self._fit(counted, held_out, forms, out_of_sample or {}, tell)
        return self

    def _fit(
        self,
        counted: list[Document],
        held_out: list[Document],
        forms: list[str],
        out_of_sample: Mapping[str, Analyzer],
        tell: Progress,
    ) -> None:
        self.hard_ = hard_elements(self.scheme, self.candidates, forms)
        self.targets_ = Targets(self.scheme, hard=self.hard_, only=self.only)
        self.observed_ = Observed()
        numbers: dict[str, int] = {}
        for number, document in enumerate(counted):
            numbers[document.id] = number
            for word in document.words():
                if word.label is not None and self.observed:
                    self.observed_.add(word.form, word.label, number)
        self.seen_ = frozenset(forms)
        self.encoder_ = Encoder(self.candidates, self.targets_, self.clusters)
        others = {a: Candidates(a, self.scheme) for a in set(out_of_sample.values())}
        own = {name: others[analyzer] for name, analyzer in out_of_sample.items()}
        first = self.encoder_(counted, self.observed_, training=numbers, out_of_sample=own)
        second = self.encoder_(held_out, self.observed_) if held_out else None
        self._fit_stages(first, second, tell)

    def _split(self, documents: list[Document]) -> tuple[list[Document], list[Document]]:
        if len({document.id for document in documents}) < len(documents):
            raise SettingsError("expected each document id once among the training documents")
        if self.holdout is None:
            return documents, []
        random = np.random.default_rng(self.seed)
        take = max(1, round(self.holdout * len(documents)))
        held = set(random.permutation(len(documents))[:take].tolist())
        return (
            [d for place, d in enumerate(documents) if place not in held],
            [d for place, d in enumerate(documents) if place in held],
        )

    def _fit_stages(self, counted: Encoded, held_out: Encoded | None, tell: Progress) -> None:
        """All passes; ``held_out`` words learn weights, or else the counted ones do."""
        names = self.targets_.names
        self.document_counts_ = self._count_documents(counted) if self.documents else None
        self.stages_: list[Stage] = []
        both = [counted] if held_out is None else [counted, held_out]
        parts: list[Columns | None] = [None for _ in both]
        predicted: list[dict[str, features.Hashes] | None] = [None, None]
        for number in range(self.passes):
            tell(number + 1, self.passes + 1, f"pass {number + 1}")
            own_templates = self.templates if number == 0 else self.second
            counts = CountTable(weighed(own_templates, names), least=self.min_count)
            stage = Stage(own_templates, counts)
            self.stages_.append(stage)
            last = number + 1 == self.passes
            inputs = []
            for place, e in enumerate(both):
                idle = last and place == 0 and held_out is not None  # predicts for no further pass
                parts[place] = part = self._look(
                    stage,
                    e,
                    predicted[place],
                    parts[place],
                    training=place == 0,
                    count_only=idle,
                    with_noise=self.weights == "james-stein",
                )
                inputs.append(together(e, part))
            stage.weights = self._learn(inputs[-1], self.bits if last else 0)
            if last:
                self._calibrate(inputs[-1])
                break
            for place, given in enumerate(inputs):
                rows = best_rows(given.encoded.first, scores(given, stage.weights))
                predicted[place] = predicted_targets(
                    self.targets_.names, given.encoded, rows, oracle=self.oracle
                )

    def _learn(
        self, inputs: Inputs, bits: int, words: npt.NDArray[np.int64] | None = None
    ) -> Weights:
        chosen = inputs.encoded.learnable if words is None else words
        if self.weights != "adagrad":
            from eigentext.lexical.weights import fit_weights

            return fit_weights(inputs, chosen, self.weights, seed=self.seed)
        return fit_softmax(
            inputs,
            chosen,
            bits=bits,
            epochs=self.epochs,
            rate=self.rate,
            sparse_rate=self.sparse_rate,
            seed=self.seed,
        )

    def _calibrate(self, inputs: Inputs) -> None:
        """The temperature at which a tenth of the documents is most probable, unseen."""
        e = inputs.encoded
        words = e.learnable
        tenth = e.document_of[words] % 10 == 9
        self.temperature_ = 1.0
        if not tenth.any() or tenth.all():
            return
        weights = self._learn(inputs, self.stages_[-1].weights.bits, words[~tenth])  # type: ignore[union-attr]
        self.temperature_ = temperature(e.first, scores(inputs, weights), e.gold_row, words[tenth])

    def _count_documents(self, counted: Encoded) -> DocumentCounts:
        found = DocumentCounts()
        countable = counted.countable
        n = int(counted.document_of[-1]) + 1 if len(counted.words) else 0
        words: list[list[str]] = [[] for _ in range(n)]
        for word, document in zip(counted.words, counted.document_of.tolist(), strict=True):
            words[document].append(word)
        for document in range(n):
            own = countable[counted.document_of[countable] == document]
            found.add(words[document], counted.gold_hash[own])
        found.finish()
        return found

    def _look(
        self,
        stage: Stage,
        encoded: Encoded,
        predicted: Mapping[str, features.Hashes] | None,
        after: Columns | None,
        *,
        training: bool = False,
        count_only: bool = False,
        with_noise: bool = False,
    ) -> Columns:
        n = int(encoded.document_of[-1]) + 1 if len(encoded.words) else 0
        return look(
            stage,
            encoded,
            predicted,
            after=after,
            count=training,
            count_only=count_only,
            leave_out=training,
            documents=self.document_counts_ if after is None else None,
            own=range(n) if training else [-1] * n,
            transform=self.transform,
            with_noise=with_noise,
        )

    # ---- ranking

    def score_documents(
        self, documents: Sequence[Document], *, fixed: Mapping[int, Label] | None = None
    ) -> tuple[Encoded, npt.NDArray[np.float64]]:
        """The words as arrays, and the score of every row; ``fixed`` is by place of the word."""
        if not hasattr(self, "encoder_"):
            raise SettingsError("this ranker was not fitted: call fit first")
        encoded = self.encoder_(documents, self.observed_)
        decided = {place: self.targets_.hashes(label) for place, label in (fixed or {}).items()}
        predicted: dict[str, features.Hashes] | None = None
        part: Columns | None = None
        found = np.zeros(len(encoded.row_hash))
        for stage in self.stages_:
            part = self._look(stage, encoded, predicted, part)
            if stage.weights is None:
                raise SettingsError("this ranker was not fitted: call fit first")
            found = scores(together(encoded, part), stage.weights)
            predicted = predicted_targets(
                self.targets_.names,
                encoded,
                best_rows(encoded.first, found),
                fixed=decided,
                oracle=self.oracle,
            )
        return encoded, found

    def rank(
        self,
        tokens: Sequence[str],
        *,
        fixed: Mapping[int, Label] | None = None,
        document: Sequence[Sequence[str]] | None = None,
    ) -> list[RankedWord]:
        """Rank the candidates of every token of one sentence.

        ``fixed`` holds labels that a person decided, by token; ``document`` the sentences around,
        for what the document is about.
        """
        if isinstance(tokens, str):
            raise TypeError("expected a list of tokens, found a str: split it into words first")
        around = [[Word(w) for w in sentence] for sentence in document or ()]
        given = Document("", [[Word(token) for token in tokens], *around])
        for place, label in (fixed or {}).items():
            if not 0 <= place < len(tokens):
                raise SettingsError(f"fixed: no token {place} among {len(tokens)}")
            if not isinstance(label, tuple) or len(label) != len(self.scheme.elements):
                n = len(self.scheme.elements)
                raise SettingsError(f"fixed: {label!r}, expected a tuple of {n} elements")
        return next(iter(self.rank_documents([given], fixed=fixed)))[0]

    def rank_documents(
        self, documents: Iterable[Document], *, fixed: Mapping[int, Label] | None = None
    ) -> Iterator[list[list[RankedWord]]]:
        """Rank every word of documents, sentence by sentence; gold labels are not looked at."""
        for document in documents:
            encoded, found = self.score_documents([document], fixed=fixed)
            shares = probabilities(encoded.first, found / self.temperature_)
            ranked = iter(self._ranked(encoded, found, shares, fixed or {}))
            yield [[next(ranked) for _ in sentence] for sentence in document.sentences]

    def _ranked(
        self,
        encoded: Encoded,
        found: npt.NDArray[np.float64],
        shares: npt.NDArray[np.float64],
        fixed: Mapping[int, Label],
    ) -> Iterator[RankedWord]:
        """Every word with its candidates in order; equals stay as they are."""
        if not encoded.words:
            return
        first = encoded.first.tolist()
        of_row = np.repeat(np.arange(len(encoded.words)), np.diff(encoded.first))
        order = np.lexsort((-found, of_row)).tolist()
        shares_of, score_of = shares.tolist(), found.tolist()
        guesses = np.logical_and.reduceat(encoded.numeric[:, GUESS] > 0, encoded.first[:-1])
        for place, (form, given, guessed) in enumerate(
            zip(encoded.words, encoded.candidates, guesses.tolist(), strict=True)
        ):
            begin = first[place]
            ranked = []
            for row in order[begin : first[place + 1]]:
                label, analyses, _, source = given[row - begin]
                ranked.append(
                    RankedCandidate(label, shares_of[row], score_of[row], analyses, source)
                )
            if place in fixed:
                ranked = with_decision(ranked, fixed[place])
            margin = ranked[0].probability - (ranked[1].probability if len(ranked) > 1 else 0.0)
            yield RankedWord(form, ranked, margin, guessed)

    # ---- files

    def save(self, path: str | os.PathLike[str], *, data: Mapping[str, Any] | None = None) -> None:
        """Write the ranker as a model file; the analyzer's data is not in it."""
        from eigentext.lexical.storage import save_ranker

        save_ranker(self, path, data=data)

    @classmethod
    def load(
        cls, path: str | os.PathLike[str], *, analyzer: str | Analyzer | None = None
    ) -> LexicalRanker:
        """Read a ranker; ``analyzer`` says where the analyzer lies now, if elsewhere."""
        from eigentext.lexical.storage import load_ranker

        return load_ranker(cls, path, analyzer=analyzer)
