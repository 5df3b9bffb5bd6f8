"""``POST /api/read``: a text whose words tell their readings, whatever model knows them.

With a ranker the readings are those of ``/api/lex/rank``; with a pipeline they are its analyses of
each word (``top``), in the same shape, so that one page shows both.  A token of several words has
the likeliest combinations of their analyses.
"""

from __future__ import annotations

from itertools import product
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from eigentext.drawing.svg import is_right_to_left
from eigentext.errors import SettingsError
from eigentext.reports.morphology import in_plain_words
from eigentext.studio.api import schemas_words as wire
from eigentext.studio.service.limits import TooMuchError, check_length

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eigentext.language.sentence import Sentence, WordReading
    from eigentext.language.token import Token
    from eigentext.studio.api.lexical import Rankers
    from eigentext.studio.api.pipes import Pipes
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings

_EACH = 4  # analyses of each word of a token that has several


class _Reading(NamedTuple):
    """Analyses of the words of one token, one each, and how probable they are together."""

    words: tuple[WordReading, ...]
    probability: float


class ReadingService:
    """Rankers and pipelines that help strangers to read."""

    def __init__(self, served: Served, rankers: Rankers, pipes: Pipes) -> None:
        self._served = served
        self._rankers = rankers
        self._pipes = pipes

    def answer(self, request: wire.ReadRequest, limits: ServiceSettings) -> wire.ReadAnswer:
        """Every word of the text with its readings, the likeliest first."""
        there = [kind for kind in ("lex", "pipeline") if self._served.names(kind)]
        if not there:
            raise self._served.lack("lex", "pipeline")
        if (request.kind or there[0]) == "lex":
            return self._ranked(request, limits)
        return self._annotated(request, limits)

    def _ranked(self, request: wire.ReadRequest, limits: ServiceSettings) -> wire.ReadAnswer:
        name = self._served.chosen("lex", request.model)
        language = self._served.get("lex", name).scheme_.language
        to_rank = wire.LexicalRequest(
            text=request.text,
            model=name,
            scheme="arabic" if language == "ar" else "generic",
            top=request.top,
        )
        ranked = self._rankers.answer(to_rank, limits)
        return wire.ReadAnswer(
            model=name, kind="lex", conllu=self._rankers.conllu(to_rank, limits), **dict(ranked)
        )

    def _annotated(self, request: wire.ReadRequest, limits: ServiceSettings) -> wire.ReadAnswer:
        name = self._served.chosen("pipeline", request.model)
        if "morphology" not in self._pipes.facts[name].can:
            raise SettingsError(f"the pipeline {name} has no morphology: it knows no readings")
        check_length(request.text, limits.max_characters)
        words = self._pipes.part(name, tagger=False, parser=False)(request.text)
        if words.n_words > limits.max_ranked_words:
            raise TooMuchError(
                f"found {words.n_words:,} words; at most {limits.max_ranked_words:,} are read at "
                "once"
            )
        doc = self._pipes.part(name, tagger=True, parser=False)(request.text, top=request.top)
        forms = [token.form for each in doc.sentences for token in each.tokens]
        letters = [form for form in forms if any(char.isalpha() for char in form)]
        return wire.ReadAnswer(
            model=name,
            kind="pipeline",
            conllu=doc.to_conllu(),
            direction="rtl" if is_right_to_left(letters) else "ltr",
            language=self._pipes.facts[name].language,
            elements=["lemma", "upos", "xpos", "feats"],
            sentences=[
                wire.RankedSentence(
                    words=[_word_view(token, each, request.top) for token in each.tokens]
                )
                for each in doc.sentences
            ],
        )


def _word_view(token: Token, sentence: Sentence, top: int) -> wire.WordView:
    alternatives = sentence.alternatives
    # asked for, and the pipeline has morphology
    if alternatives is None or alternatives.readings is None:
        raise RuntimeError("the pipeline gave no readings")
    forms = sentence.columns.forms[token.first - 1 : token.last]
    readings = _readings(alternatives.readings[token.first - 1 : token.last])
    margin = readings[0].probability - (readings[1].probability if readings[1:] else 0.0)
    return wire.WordView.model_construct(
        form=token.form,
        start=token.start,
        end=token.end,
        guessed=False,
        margin=margin,
        decided=False,
        n_candidates=len(readings),
        candidates=[
            _candidate(rank, forms, reading) for rank, reading in enumerate(readings[:top], 1)
        ],
    )


def _readings(words: Sequence[Sequence[WordReading]]) -> list[_Reading]:
    """The readings of a token, best first; of several words, the combinations of the best."""
    if len(words) == 1:
        return [_Reading((reading,), reading.probability) for reading in words[0]]
    together = product(*(readings[:_EACH] for readings in words))
    readings = [_Reading(some, prod(word.probability for word in some)) for some in together]
    return sorted(readings, key=lambda reading: -reading.probability)


def _candidate(rank: int, forms: Sequence[str], reading: _Reading) -> wire.CandidateView:
    parts = [in_plain_words(_values(word), "_") for word in reading.words]
    several = len(parts) > 1
    return wire.CandidateView.model_construct(
        rank=rank,
        label={
            column: "+".join(getattr(word, column) for word in reading.words)
            for column in ("lemma", "upos", "xpos", "feats")
        },
        probability=reading.probability,
        score=0.0,
        source="pipeline",
        guess=False,
        lemma=" + ".join(word.lemma for word in reading.words if word.lemma != "_"),
        vocalised="",
        respelled=False,
        gloss="",
        root="",
        morphology=" + ".join(parts),
        segments=[
            wire.SegmentView.model_construct(text=form, tag=word.upos, kind="stem", meaning=words)
            for form, word, words in zip(forms, reading.words, parts, strict=True)
        ]
        if several
        else [],
        pieces=[],
        also=[],
    )


def _values(word: WordReading) -> dict[str, str]:
    """The tag and the features as the elements of a label."""
    values = {"upos": word.upos}
    for feature in word.feats.split("|"):
        name, _, value = feature.partition("=")
        if value:
            values[name] = value
    return values
