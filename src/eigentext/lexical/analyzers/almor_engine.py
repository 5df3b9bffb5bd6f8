"""Readings of a word out of the tables of an ALMOR database.

1. A word's key is cut into prefix + stem + suffix in every way that the tables know.
2. Pairs of a prefix and a suffix that may stand together are merged once, by the stem category
   they may enclose (:class:`_Around`): a text uses a few hundred of them.
3. A stem inside such a pair gives a reading: the affixes' features replace the stem's, which
   replace the defaults of its part of speech; a prefix's replace a suffix's; gender and number
   that the stem leaves to the form are the form's.
4. An imperfect verb whose mood the letters do not show gives one reading a mood, vocalised.
5. Stems of the back-off categories take any letters: readings of unknown words.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from eigentext.base.remembering import Remembered, Remembering
from eigentext.lexical.analysis import Analysis
from eigentext.lexical.analyzers.almor_database import Affix, AlmorDatabase, Stem
from eigentext.lexical.analyzers.arabic_spelling import (
    DAMMA,
    FATHA,
    LONG_VOWELS,
    MARKS,
    SUKUN,
    join_stem,
    join_suffix,
)

Segments = tuple[tuple[str, str], ...]

UNSEEN = -6.5  # log10 prior of a stem that its makers' corpus did not show
GUESSED = -8.0  # and of an unknown word
_JOINED = frozenset({"diac", "bw", "gloss", "pos"})
_KEPT_APART = frozenset(
    {"diac", "bw", "gloss", "root", "lex", "source", "pos_freq", "lex_freq", "pos_lex_freq"}
)
_MOOD_VOWELS = {"i": DAMMA, "s": FATHA, "j": SUKUN}
_PLACEHOLDER = "NOAN"  # the letters of a back-off stem


class _Around(NamedTuple):
    """A prefix and a suffix that may stand together, merged."""

    prefix: str
    suffix: str
    article: bool
    before: Segments
    after: Segments
    gloss_before: tuple[str, ...]
    gloss_after: tuple[str, ...]
    features: dict[str, str]
    moods: str  # the moods that the letters leave open


class _Core(NamedTuple):
    """A stem with its features taken apart."""

    lemma: str
    vocalised: str
    segments: Segments
    gloss: str
    root: str
    prior: float
    features: dict[str, str]


class AlmorEngine:
    """Readings of keys; what was typed, and unknown words, are the analyzer's business."""

    def __init__(self, database: AlmorDatabase) -> None:
        self.database = database
        self._longest_prefix = max(map(len, database.prefixes), default=0)
        self._longest_suffix = max(map(len, database.suffixes), default=0)
        self._around = Remembering(self._merged_pairs, 1 << 12)
        self._cores: Remembered[int, _Core] = Remembered(1 << 14)
        templates = database.stems.get(_PLACEHOLDER, [])
        self._templates = {
            name: [stem for stem in templates if stem.category in categories]
            for name, categories in database.backoff.items()
        }

    def cuts(self, key: str) -> Iterator[tuple[str, str, str]]:
        """All cuts into letters of a known prefix, a non-empty rest, and a known suffix."""
        prefixes, suffixes, length = self.database.prefixes, self.database.suffixes, len(key)
        ends = [
            end
            for end in range(length, max(length - self._longest_suffix - 1, 0), -1)
            if key[end:] in suffixes
        ]
        for start in range(min(self._longest_prefix + 1, length)):
            prefix = key[:start]
            if prefix in prefixes:
                for end in ends:
                    if end > start:
                        yield prefix, key[start:end], key[end:]

    def readings(self, key: str) -> list[Analysis]:
        """All readings of the key that the tables know."""
        analyses: list[Analysis] = []
        stems_of = self.database.stems
        for prefix, letters, suffix in self.cuts(key):
            stems = stems_of.get(letters)
            if not stems or letters == _PLACEHOLDER:
                continue
            around = self._pairs(prefix, suffix)
            for stem in stems:
                for pair in around.get(stem.category, ()):
                    self._build(pair, self._core(stem), "analyzer", analyses)
        return analyses

    def guesses(self, key: str, letters: str, which: str) -> list[Analysis]:
        """Readings of an unknown word, ``letters``: any letters inside affixes that fit."""
        analyses: list[Analysis] = []
        templates = self._templates.get(which, [])
        shown = letters if len(letters) == len(key) else key
        for prefix, middle, _suffix in self.cuts(key):
            if len(middle) < 2 < len(key):
                continue  # a stem of one letter inside affixes is no word
            around = self._pairs(prefix, _suffix)
            written = shown[len(prefix) : len(prefix) + len(middle)]
            for stem in templates:
                core = self._core(stem)
                guess = core._replace(
                    lemma=core.lemma.replace(_PLACEHOLDER, written),
                    vocalised=written,
                    segments=tuple((written, tag) for _, tag in core.segments),
                    gloss="",
                    root="",
                    prior=GUESSED,
                )
                for pair in around.get(stem.category, ()):
                    self._build(pair, guess, "backoff", analyses)
        return analyses

    def _pairs(self, prefix: str, suffix: str) -> dict[str, list[_Around]]:
        """The merged pairs for these letters, by the stem category they may enclose."""
        return self._around((prefix, suffix))

    def _merged_pairs(self, letters: tuple[str, str]) -> dict[str, list[_Around]]:
        prefix, suffix = letters
        database = self.database
        by_category: dict[str, list[_Around]] = {}
        for first in database.prefixes[prefix]:
            after_prefix = database.stem_after.get(first.category, set())
            for last in database.suffixes[suffix]:
                if (first.category, last.category) not in database.around:
                    continue
                merged = _merge(first, last)
                for category in after_prefix:
                    if last.category in database.suffix_after.get(category, ()):
                        by_category.setdefault(category, []).append(merged)
        return by_category

    def _core(self, stem: Stem) -> _Core:
        core = self._cores.get(stem.line)
        if core is None:
            features = self.database.stem_features(stem)
            names = [name for name in self.database.order if name in features]
            names += [name for name in features if name not in names]
            frequency = _number(features.get("pos_lex_freq", ""))
            core = _Core(
                lemma=features.get("lex", features["diac"]),
                vocalised=features["diac"],
                segments=_segments(
                    features.get("bw") or f"{features['diac']}/{features['pos'].upper()}"
                ),
                gloss=_readable(features.get("gloss", "")),
                root=features.get("root", ""),
                prior=frequency if frequency is not None and frequency > UNSEEN else UNSEEN,
                features={name: features[name] for name in names if name not in _KEPT_APART},
            )
            self._cores.put(stem.line, core)
        return core

    def _build(self, around: _Around, core: _Core, source: str, analyses: list[Analysis]) -> None:
        features = core.features.copy()
        features.update(around.features)
        for name, form in (("gen", "form_gen"), ("num", "form_num")):
            if features.get(name) == "-":
                value = features.get(form, "-")
                default = self.database.defaults.get(features["pos"], {}).get(form, "na")
                features[name] = default if value == "-" else value
        segments = around.before + core.segments + around.after
        tag = "+".join([name for _, name in segments])
        gloss = " + ".join((*around.gloss_before, core.gloss, *around.gloss_after))
        front = join_stem(around.prefix, core.vocalised, article=around.article)
        mood_feature = features.get("mod")
        if features.get("asp") == "i" and (mood_feature == "u" or mood_feature in _MOOD_VOWELS):
            forms = [
                (_with_mood(front, around.suffix, mood), {**features, "mod": mood})
                for mood in (around.moods if mood_feature == "u" else (mood_feature,))
            ]
        else:
            forms = [(join_suffix(front, around.suffix), features)]
        more = gloss, core.root, core.prior, source
        analyses += [
            Analysis(core.lemma, form, segments, tag, features_of_form, *more)
            for form, features_of_form in forms
        ]


