"""``LexicalRanker``: documents of labelled words in, a ranker out; then tokens in, rankings out.

``fit`` gathers the labels seen with each form, counts features with label elements (stage 1),
learns the weights of features over each word's candidates (stage 2), then does both again with the
neighbours' predicted labels as features (second pass), and calibrates.  All of the data serve both
stages: what a training word is weighed by never contains its own document's counts.
``holdout=0.1`` splits the documents 9:1 instead, as Shah et al. 2010 do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from eigentext.base.cores import beside
from eigentext.base.files.opening import Source
from eigentext.base.model import Model
from eigentext.base.modelfile import ModelFile
from eigentext.base.progress import Progress
from eigentext.base.tokens import checked_tokens, each_of
from eigentext.base.types import Float64s, Int64s
from eigentext.base.values import Flag, Named, Packed, Whole
from eigentext.errors import DataError, SettingsError
from eigentext.features.word_classes import clusters_of, means_bits, vectors_of
from eigentext.lexical.analysis import Analyzer
from eigentext.lexical.analyzers import open_analyzer
from eigentext.lexical.candidates import LabelSource
from eigentext.lexical.documents import LexDocument, LexWord
from eigentext.lexical.ranked import RankedCandidate, RankedWord, with_decision
from eigentext.lexical.ranker import storage, templates
from eigentext.lexical.ranker.counts import CountTable, LikeDocuments
from eigentext.lexical.ranker.encoding import (
    GUESS,
    Observed,
    Targets,
    WordArrays,
    WordEncoder,
    hard_elements,
)
from eigentext.lexical.ranker.features import Hashes
from eigentext.lexical.ranker.records import RankWeights
from eigentext.lexical.ranker.second_pass import (
    RankerPass,
    best_rows,
    counted_pairs,
    only_count,
    pass_columns,
    predicted_targets,
)
from eigentext.lexical.ranker.softmax import (
    PassInputs,
    fit_softmax,
    probabilities,
    scores,
    temperature,
)
from eigentext.lexical.schemes.labels import Label, LabelScheme, load_scheme
from eigentext.lexical.settings import RankerSettings

__all__ = ["LexicalRanker", "RankedCandidate", "RankedWord"]


@dataclass(eq=False, repr=False)
class LexicalRanker(Model, RankerSettings):
    """Ranks every analysis of every word in context.

    >>> from eigentext.lexical.documents import LexDocument, LexWord
    >>> scheme = load_scheme("arabic14")
    >>> def word(form, pos):
    ...     return LexWord(form, scheme.from_mapping({"lemma": form, "pos": pos, "det": "0"}))
    >>> text = [LexDocument(f"d{i}", [[word("من", "P"), word("علم", "N")]]) for i in range(4)]
    >>> ranker = LexicalRanker(analyzer="sample", scheme=scheme, bits=0).fit(text)
    >>> ranker.rank(["من", "علم"])[1].best.label[1]
    'N'
    """

    KIND = "lexical"
    VERSION = 3
    CONTENT = storage.RankerContent
    SIZED_BY = Named({"passes": Whole(1, 5), "document_counts": Flag()})

    oracle = False  # benchmarks only: neighbours' gold labels in later passes

    def check(self) -> None:
        """Raise SettingsError for settings that are not what was declared."""
        super().check()
        if self.clusters is not None and self.vectors is not None:
            raise SettingsError("clusters and vectors: expected one of them")
        for template in (*self.templates, *self.second):
            templates.parse(template)

    def _summary(self) -> str:
        return f"{len(self.seen_):,} forms, analyzer {self.analyzer_.name!r}"

    def fit(
        self,
        documents: Iterable[LexDocument],
        y: object = None,
        *,
        candidates: LabelSource | None = None,
        out_of_sample: Mapping[str, Analyzer] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Learn from documents whose words have labels.

        ``candidates`` are those of another ranker with this analyzer and scheme (its
        ``candidates_``): words are then analysed once for both.  Where the analyzer itself
        learned from these documents, ``out_of_sample`` gives by document id one that did not
        learn from that document: training words then look like new ones.
        """
        self.check()
        counted, held_out = self._split(list(each_of(LexDocument, documents, "documents")))
        tell = progress or (lambda *_: None)
        tell(0, self.passes + 1, "analyses")
        forms = [w.form for d in counted for w in d.words() if w.label is not None]
        if not forms:
            raise SettingsError("no word with a label in the training documents: nothing to learn")
        if candidates is None:
            candidates = LabelSource(open_analyzer(self.analyzer), load_scheme(self.scheme))
        self.clusters_ = clusters_of(self.clusters)
        if self.vectors is not None:
            self.clusters_ = means_bits(*vectors_of(self.vectors, scale=1.0), seed=self.seed)
        with candidates.keeping_all():
            self.hard_ = hard_elements(candidates.scheme, candidates, forms)
            self._use(candidates)
            self._fit(counted, held_out, forms, out_of_sample or {}, tell)
        return self

    def _use(self, candidates: LabelSource) -> None:
        """What follows from the settings and ``hard_``, before and after a file."""
        self.candidates_ = candidates
        self.analyzer_, self.scheme_ = candidates.analyzer, candidates.scheme
        self.targets_ = Targets(self.scheme_, hard=self.hard_, only=self.targets)
        self.encoder_ = WordEncoder(candidates, self.targets_, self.clusters_)

    @property
    def first_templates(self) -> tuple[str, ...]:
        """Features of the first pass, with those of clusters where there are some."""
        self.check_fitted()
        more = templates.CLUSTERED if self.clusters_ else ()
        return tuple(dict.fromkeys((*self.settings_.templates, *more)))

    def _fit(
        self,
        counted: list[LexDocument],
        held_out: list[LexDocument],
        forms: list[str],
        out_of_sample: Mapping[str, Analyzer],
        tell: Progress,
    ) -> None:
        self.observed_ = Observed()
        numbers: dict[str, int] = {}
        for number, document in enumerate(counted):
            numbers[document.id] = number
            for word in document.words():
                if word.label is not None and self.observed:
                    self.observed_.add(word.form, word.label, number)
        self.seen_ = frozenset(forms)
        others = {a: LabelSource(a, self.scheme_) for a in set(out_of_sample.values())}
        sources = {name: others[analyzer] for name, analyzer in out_of_sample.items()}
        first = self.encoder_(counted, self.observed_, training=numbers, out_of_sample=sources)
        second = self.encoder_(held_out, self.observed_) if held_out else None
        self._fit_stages(first, second, tell)

    def _split(self, documents: list[LexDocument]) -> tuple[list[LexDocument], list[LexDocument]]:
        if len({document.id for document in documents}) < len(documents):
            raise SettingsError("expected each document id once among the training documents")
        if self.holdout is None:
            return documents, []
        random = np.random.default_rng(self.seed)
        take = max(1, round(self.holdout * len(documents)))
        held = set(random.permutation(len(documents))[:take].tolist())
        return (
            [d for number, d in enumerate(documents) if number not in held],
            [d for number, d in enumerate(documents) if number in held],
        )

    def _fit_stages(
        self, counted: WordArrays, held_out: WordArrays | None, tell: Progress
    ) -> None:
        """All passes; ``held_out`` words learn weights, or else the counted ones do."""
        names = self.targets_.names
        self.document_counts_ = self._count_documents(counted) if self.document_counts else None
        self.stages_: list[RankerPass] = []
        both = [counted] if held_out is None else [counted, held_out]
        parts: list[PassInputs | None] = [None for _ in both]
        predicted: list[dict[str, Hashes] | None] = [None, None]
        for number in range(self.passes):
            tell(number + 1, self.passes + 1, f"pass {number + 1}")
            own_templates = self.first_templates if number == 0 else self.second
            counts = CountTable(counted_pairs(own_templates, names), least=self.min_count)
            last = number + 1 == self.passes
            inputs = []
            for part, e in enumerate(both):
                if last and part == 0 and held_out is not None:  # predicts for no further pass
                    only_count(own_templates, counts, e, predicted[part])
                    continue
                parts[part] = columns = pass_columns(
                    own_templates,
                    counts,
                    e,
                    predicted[part],
                    after=parts[part],
                    training=part == 0,
                    documents=None if parts[part] else self.document_counts_,
                    transform=self.transform,
                    with_noise=self.weights == "james-stein",
                )
                inputs.append(columns)
            if last:  # weights of nine tenths are learned beside those of all
                calibrated = beside(partial(self._calibrated, inputs[-1]))
            weights = self._learn(inputs[-1], self.bits if last else 0)
            self.stages_.append(RankerPass(own_templates, counts, weights))
            if last:
                self.temperature_ = calibrated()
                break
            for part, part_inputs in enumerate(inputs):
                rows = best_rows(part_inputs.encoded.first, scores(part_inputs, weights))
                predicted[part] = predicted_targets(
                    names, part_inputs.encoded, rows, oracle=self.oracle
                )

    def _learn(self, inputs: PassInputs, bits: int, words: Int64s | None = None) -> RankWeights:
        chosen = inputs.encoded.learnable if words is None else words
        if self.weights != "adagrad":
            from eigentext.lexical.ranker.weights import fit_weights

            return fit_weights(inputs, chosen, self.weights, seed=self.seed)
        return fit_softmax(inputs, chosen, bits=bits, epochs=self.epochs, seed=self.seed)

    def _calibrated(self, inputs: PassInputs) -> float:
        """The temperature at which a tenth of the documents is most probable, unseen."""
        e = inputs.encoded
        words = e.learnable
        tenth = e.document_of[words] % 10 == 9  # every tenth document
        if not tenth.any() or tenth.all():
            return 1.0
        weights = self._learn(inputs, self.bits, words[~tenth])
        return temperature(e.first, scores(inputs, weights), e.gold_row, words[tenth])

    def _count_documents(self, counted: WordArrays) -> LikeDocuments:
        counts = LikeDocuments()
        countable = counted.countable
        n = int(counted.document_of[-1]) + 1 if len(counted.words) else 0
        words: list[list[str]] = [[] for _ in range(n)]
        for word, document in zip(counted.words, counted.document_of.tolist(), strict=True):
            words[document].append(word)
        for document in range(n):
            rows = countable[counted.document_of[countable] == document]
            counts.add(words[document], counted.gold_hash[rows])
        counts.finish()
        return counts

    def score_documents(
        self, documents: Sequence[LexDocument], *, fixed: Mapping[int, Label] | None = None
    ) -> tuple[WordArrays, Float64s]:
        """The words as arrays, and the score of every row; ``fixed`` is by the word's number."""
        self.check_fitted()
        documents = list(each_of(LexDocument, documents, "documents"))
        encoded = self.encoder_(documents, self.observed_)
        decided = {number: self.targets_.hashes(label) for number, label in (fixed or {}).items()}
        predicted: dict[str, Hashes] | None = None
        part: PassInputs | None = None
        row_scores = np.zeros(len(encoded.row_hash))  # [R] of the last pass so far
        for stage in self.stages_:
            part = pass_columns(
                stage.templates,
                stage.counts,
                encoded,
                predicted,
                after=part,
                documents=None if part else self.document_counts_,
                transform=self.settings_.transform,
            )
            row_scores = scores(part, stage.weights)
            predicted = predicted_targets(
                self.targets_.names,
                encoded,
                best_rows(encoded.first, row_scores),
                fixed=decided,
                oracle=self.oracle,
            )
        return encoded, row_scores

    def score(self, documents: Sequence[LexDocument], y: object = None) -> float:
        """The share of scored words whose right label is first: A1, from 0 to 1."""
        from eigentext.lexical.crossval import evaluate_ranker

        a1 = evaluate_ranker(self, documents).scores.full.a1
        if np.isnan(a1):
            raise DataError("<documents>", None, "no words with labels to score")
        return a1 / 100.0

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
        self.check_fitted()
        sentences = [checked_tokens(tokens), *map(checked_tokens, document or ())]
        whole = LexDocument("", [[LexWord(token) for token in sentence] for sentence in sentences])
        n = len(self.scheme_.elements)
        for number, label in (fixed or {}).items():
            if not 0 <= number < len(tokens):
                raise SettingsError(f"fixed: no token {number} among {len(tokens)}")
            if not isinstance(label, tuple) or len(label) != n:
                raise SettingsError(f"fixed: {label!r}, expected a tuple of {n} elements")
        return next(iter(self.rank_documents([whole], fixed=fixed)))[0]

    def rank_documents(
        self, documents: Iterable[LexDocument], *, fixed: Mapping[int, Label] | None = None
    ) -> Iterator[list[list[RankedWord]]]:
        """Rank every word of documents, sentence by sentence; gold labels are not looked at."""
        self.check_fitted()
        for document in each_of(LexDocument, documents, "documents"):
            encoded, row_scores = self.score_documents([document], fixed=fixed)
            shares = probabilities(encoded.first, row_scores / self.temperature_)
            ranked = iter(self._ranked(encoded, row_scores, shares, fixed or {}))
            yield [[next(ranked) for _ in sentence] for sentence in document.sentences]

    def _ranked(
        self, batch: WordArrays, row_scores: Float64s, shares: Float64s, fixed: Mapping[int, Label]
    ) -> Iterator[RankedWord]:
        """Every word with its candidates in order; equals stay as they are."""
        if not batch.words:
            return
        first = batch.first.tolist()
        of_row = np.repeat(np.arange(len(batch.words)), np.diff(batch.first))
        order = np.lexsort((-row_scores, of_row)).tolist()  # by word, the best row first
        shares_of, score_of = shares.tolist(), row_scores.tolist()
        guesses = np.logical_and.reduceat(batch.numeric[:, GUESS] > 0, batch.first[:-1])
        for token, (form, candidates, guessed) in enumerate(
            zip(batch.words, batch.candidates, guesses.tolist(), strict=True)
        ):
            begin = first[token]
            ranked = []
            for row in order[begin : first[token + 1]]:
                label, analyses, _, source = candidates[row - begin]
                ranked.append(
                    RankedCandidate(label, shares_of[row], score_of[row], analyses, source)
                )
            if token in fixed:
                ranked = with_decision(ranked, fixed[token])
            margin = ranked[0].probability - (ranked[1].probability if len(ranked) > 1 else 0.0)
            yield RankedWord(form, ranked, margin, guessed)

    @classmethod
    def load(
        cls, path: Source, *, analyzer: str | Analyzer | None = None, **unstored: Any
    ) -> Self:
        """Read a ranker; ``analyzer`` says where the analyzer lies now, if elsewhere."""
        if analyzer is not None:
            unstored["analyzer"] = analyzer
        return super().load(path, **unstored)

    @classmethod
    def _from_file(cls, file: ModelFile, unstored: Mapping[str, object]) -> Self:
        """The analyzer is no part of the file: what is wrong with it is not the file's fault."""
        ranker = super()._from_file(file, unstored)
        ranker._use(LabelSource(open_analyzer(ranker.analyzer), load_scheme(ranker.scheme)))
        return ranker

    @classmethod
    def _unpack(cls, packed: Packed, **unstored: object) -> Self:
        clusters = zip(
            packed.strings["cluster_words"], packed.strings["cluster_bits"], strict=True
        )
        inside = {
            "analyzer": packed.facts["analyzer"],
            "scheme": LabelScheme.from_json(packed.facts["scheme"], packed.path),
            "clusters": dict(clusters) or None,
        }
        return super()._unpack(packed, **{**inside, **unstored})
