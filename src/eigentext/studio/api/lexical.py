"""``POST /api/lex/rank``: text in, every word's readings out, ranked in context.

The flow, in a worker: raw text -> tokens (as ``eigentext lex apply --raw`` has them, or tokens as
they came) -> the ranker, loaded once -> ranked words -> views for people.  The ranking is the
library's: nothing is rounded, reordered or left out but by ``top``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from eigentext.base.remembering import Remembered
from eigentext.drawing.svg import is_right_to_left
from eigentext.errors import DataError, SettingsError
from eigentext.language.token import Token
from eigentext.lexical.analysis import GUESSES
from eigentext.reports.morphology import cut, in_plain_words, kinds, segment_words
from eigentext.studio.api import schemas_words as wire
from eigentext.studio.service.limits import TooMuchError, tokens_of
from eigentext.studio.tasks.lexical import RememberedRanking

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from eigentext.base.types import Json
    from eigentext.lexical import Label, LexicalRanker, RankedCandidate, RankedWord
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings

Sentences = list[list[Token]]
Position = tuple[int, int]
"""A sentence and a word in it, both from 0."""

_TOKEN = re.compile(r"[^ \t\r\v\f\n]+")
_ALSO = 8
_DESCRIPTIONS_KEPT = 20_000  # of the latest readings


class Rankers:
    """The rankers of a service, by name; the first is the default."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._services = {
            name: LexicalService(served.get("lex", name)) for name in served.names("lex")
        }

    def answer(self, request: wire.LexicalRequest, limits: ServiceSettings) -> wire.RankAnswer:
        """Rank what the request holds with the ranker that it names."""
        return self._of(request).answer(request, limits)

    def conllu(self, request: wire.LexicalRequest, limits: ServiceSettings) -> str:
        """The same as CoNLL-U, the best reading of each word, as ``lex apply`` writes it."""
        return self._of(request).conllu(request, limits)

    def _of(self, request: wire.LexicalRequest) -> LexicalService:
        return self._services[self._served.chosen("lex", request.model)]


