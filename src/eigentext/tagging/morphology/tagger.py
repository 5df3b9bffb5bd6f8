"""``MorphTagger``: a treebank in, a tagger out; then words in, their morphology out.

``fit`` numbers the tags (``tags``), counts forms and their tags (``words``), learns lemma rules
(``lemmas``), and trains the weights of the chain on candidates that each word is held out of
(``learn``).  :func:`jackknifed` tags a treebank by taggers that have not seen it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from eigentext.base import settings as declarations
from eigentext.base.fields import Ints, Pointers, Reals, Strings
from eigentext.base.folds import held_out
from eigentext.base.model import Model
from eigentext.base.parallel import side_by_side
from eigentext.base.ragged import pointers
from eigentext.base.records import (
    BitsOfWords,
    Called,
    Group,
    Numbers,
    Record,
    RecordColumns,
    When,
    stored,
)
from eigentext.base.tokens import checked_sentences, checked_tokens
from eigentext.base.values import Flag, Listed, Named, Real, Text, Whole
from eigentext.errors import DataError, EigentextError, SettingsError
from eigentext.features.word_classes import clusters_of, vector_bits
from eigentext.language.formats.conllu import each_conllu
from eigentext.language.sentence import WordReading
from eigentext.language.tokenise.typed_forms import familiar_forms
from eigentext.tagging.morphology import learn
from eigentext.tagging.morphology.learn import ByteWeights
from eigentext.tagging.morphology.lemmas import CASES, LEMMA_BITS, LemmaRule, Lemmatiser
from eigentext.tagging.morphology.tags import MorphTagSet, OtherXpos, joins_xpos
from eigentext.tagging.morphology.words import COLUMNS, FormLexicon, MorphTable, restricted
from eigentext.tagging.settings import MorphTaggerSettings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from types import SimpleNamespace

    from eigentext.base.fields import Size
    from eigentext.base.progress import Progress
    from eigentext.base.types import Int64s, Json
    from eigentext.language.formats.conllu import ConlluBlock, Treebank
    from eigentext.lexical.analysis import Analyzer


_SURE = (0.7, 0.9)  # probabilities of the best upos beyond which a second is less near
_LEAST = 0.02  # and of the second, to be told at all


def opened(analyzer: Analyzer | str | None) -> Analyzer | None:
    """The analyzer of this name; an analyzer is its own."""
    if not analyzer:
        return None
    from eigentext.lexical.analyzers import open_analyzer

    return open_analyzer(analyzer)


def _reopened(name: str) -> Analyzer | None:
    """The analyzer that the tagger in this file learned with."""
    try:
        return opened(name)
    except EigentextError as error:
        why = f"the tagger learned with the analyzer {name!r}, which cannot be opened: {error}"
        raise ValueError(why) from error


class _Tag(NamedTuple):
    upos: str
    xpos: str
    feats: str


_RULE: dict[str, Any] = dict.fromkeys(LemmaRule._fields, Strings("rules"))


def _entries(below: str) -> Numbers:
    return Numbers(Ints(("entries",), ("int32",), 0, below))


def _bytes(prefix: str, size: Size) -> Record:
    table = Called("weights", Ints((size,), ("int8",)))
    return Record(ByteWeights, prefix=prefix, table=table, scale=Reals((), low=0, high=1e9))


@dataclass
class MorphContent:
    """What a file holds."""

    tags: tuple[_Tag, ...] = stored(
        RecordColumns(_Tag, upos=Strings("tags"), xpos=Strings("tags"), feats=Strings("tags")),
        of=lambda tagger: list(map(_Tag._make, tagger.tag_set_.triples)),
    )
    lexicon_: FormLexicon = stored(
        Record(
            FormLexicon,
            forms=Strings("forms", distinct=True),
            ptr=Called("starts", Pointers("forms", "entries")),
            tags=Ints(("entries",), ("int32",), 0, "tags"),
            counts=Ints(("entries",), ("int32",), 1),
        )
    )
    rules: tuple[LemmaRule, ...] = stored(
        RecordColumns(LemmaRule, prefix="rule_", **_RULE), of="lemmatiser_.rules"
    )
    rule_of: Sequence[int] = stored(_entries("rules"), "rules", of="lemmatiser_.rule_of")
    weights_: ByteWeights = stored(_bytes("", lambda values: 1 << values["bits"]))
    lemma_weights: ByteWeights = stored(
        _bytes("lemma_", 1 << LEMMA_BITS), of="lemmatiser_.weights"
    )
    has_other_xpos: bool = stored(
        Flag(), "other_xpos", of=lambda tagger: tagger.other_xpos_ is not None
    )
    other_xpos: SimpleNamespace | None = stored(
        When(
            lambda values: bool(values["other_xpos"]),
            Group(
                values=Called("other_xpos", Strings("values", distinct=True)),
                of_tag=Called("xpos_of_tag", Numbers(Ints(("tags",), ("int32",), 0, "values"))),
                of_entry=Called("xpos_of_entry", _entries("values")),
            ),
        ),
        of="other_xpos_",
    )
    clusters_: dict[str, str] = stored(BitsOfWords("cluster"))
    near_: dict[str, str] = stored(BitsOfWords("vector"))
    heat_: float = stored(Real(1e-3, 1e3))
    # of words that training saw, and others
    coverage_: tuple[float, float] = stored(Listed(Real(0, 1), 2))
    analyzer_name_: str = stored(Text(), "analyzer")

    def _holds(self) -> None:
        if not self.tags or not self.lexicon_.forms:
            raise ValueError("no tags or no forms, expected some")
        if list(self.tags) != sorted(set(self.tags)):
            raise ValueError("the tags are not in order, or some are alike")
        if bool(np.any(np.diff(self.lexicon_.ptr) == 0)):
            raise ValueError("array 'starts' tells of a form without a tag")
        if {rule.case for rule in self.rules} - set(CASES):
            raise ValueError(f"strings 'rule_case' hold others than {', '.join(CASES)}")
        if len(self.lexicon_.entry) < len(self.lexicon_.tags):
            raise ValueError("array 'tags' has a tag of a form twice")

    def restore(self, tagger: MorphTagger) -> None:
        """Set what ``fit`` would have learned."""
        tagger.tag_set_ = MorphTagSet((tag.upos, tag.xpos, tag.feats) for tag in self.tags)
        tagger.lemmatiser_ = Lemmatiser(
            self.lexicon_, tagger.tag_set_, self.rules, self.rule_of, self.lemma_weights
        )
        tagger.other_xpos_, other = None, self.other_xpos
        if other is not None:
            tagger.other_xpos_ = OtherXpos(self.lexicon_.entry, **vars(other))
        tagger.analyzer_ = _reopened(self.analyzer_name_)
        # settings as well, so that a tagger of the same settings can be trained
        tagger.clusters, tagger.vectors = self.clusters_ or None, self.near_ or None
        tagger._prepare()


class Morphology(NamedTuple):
    """The morphology of one sentence, a tuple a column; ``_`` where the treebank has none."""

    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    feats: tuple[str, ...]
    lemmas: tuple[str, ...]
    others: tuple[str, ...] = ()  # the second-best upos, how near from 1 to 3: 1:VERB; _: none


class DecidedMorphology(NamedTuple):
    """A sentence of which some was decided: the best of the rest, and readings of each word."""

    best: Morphology
    readings: list[list[WordReading]]
    followed: dict[int, bool]  # for each decided word: does the tagger know such a tag?


@dataclass(eq=False, repr=False)
class MorphTagger(Model, MorphTaggerSettings):
    """Part of speech, features and lemma of every word, by a chain over candidate tags.

    Settings: :class:`MorphTaggerSettings`.

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> text = [make_sentence(["the", "dogs", "ran"], upos=["DET", "NOUN", "VERB"],
    ...                       feats=["_", "Number=Plur", "Tense=Past"],
    ...                       lemma=["the", "dog", "run"])] * 3
    >>> tagger = MorphTagger(bits=12).fit(text)
    >>> tagger.tag([["the", "cats"]])[0].lemmas
    ('the', 'cat')
    """

    KIND = "morph-tagger"
    CONTENT = MorphContent
    SIZED_BY = Named({"bits": Whole(10, 26)})

    def fit(
        self,
        sentences: Treebank,
        *,
        analyzer: Analyzer | str | None = None,
        progress: Progress | None = None,
    ) -> MorphTagger:
        """Learn from the sentences of a treebank: a list, a file, or Docs.

        ``analyzer``, or its name (:func:`eigentext.lexical.open_analyzer`), adds what it says of
        a word to what endings say; a model file keeps its name, that of its file with it.
        """
        self.check()
        read = [sentence.rows for sentence in each_conllu(sentences)]
        words = [word for rows in read for word in rows]
        if not words:
            raise DataError("<training sentences>", None, "no words, expected some to learn from")
        forms = [word[1] for word in words]
        triples = [(word[3], word[4], word[5]) for word in words]
        joint = joins_xpos(forms, triples)
        tag_of_word = triples if joint else [(upos, "_", feats) for upos, _, feats in triples]
        self.tag_set_ = MorphTagSet(tag_of_word)
        tags = np.array([self.tag_set_.number[triple] for triple in tag_of_word], np.int64)
        pairs = list(zip(forms, tags.tolist(), strict=True))
        self.lexicon_ = FormLexicon.counted(Counter(pairs))
        lemmas = Counter((*pair, word[2]) for pair, word in zip(pairs, words, strict=True))
        self.lemmatiser_ = Lemmatiser.learned(self.lexicon_, self.tag_set_, lemmas)
        self.other_xpos_ = None
        if not joint:
            xpos = Counter((*pair, triple[1]) for pair, triple in zip(pairs, triples, strict=True))
            self.other_xpos_ = OtherXpos.learned(self.lexicon_.entry, len(self.tag_set_), xpos)
        self.clusters_ = clusters_of(self.clusters)
        self.near_ = vector_bits(self.vectors)
        self.analyzer_ = opened(analyzer)
        self.analyzer_name_ = getattr(analyzer, "name", analyzer) or ""
        table = self._prepare()
        rows = table.training_rows(forms, tags)
        starts = pointers(map(len, read))
        gold = learn.gold_candidates(table, rows, tags)
        text = learn.ChainText(table, rows, starts)
        self.weights_, self.heat_ = learn.trained(text, self.tag_set_, gold, self, progress)
        # each word was held out of the counts that its candidates come from
        alone = np.array([self.lexicon_.form_counts[form] == 1 for form in forms])
        self.coverage_ = tuple(
            float(np.mean(gold[words_of] >= 0)) if words_of.any() else 1.0
            for words_of in (~alone, alone)
        )
        return self

    def _prepare(self) -> MorphTable:
        """The table of words, empty; another one for training."""
        learned = self.lexicon_, self.tag_set_, self.clusters_, self.near_
        self._words = MorphTable(*learned, self.lemmatiser_, self.analyzer_)
        return MorphTable(*learned, self.lemmatiser_, self.analyzer_)

    def _read(self, sentences: Sequence[Sequence[str]]) -> tuple[list[str], learn.ChainText]:
        """The words as training spelt them, and as the chain reads them."""
        knows = self.lexicon_.form_counts.__contains__
        forms = [form for words in sentences for form in familiar_forms(words, knows)]
        rows = self._words.rows(forms)
        return forms, learn.ChainText(self._words, rows, pointers(map(len, sentences)))

    @property
    def _learned(self) -> tuple[MorphTagSet, ByteWeights, float]:
        return self.tag_set_, self.weights_, self.heat_

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Morphology]:
        """The morphology of each sentence."""
        self.check_fitted()
        forms, text = self._read(checked_sentences(sentences))
        return self._morphology(forms, learn.tagged(text, *self._learned), text.starts)

    def _morphology(
        self, forms: Sequence[str], answers: learn.ChainTags, starts: Int64s
    ) -> list[Morphology]:
        tags = answers.best.tolist()
        columns = [[of_tag[tag] for tag in tags] for of_tag in self.tag_set_.columns]
        if self.other_xpos_ is not None:
            columns[1] = self.other_xpos_.of(forms, tags)
        columns.append(self.lemmatiser_.lemmas(forms, tags))
        columns.append(self._others(answers))
        return [
            Morphology(*(tuple(column[first:last]) for column in columns))
            for first, last in pairwise(starts.tolist())
        ]

    def _others(self, answers: learn.ChainTags) -> list[str]:
        """The column of the same name."""
        near = 1 + np.searchsorted(_SURE, answers.chances[:, 0])
        upos = self.tag_set_.columns[0]
        names = ["_"] * len(near)
        for at in np.flatnonzero(answers.chances[:, 1] >= _LEAST).tolist():
            names[at] = f"{near[at]}:{upos[answers.others[at]]}"
        return names

    def tag_decided(
        self, sentence: Sequence[str], decided: Mapping[int, Mapping[str, str]], k: int = 5
    ) -> DecidedMorphology:
        """One sentence of which some is decided: word -> any of its upos, xpos, feats, lemma.

        The others are tagged given that.  Decided columns come back as they are, in a feature's
        own order; ``followed`` says for each decided word whether the tagger knows such a tag.

        >>> from eigentext.language.formats.conllu import make_sentence
        >>> text = [make_sentence(["saw", "saws"], upos=["VERB", "NOUN"]),
        ...         make_sentence(["saws", "saw"], upos=["NOUN", "VERB"])] * 3
        >>> tagger = MorphTagger(bits=12).fit(text)
        >>> tagger.tag_decided(["saw"], {0: {"upos": "NOUN"}}).best.upos
        ('NOUN',)
        """
        if k < 1:
            raise SettingsError(f"k is {k}, expected a whole number of at least 1")
        self.check_fitted()
        forms, text = self._read([checked_tokens(sentence)])
        demands: dict[int, dict[str, str]] = {}
        for word, values in decided.items():
            if not 0 <= word < len(forms):
                raise SettingsError(f"decided: no word {word} among {len(forms)}")
            demands[word] = {name: values[name] for name in COLUMNS if name in values}
        demands = {word: values for word, values in demands.items() if values}
        table = restricted(
            self._words, self.tag_set_, self.lexicon_, self.lemmatiser_, forms, text.rows, demands
        )
        text = learn.ChainText(table, table.rows, text.starts)
        best = self._morphology(forms, learn.tagged(text, *self._learned), text.starts)[0]
        columns = {name: list(getattr(best, name)) for name in (*COLUMNS, "lemmas")}
        readings = self._readings(forms, text, k)
        for word, values in decided.items():
            for name, value in values.items():
                columns["lemmas" if name == "lemma" else name][word] = value
        shown = {name: tuple(column) for name, column in columns.items()}
        return DecidedMorphology(best._replace(**shown), readings, table.followed)

    def nbest(self, sentence: Sequence[str], k: int = 5) -> list[list[WordReading]]:
        """At most k readings of each word of one sentence, the most probable first.

        A probability is that the reading is right.  The sum over all readings is below 1: words
        have tags that were no candidates, as often as it was found in training.
        """
        if k < 1:
            raise SettingsError(f"k is {k}, expected a whole number of at least 1")
        self.check_fitted()
        return self._readings(*self._read([checked_tokens(sentence)]), k)

    def _readings(
        self, forms: Sequence[str], text: learn.ChainText, k: int
    ) -> list[list[WordReading]]:
        answers = []
        shares = learn.shares(text, *self._learned)
        for form, row, probabilities in zip(forms, text.rows.tolist(), shares, strict=True):
            n = int(np.count_nonzero(probabilities))
            probabilities *= self.coverage_[form not in self.lexicon_.form_counts]
            best = np.argsort(-probabilities, kind="stable")[: min(n, k)]
            tags = text.table.lists.tags[row, best].tolist()
            lemmas = self.lemmatiser_.lemmas([form] * len(tags), tags)
            xpos = [self.tag_set_.columns[1][tag] for tag in tags]
            if self.other_xpos_ is not None:
                xpos = self.other_xpos_.of([form] * len(tags), tags)
            upos, _, feats = zip(*(self.tag_set_.triples[tag] for tag in tags), strict=True)
            columns = upos, xpos, feats, lemmas, probabilities[best].tolist()
            answers.append([WordReading(*reading) for reading in zip(*columns, strict=True)])
        return answers

    def _summary(self) -> str:
        return f"{len(self.tag_set_):,} tags, {len(self.lexicon_.forms):,} forms"


def jackknifed(
    sentences: Iterable[ConlluBlock],
    settings: MorphTaggerSettings,
    *,
    ways: int,
    analyzer: Analyzer | str | None = None,
    progress: Progress | None = None,
) -> list[Morphology]:
    """The morphology of each sentence by a tagger that learned from the other stretches.

    The sentences are cut into ``ways`` stretches, which processes share among them if several
    cores are in use; that changes nothing.
    """
    works = fold_works(sentences, settings, ways=ways, analyzer=analyzer)
    answers: list[Morphology] = []
    for way, tagged in enumerate(side_by_side(works), start=1):
        answers += tagged
        if progress is not None:
            progress(way, ways, "tagging out of sample")
    return answers


def fold_works(
    sentences: Iterable[ConlluBlock],
    settings: MorphTaggerSettings,
    *,
    ways: int,
    analyzer: Analyzer | str | None = None,
) -> list[Callable[[], list[Morphology]]]:
    """The works of :func:`jackknifed`, a stretch each, to be done beside others."""
    read, values = list(each_conllu(sentences)), declarations.values_of(settings)
    return [
        partial(_tag_fold, read, values, analyzer, others.tolist(), fold.tolist())
        for others, fold in held_out(len(read), ways)
    ]


def _tag_fold(
    read: list[ConlluBlock],
    settings: Json,
    analyzer: Analyzer | str | None,
    others: list[int],
    fold: list[int],
) -> list[Morphology]:
    """The answers for a fold by a tagger that learned from the others."""
    tagger = MorphTagger(**settings).fit([read[k] for k in others], analyzer=analyzer)
    return tagger.tag([read[k].forms for k in fold])