def _merge(prefix: Affix, suffix: Affix) -> _Around:
    both = {**_word_features(suffix), **_word_features(prefix)}
    tags = suffix.features.get("bw", "")
    moods = "isj"
    if "MOOD:SJ" in tags:
        moods = "sj"
    if both.get("prc1") == "li_prep":
        moods = "s"
    elif both.get("prc1") == "li_jus":
        moods = "j"
    return _Around(
        prefix=prefix.features.get("diac", ""),
        suffix=suffix.features.get("diac", ""),
        article=both.get("prc0") == "Al_det",
        before=_segments(prefix.features.get("bw", "")),
        after=_segments(suffix.features.get("bw", "")),
        gloss_before=_glosses(prefix.features.get("gloss", "")),
        gloss_after=_glosses(suffix.features.get("gloss", "")),
        features={name: value for name, value in both.items() if name not in _KEPT_APART},
        moods=moods,
    )


def _word_features(affix: Affix) -> dict[str, str]:
    """What an affix says of the whole word."""
    return {
        name: value
        for name, value in affix.features.items()
        if name not in _JOINED and value not in ("-", "")
    }


def _segments(text: str) -> Segments:
    """``وَ/CONJ+كَ/PREP`` as pairs; an empty piece is written ``(null)``."""
    if not text:
        return ()
    pieces = []
    for piece in text.split("+"):
        surface, slash, tag = piece.rpartition("/")
        if not slash:
            surface, tag = "", piece
        pieces.append(("" if surface == "(null)" else surface, tag))
    return tuple(pieces)


def _readable(gloss: str) -> str:
    return gloss.replace(";", "/").replace("_", " ")


def _glosses(text: str) -> tuple[str, ...]:
    """The glosses of an affix's pieces; those in brackets only repeat the features."""
    pieces = _readable(text).split(" + ")
    return tuple(piece for piece in pieces if piece and not piece.startswith("["))


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _with_mood(front: str, suffix: str, mood: str) -> str:
    """The imperfect verb with the vowel of its mood, where letters leave room for one."""
    if suffix[:1] == "ه" and suffix[1:2] not in MARKS and suffix[1:2] != "ا":
        suffix = "ه" + ("\u0650" if front[-1:] == "ي" else DAMMA) + suffix[1:]
    if suffix[:1] in MARKS or suffix[:1] in LONG_VOWELS:
        return join_suffix(front, suffix)  # the suffix brings its own vowel
    last = front[-1:]
    if last in MARKS and last != "\u0651":
        if last in (FATHA, DAMMA, SUKUN, "\u0650"):
            return front + suffix
    elif last in LONG_VOWELS:
        shown = FATHA if mood == "s" and last in "وي" else ""
        return front + shown + suffix
    return front + _MOOD_VOWELS[mood] + suffix