class LexicalService:
    """A ranker that works for strangers."""

    def __init__(self, ranker: LexicalRanker) -> None:
        self.ranker = ranker
        self._ranking = RememberedRanking(ranker)
        self._described: Remembered[tuple[str, Label], Json] = Remembered(_DESCRIPTIONS_KEPT)
        # the first request would wait for compilers otherwise
        self.rank([[Token("a", -1, -1)]], {})

    def answer(self, request: wire.LexicalRequest, limits: ServiceSettings) -> wire.RankAnswer:
        """Rank what the request holds, within the limits."""
        sentences = self.sentences(request, limits)
        fixed = self._fixed(request.fixed, sentences)
        ranked = self.rank(sentences, fixed)
        return self.view(
            sentences, ranked, fixed, top=request.top, language=self.ranker.scheme_.language
        )

    def conllu(self, request: wire.LexicalRequest, limits: ServiceSettings) -> str:
        """The best readings of what the request holds, as CoNLL-U."""
        from eigentext.lexical.output import as_conllu

        sentences = self.sentences(request, limits)
        ranked = self.rank(sentences, self._fixed(request.fixed, sentences))
        lines = (
            line
            for number, words in enumerate(ranked, start=1)
            if words
            for line in as_conllu(number, words, self.ranker)
        )
        return "".join(f"{line}\n" for line in lines)

    def sentences(self, request: wire.LexicalRequest, limits: ServiceSettings) -> Sentences:
        """The tokens of a request, within the limits."""
        sentences = tokens_of(request, limits, _TOKEN)
        words, most = sum(map(len, sentences)), limits.max_ranked_words
        if words > most:
            raise TooMuchError(f"found {words:,} words; at most {most:,} are ranked at once")
        return sentences

    def label(self, values: Mapping[str, str]) -> Label:
        """The label with these values; elements that are not named are missing."""
        scheme = self.ranker.scheme_
        unknown = sorted(set(values) - set(scheme.elements))
        if unknown:
            names = ", ".join(scheme.elements)
            raise SettingsError(f"labels have no element {unknown[0][:60]!r}; they have {names}")
        return tuple(values.get(name, scheme.missing) for name in scheme.elements)

    def _fixed(
        self, fixed: Sequence[wire.FixedLabel], sentences: Sentences
    ) -> dict[Position, Label]:
        labels: dict[Position, Label] = {}
        for item in fixed:
            position = item.sentence, item.word
            check_position(sentences, *position)
            if position in labels:
                why = f"sentence {item.sentence}, word {item.word} is fixed twice"
                raise DataError("fixed", None, why)
            labels[position] = self.label(item.label)
        return labels

    def rank(
        self, sentences: Sentences, fixed: Mapping[Position, Label]
    ) -> list[list[RankedWord]]:
        """The library's ranking of the sentences as one document."""
        return self._ranking.rank(tuple(tuple(t.form for t in row) for row in sentences), fixed)

    def view(
        self,
        sentences: Sentences,
        ranked: Sequence[Sequence[RankedWord]],
        decided: Collection[Position],
        *,
        top: int | None,
        language: str,
    ) -> wire.RankAnswer:
        """Ranked sentences as they go over the wire."""
        views = [
            wire.RankedSentence(
                words=[
                    self.word_view(word, token, (s, w) in decided, top)
                    for w, (word, token) in enumerate(zip(words, tokens, strict=True))
                ]
            )
            for s, (words, tokens) in enumerate(zip(ranked, sentences, strict=True))
        ]
        letters = [t.form for tokens in sentences for t in tokens if any(map(str.isalpha, t.form))]
        return wire.RankAnswer(
            direction="rtl" if is_right_to_left(letters) else "ltr",
            language=language,
            elements=list(self.ranker.scheme_.elements),
            sentences=views,
        )

    def word_view(
        self, word: RankedWord, token: Token, decided: bool, top: int | None
    ) -> wire.WordView:
        """One ranked word as it goes over the wire."""
        there = token.start >= 0
        return wire.WordView.model_construct(
            form=word.form,
            start=token.start if there else None,
            end=token.end if there else None,
            guessed=word.guessed,
            margin=word.margin,
            decided=decided,
            n_candidates=len(word.candidates),
            candidates=[
                wire.CandidateView.model_construct(
                    rank=rank,
                    probability=candidate.probability,
                    score=candidate.score,
                    source=candidate.source,
                    guess=candidate.source in GUESSES,
                    **self._description(word, candidate),
                )
                for rank, candidate in enumerate(word.candidates[:top], start=1)
            ],
        )

    def _description(self, word: RankedWord, candidate: RankedCandidate) -> Json:
        """All that does not change with the context; the same readings come again and again."""
        key = word.form, candidate.label
        description = self._described.get(key)
        if description is None:
            description = self._described.put(key, _description(word, candidate, self.ranker))
        return description


def _description(word: RankedWord, candidate: RankedCandidate, ranker: LexicalRanker) -> Json:
    from eigentext.lexical.analyzers.arabic_spelling import letters_differ
    from eigentext.lexical.output import shown_reading

    scheme = ranker.scheme_
    values = scheme.as_mapping(candidate.label)
    reading = shown_reading(word, candidate, ranker)
    segments = reading.segments if reading else ()
    where = kinds([tag for _, tag in segments])
    others = {(a.lemma, a.vocalised, a.gloss): None for a in candidate.analyses}
    if reading:
        others.pop((reading.lemma, reading.vocalised, reading.gloss), None)
    return {
        "label": values,
        "lemma": reading.lemma if reading else values.get("lemma", ""),
        "vocalised": reading.vocalised if reading else "",
        "respelled": reading is not None and letters_differ(word.form, reading.vocalised),
        "gloss": reading.gloss if reading else "",
        "root": reading.root if reading else "",
        "morphology": in_plain_words(values, scheme.missing),
        "segments": [
            wire.SegmentView.model_construct(
                text=text, tag=tag, kind=kind, meaning=segment_words(tag)
            )
            for (text, tag), kind in zip(segments, where, strict=True)
        ],
        "pieces": [
            wire.PieceView.model_construct(text=piece.text, kind=piece.kind)
            for piece in (cut(reading.vocalised, segments) if reading else ())
        ],
        "also": [
            wire.SenseView.model_construct(lemma=lemma, vocalised=vocalised, gloss=gloss)
            for lemma, vocalised, gloss in list(others)[:_ALSO]
        ],
    }


def check_position(sentences: Sentences, sentence: int, word: int) -> None:
    """Refuse a word that is not there."""
    if sentence >= len(sentences):
        raise DataError("fixed", None, f"no sentence {sentence} among {len(sentences)}")
    if word >= len(sentences[sentence]):
        why = f"no word {word} among the {len(sentences[sentence])} of sentence {sentence}"
        raise DataError("fixed", None, why)
