"""Labels factored into elements, as a settings file per language says.

A scheme file (JSON) lists the label elements; each says where its value comes from (a feature of
the analysis, its lemma, its tag or a part of the tag), how values are rewritten, and under which
values of earlier elements it stands at all (elsewhere it is missing, ``-``).  An analysis that
leaves an element open has several labels: an unknown case is every case.  Gold columns of a
treebank go through the same rules.  A scheme with a ``base`` factors another scheme's labels anew.
A :data:`Label` is the tuple of the elements' values in the scheme's order.
"""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import dataclass
from importlib.resources import files
from typing import TYPE_CHECKING

from eigentext.base.files.opening import open_binary
from eigentext.base.remembering import Remembered
from eigentext.errors import DataError, SettingsError
from eigentext.lexical.analysis import Analysis
from eigentext.lexical.schemes.rules import (
    Condition,
    SchemeSettings,
    Values,
    compile_condition,
    compile_element,
    read_settings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from eigentext.base.types import Json
    from eigentext.language.token import Word

Label = tuple[str, ...]
"""The values of a scheme's elements, in its order."""

_SEPARATOR = "\x1f"


@dataclass(frozen=True)
class _Rule:
    conditions: tuple[Condition, ...]
    values: dict[int, str]
    also: bool
    fields: dict[str, str]
    features: dict[str, str]

    def holds(self, analysis: Analysis, label: Sequence[str]) -> bool:
        return all(condition(analysis, label) for condition in self.conditions)

    def reread(self, analysis: Analysis, label: Mapping[str, str]) -> Analysis:
        features = {**analysis.features, **self.features} if self.features else analysis.features
        fields = {name: value.format_map(label) for name, value in self.fields.items()}
        return analysis._replace(features=features, **fields)  # type: ignore[arg-type]


class LabelScheme:
    """The label elements of a language and how analyses project onto them.

    >>> scheme = load_scheme("arabic14")
    >>> scheme.elements[:4], scheme.missing
    (('lemma', 'pos', 'pre2', 'pre1'), '-')
    >>> word = Analysis("كِتاب_1", "كِتابٌ", (("كِتاب", "NOUN"),), "NOUN",
    ...                 {"pos": "noun", "num": "s", "cas": "n", "stt": "i"}, "book", "", None, "x")
    >>> [scheme.as_mapping(label)["cas"] for label in scheme.project(word)]
    ['n']
    """

    def __init__(self, settings: SchemeSettings, base: LabelScheme | None = None) -> None:
        self.settings = settings
        self.name = settings.name
        self.language = settings.language
        self.missing = settings.missing
        self.elements = tuple(element.name for element in settings.elements)
        self.base = base
        self._index_of = {name: index for index, name in enumerate(self.elements)}
        if len(self._index_of) < len(self.elements):
            raise SettingsError(f"scheme {self.name}: expected each element once")
        base_elements = base.elements if base else ()
        taken = _taken(settings)
        try:
            self._compute = [
                compile_element(
                    element,
                    self._index_of,
                    settings.missing,
                    base=base_elements,
                    taken=taken,
                    separator=settings.tag_separator,
                )
                for element in settings.elements
            ]
            self._rules = tuple(
                _Rule(
                    tuple(compile_condition(*item, self._index_of) for item in rule.when.items()),
                    {self._index_of[name]: value for name, value in rule.set.items()},
                    rule.also,
                    {k[1:]: v for k, v in rule.read_as.items() if k.startswith("@")},
                    {k: v for k, v in rule.read_as.items() if not k.startswith("@")},
                )
                for rule in settings.rules
            )
        except KeyError as error:
            why = f"scheme {self.name}: a rule names the element {error}, which is not listed"
            raise SettingsError(why) from error
        self._refactored: Remembered[Label, Label] = Remembered(1 << 15)

    def project(self, analysis: Analysis) -> list[Label]:
        """The labels that the analysis allows, each once, in a fixed order."""
        if self.base:
            return list(dict.fromkeys(map(self.refactor, self.base.project(analysis))))
        labels = self._labels(analysis)
        rereadings = [
            rule.reread(analysis, self.as_mapping(tuple(labels[0])))
            for rule in self._rules
            if not rule.values and rule.holds(analysis, labels[0])
        ]
        labels = self._with_rules(analysis, labels)
        for reading in rereadings:
            labels += self._with_rules(reading, self._labels(reading))
        return list(dict.fromkeys(map(tuple, labels)))

    def _labels(self, analysis: Analysis) -> list[list[str]]:
        """The labels before any rule."""
        choices: list[Values] = []
        for compute in self._compute:
            choices.append(compute(analysis, choices))
        if max(map(len, choices)) == 1:
            return [[values[0] for values in choices]]
        return [list(label) for label in itertools.product(*choices)]

    def _with_rules(self, analysis: Analysis, labels: list[list[str]]) -> list[list[str]]:
        """The labels with what the rules set or add."""
        for rule in self._rules:
            more = []
            for label in labels:
                if rule.values and rule.holds(analysis, label):
                    changed = label.copy() if rule.also else label
                    for index, value in rule.values.items():
                        changed[index] = value
                    if rule.also:
                        more.append(changed)
            labels = labels + more
        return labels

    def refactor(self, label: Label) -> Label:
        """A label of the base scheme in this scheme's elements.

        >>> old, new = load_scheme("arabic14"), load_scheme("arabic16")
        >>> label = old.from_mapping({"lemma": "كتب", "pos": "V", "pron": "3fs", "asp": "p"})
        >>> shown = new.as_mapping(new.refactor(label))
        >>> shown["persuf"], shown["gensuf"], shown["pos"]
        ('3', 'f', 'V')
        """
        if self.base is None:
            return label
        refactored = self._refactored.get(label)
        if refactored is None:
            features = self.base.as_mapping(label)
            source = Analysis("", "", (), "", features, source="")
            refactored = tuple(compute(source, [])[0] for compute in self._compute)
            self._refactored.put(label, refactored)
        return refactored

    def agreement(self, analysis: Analysis, label: Label) -> int:
        """In how many elements one of the analysis' labels is like this one."""
        return max(_n_equal(projected, label) for projected in self.project(analysis))

    def settled(self, analysis: Analysis, label: Label) -> dict[str, str]:
        """What the label says, by the analysis' own features.

        >>> scheme = load_scheme("arabic14")
        >>> name = Analysis("x", "x", (), "", {"pos": "noun_prop", "cas": "u"})
        >>> label = scheme.from_mapping({"lemma": "x", "pos": "N", "cas": "g", "stt": "i"})
        >>> scheme.settled(name, label)["cas"]
        'g'
        """
        if self.base:
            projected = self.base.project(analysis)
            near = max(projected, key=lambda other: _n_equal(self.refactor(other), label))
            return self.base.settled(analysis, near)
        features = {}
        for element, value in zip(self.settings.elements, label, strict=True):
            name = element.feature
            if name is not None and not name.startswith("@") and value != self.missing:
                inverse = (raw for raw, mapped in element.map.items() if mapped == value)
                features[name] = next(inverse, value)
        return features

    def from_conllu(self, token: Word) -> Label:
        """The gold label of a treebank's token, by the same rules as an analysis'."""
        features = token.features
        features["upos"] = token.upos
        return self.gold(token.form, token.lemma, token.xpos, features)

    def gold(self, form: str, lemma: str, tag: str, features: Mapping[str, str]) -> Label:
        """The label of gold columns; open elements and additional readings do not apply."""
        source = Analysis(lemma, form, (), tag, features, source="gold")
        return self.project(source)[0]

    def from_mapping(self, values: Mapping[str, str]) -> Label:
        """The label with these values, of its own elements or its base's; others are missing."""
        if self.base is not None:
            if set(values) == set(self.elements):
                return tuple(values[name] for name in self.elements)
            return self.refactor(self.base.from_mapping(values))
        unknown = set(values) - set(self.elements)
        if unknown:
            raise SettingsError(
                f"scheme {self.name} has no element {sorted(unknown)[0]!r}; "
                f"it has {', '.join(self.elements)}"
            )
        return tuple(values.get(name, self.missing) for name in self.elements)

    def gold_label(self, values: Mapping[str, str]) -> Label | None:
        """The label of gold with these values, or None if they say that there is no analysis.

        >>> load_scheme("arabic14").gold_label({"lemma": "x", "pos": "U"}) is None
        True
        """
        label = self.from_mapping(values)
        features = self.as_mapping(label)
        if any(
            features.get(name) in markers for name, markers in self.settings.unlabelled.items()
        ):
            return None
        return label

    def as_mapping(self, label: Label) -> dict[str, str]:
        """The label's values by element."""
        return dict(zip(self.elements, label, strict=True))

    def encode(self, label: Label) -> str:
        r"""The label as one string, for files; :meth:`decode` takes it back.

        >>> scheme = load_scheme("turkish")
        >>> label = tuple(f"{index}\x1f" for index in range(len(scheme.elements)))
        >>> scheme.decode(scheme.encode(label)) == label
        True
        """
        escaped = (value.replace("\\", "\\\\").replace(_SEPARATOR, "\\s") for value in label)
        return _SEPARATOR.join(escaped)

    def decode(self, text: str) -> Label:
        """The label of a string that :meth:`encode` made."""
        values = tuple(map(_unescape, text.split(_SEPARATOR)))
        if len(values) != len(self.elements):
            why = f"expected {len(self.elements)} elements, found {len(values)} in {text!r}"
            raise SettingsError(f"scheme {self.name}: {why}")
        return values

    def to_json(self) -> str:
        """The whole scheme, base included, for a model file."""
        record: Json = self.settings.model_dump(by_alias=True, exclude_defaults=True)
        if self.base:
            record["base"] = json.loads(self.base.to_json())
        return json.dumps(record, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str, source: str = "scheme") -> LabelScheme:
        """A scheme from its file's text; ``base`` is a shipped scheme's name or a whole scheme."""
        settings, base = read_settings(text, source)
        if base is None:
            return cls(settings)
        if isinstance(base, str):
            return cls(settings, load_scheme(base))
        return cls(settings, cls.from_json(json.dumps(base), source))

    def __repr__(self) -> str:
        return f"<LabelScheme {self.name}: {len(self.elements)} elements>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabelScheme) and self.to_json() == other.to_json()

    def __hash__(self) -> int:
        return hash((self.name, self.elements))

    def __reduce__(self) -> tuple[object, ...]:
        return LabelScheme.from_json, (self.to_json(), self.name)


def _n_equal(label: Label, other: Label) -> int:
    return sum(a == b for a, b in zip(label, other, strict=True))


def _taken(settings: SchemeSettings) -> frozenset[str]:
    """Features, and parts of tags, that elements name: what ``rest`` leaves out."""
    features = {element.feature for element in settings.elements if element.feature}
    parts = {part for element in settings.elements for part in element.tag_part or ()}
    return frozenset(features | parts)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    pieces: Iterable[str] = text.split("\\\\")
    return "\\".join(piece.replace("\\s", _SEPARATOR) for piece in pieces)


def scheme_names() -> list[str]:
    """The schemes that ship with this package.

    >>> "arabic14" in scheme_names()
    True
    """
    folder = files("eigentext.lexical.schemes")
    return sorted(
        f.name.removesuffix(".json") for f in folder.iterdir() if f.name.endswith(".json")
    )


def load_scheme(name_or_path: str | os.PathLike[str] | LabelScheme) -> LabelScheme:
    """A shipped scheme by its name, or one of your own by its file.  A scheme is its own.

    >>> load_scheme("polish").language
    'pl'
    """
    if isinstance(name_or_path, LabelScheme):
        return name_or_path
    name = os.fspath(name_or_path)
    if name in scheme_names():
        path = files("eigentext.lexical.schemes").joinpath(f"{name}.json")
        return LabelScheme.from_json(path.read_text(encoding="utf-8"), name)
    if not os.path.exists(name):
        shipped = ", ".join(scheme_names())
        raise SettingsError(f"no label scheme {name!r}: expected a file or one of {shipped}")
    with open_binary(name) as stream:
        try:
            return LabelScheme.from_json(stream.read().decode(), name)
        except UnicodeDecodeError as error:
            raise DataError(name, None, f"cannot be read: {error}") from error
