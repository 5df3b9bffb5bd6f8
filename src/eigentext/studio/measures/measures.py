"""How well a project goes: agreement, proposals against adjudication, seconds and keys.

Flow of the datum: rows of a project as a store gives them (documents, layers, decisions; no
database is asked here) -> what each annotator says (``tasks.records.Answers``), document
by document (:func:`parts_of`) -> figures with intervals (:func:`of_all`, :func:`of_pair`) -> one
record of plain data (:func:`whole_of`), ready for a page and for JSON, and as lines for a terminal
(:func:`table`).  :func:`measure` does all of it; a service, in which nothing may take long, does
it step by step.

- **Agreement**, for each pair of annotators, for all of them, and for each document: of values by
  word raw agreement and Cohen's kappa (pairs), Krippendorff's alpha and, where all gave a value,
  Fleiss' kappa (all); UAS and LAS of arcs; F1 of spans and brackets, added up over pairs.  Values
  and arcs are compared where both were decided, spans and trees where both finished the sentence.
- **A1 and A2**: how often the adjudicated value was first, or among the first two, in what was
  proposed.  The place in the list is that of the first annotator who chose this value; what an
  annotator took over with a finished sentence, without a decision, was first.  Where no annotator
  has it, the place is that of the adjudicator's own decision, and without one it is nowhere.
- What annotators decided after they had seen the adjudication is left out of all of it; how many
  decisions that are is told.
- **Effort** and the **comparison** of ranked with unranked: :mod:`~.effort`.
"""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from eigentext.errors import DataError
from eigentext.evaluate.agreement import (
    attachment_counts,
    bracket_counts,
    cohen_kappa,
    f1_agreement,
    fleiss_kappa,
    krippendorff_alpha,
    raw_agreement,
    span_counts,
)
from eigentext.evaluate.bootstrap import interval
from eigentext.studio.measures.effort import (
    DRAWS,
    PAUSE,
    Efforts,
    comparison,
    effort_record,
    efforts,
    rounded,
)
from eigentext.studio.tasks import open_task
from eigentext.studio.tasks.records import AnswerKey, Answers, newest

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

    from eigentext.base.types import Json
    from eigentext.evaluate.agreement import Agreement
    from eigentext.studio.store.records import Decision, Layer, Project, StoredDocument
    from eigentext.studio.store.store import AnnotationStore
    from eigentext.studio.tasks.task import Task

    Rows = tuple[Sequence[StoredDocument], Sequence[Layer], Iterable[Decision]]

T = TypeVar("T")


Side = tuple[int, Answers]
"""What one annotator says in the document of this number."""


@dataclass
class DocumentMeasures:
    """What there is to know of one document: what each annotator says, and what it cost them."""

    document: int
    n_sentences: int
    n_words: int
    sides: dict[str, Answers]
    spent: dict[str, Efforts]
    agreement: Json
    hits: dict[AnswerKey, list[tuple[bool, bool]]]
    n_not_blind: int = 0  # decisions that are left out: the adjudication had been seen


def measure(
    project: Project,
    documents: Sequence[StoredDocument],
    layers: Sequence[Layer],
    decisions: Iterable[Decision],
    *,
    users: Mapping[int, str] | None = None,
) -> Json:
    """All measures of a project as plain data.

    ``decisions`` are the rows of all layers in the order they were made, undone ones included;
    ``users`` names annotators by number.

    >>> from types import SimpleNamespace as Row
    >>> text = Row(id=1, name="d", sentences=[{"tokens": [{"text": "dogs"}, {"text": "bark"}]}])
    >>> layers = [Row(id=k, document=1, kind="annotator", user=k) for k in (1, 2)]
    >>> def chose(layer, item, upos):
    ...     return Row(layer=layer, version=1, sentence=0, item=item, value={"upos": upos},
    ...                rank=1, ranked=True, seconds=2.0, keys=1, undone=None, redo_of=None)
    >>> rows = [chose(1, "t0", "NOUN"), chose(1, "t1", "VERB"), chose(2, "t0", "NOUN"),
    ...         chose(2, "t1", "NOUN")]
    >>> found = measure(Row(name="p", task="tags"), [text], layers, rows, users={1: "A", 2: "B"})
    >>> [(one["measure"], one["value"]) for one in found["agreement"]["pairs"][0]["measures"]]
    [('upos: agreement', 50.0), ("upos: Cohen's kappa", 0.0)]
    """
    rows = documents, layers, decisions
    parts = parts_of(project.task, rows, annotators_of(layers, users), users)
    sides = sides_of(parts, sorted({name for part in parts for name in part.sides}))
    pairs = [of_pair(pair, sides[pair[0]], sides[pair[1]]) for pair in combinations(sides, 2)]
    return whole_of(project, parts, of_all(list(sides.values())), pairs)


def sides_of(parts: Sequence[DocumentMeasures], names: Iterable[str]) -> dict[str, list[Side]]:
    """What each annotator says, document by document."""
    return {
        name: [(part.document, part.sides[name]) for part in parts if name in part.sides]
        for name in names
    }


def annotators_of(layers: Iterable[Layer], users: Mapping[int, str] | None = None) -> list[str]:
    """The names of those whose layers these are, without adjudication."""
    return sorted({_name(layer.user, users) for layer in layers if layer.kind == "annotator"})


def parts_of(
    task_name: str, rows: Rows, everyone: Sequence[str], users: Mapping[int, str] | None = None
) -> list[DocumentMeasures]:
    """Some documents of a project, each by itself; ``everyone`` are all annotators of it."""
    task = open_task(task_name)
    documents, layers, decisions = rows
    layers_of: dict[int, list[Layer]] = {document.id: [] for document in documents}
    n_sentences = {document.id: len(document.sentences) for document in documents}
    for layer in layers:
        if layer.document in layers_of:
            layers_of[layer.document].append(layer)
    rows_of: dict[int, list[Decision]] = {}
    most: dict[int, int] = {}
    for document, some in layers_of.items():
        rows_of |= {layer.id: [] for layer in some}
        most |= {layer.id: n_sentences[document] for layer in some}
    for row in decisions:
        if 0 <= row.sentence < most.get(row.layer, 0):
            rows_of[row.layer].append(row)
    blind = {layer.id: _blind(layer, rows_of[layer.id]) for layer in layers if layer.id in most}
    n_not_blind = {number: n for number, (_, n) in blind.items()}
    rows_of = {number: rows for number, (rows, _) in blind.items()}
    parts = []
    for text in documents:
        sides: dict[str, Answers] = {}
        spent: dict[str, Efforts] = {}
        for layer in layers_of[text.id]:
            if layer.kind != "annotator":
                continue
            name = _name(layer.user, users)
            state = {key: row.value for key, row in newest(rows_of[layer.id]).items()}
            with _readable(text):
                sides[name] = task.answers(text.sentences, state)
                cost = efforts(task, text.sentences, rows_of[layer.id])
            before = spent.setdefault(name, Efforts([], 0))
            spent[name] = Efforts(before.sentences + cost.sentences, before.n_cut + cost.n_cut)
        voices = [sides.get(name, Answers()) for name in everyone]
        with _readable(text):
            hits = _hits(task, layers_of[text.id], rows_of)
        parts.append(
            DocumentMeasures(
                text.id,
                len(text.sentences),
                sum(len(sentence["tokens"]) for sentence in text.sentences),
                sides,
                spent,
                {"document": text.name, "measures": _records(_of_all(voices))},
                hits,
                sum(n_not_blind[layer.id] for layer in layers_of[text.id]),
            )
        )
    return parts


def _blind(layer: Layer, rows: list[Any]) -> tuple[list[Decision], int]:
    """The rows of a layer as they were when its annotator saw the adjudication.

    And how many decisions were made or taken back later.
    """
    saw = getattr(layer, "saw", None)
    if saw is None:
        return rows, 0
    kept, n = [], 0
    for row in rows:
        late = row.version > saw
        back = not late and row.undone_version is not None and row.undone_version > saw
        n += late or back
        if not late:
            kept.append(row._replace(undone=None) if back else row)
    return kept, n


@contextmanager
def _readable(document: StoredDocument) -> Iterator[None]:
    """A decision that another program wrote may be of no task's kind."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        why = f"it has a decision that is none of its task: {error!r}"
        raise DataError(f"document {document.name}", None, why) from error


def of_all(sides: Sequence[Iterable[Side]]) -> list[Json]:
    """How far all annotators agree; of each what they say in one document after the other."""
    return _records(_of_all(list(map(_joined, sides))))


def of_pair(names: tuple[str, str], first: Iterable[Side], second: Iterable[Side]) -> Json:
    """How far two annotators agree."""
    agreements = _of_pair(_joined(first), _joined(second))
    return {"annotators": list(names), "measures": _records(agreements)}


def whole_of(
    project: Project, parts: Sequence[DocumentMeasures], every: list[Json], pairs: Iterable[Json]
) -> Json:
    """The record of a project, put together; pairs with nothing in common are left out."""
    spent: dict[str, Efforts] = {}
    for part in parts:
        for name, cost in part.spent.items():
            before = spent.setdefault(name, Efforts([], 0))
            before.sentences.extend(cost.sentences)
            spent[name] = before._replace(n_cut=before.n_cut + cost.n_cut)
    names = sorted(spent)
    everyone = [effort for name in names for effort in spent[name].sentences]
    record: Json = {
        "project": project.name,
        "task": project.task,
        "documents": len(parts),
        "sentences": sum(part.n_sentences for part in parts),
        "words": sum(part.n_words for part in parts),
        "annotators": names,
        "agreement": {
            "all": every,
            "pairs": [pair for pair in pairs if pair["measures"]],
            "documents": [part.agreement for part in parts if part.agreement["measures"]],
        },
        "proposals": _proposals([part.hits for part in parts]),
        "not_blind": sum(part.n_not_blind for part in parts),
        "effort": [{"annotator": name, **effort_record(spent[name])} for name in names],
        "comparison": comparison(everyone),
        "comparison_by_annotator": [
            {"annotator": name, **compared}
            for name in names
            if (compared := comparison(spent[name].sentences)) is not None
        ],
        "rules": {
            "pause_seconds": PAUSE,
            "confidence": 0.95,
            "draws": DRAWS["n_samples"],
            "seed": DRAWS["seed"],
        },
    }
    record["in_words"] = _in_words(record)
    return record


def _name(user: int | None, users: Mapping[int, str] | None) -> str:
    if user is None:
        return ""
    return (users or {}).get(user, f"user {user}")


def _joined(sides: Iterable[Side]) -> Answers:
    """What somebody says in several documents: words and sentences by document, too."""
    whole = Answers()
    for document, answers in sides:
        for name, values in answers.values.items():
            of_name = whole.values.setdefault(name, {})
            of_name.update({(document, *word): value for word, value in values.items()})
        for name, spans in answers.spans.items():
            whole.spans.setdefault(name, {}).update(_keyed(document, spans))
        whole.arcs.update(_keyed(document, answers.arcs))
        whole.trees.update(_keyed(document, answers.trees))
    return whole


def _keyed(document: int, by_sentence: Mapping[AnswerKey, T]) -> dict[AnswerKey, T]:
    return {(document, *sentence): value for sentence, value in by_sentence.items()}


# ---------------------------------------------------------------- agreement


def _records(agreements: Iterable[Agreement]) -> list[Json]:
    return [each.as_record() for each in agreements if each.n_groups]


def _titled(name: str, agreement: Agreement) -> Agreement:
    return replace(agreement, measure=f"{name}: {agreement.measure}")


def _of_pair(first: Answers, second: Answers) -> list[Agreement]:
    agreements: list[Agreement] = []
    for name in sorted({*first.values, *second.values}):
        mine, its = first.values.get(name, {}), second.values.get(name, {})
        words = sorted(mine.keys() & its.keys())
        values = [mine[word] for word in words], [its[word] for word in words]
        groups = [word[:-1] for word in words]
        agreements += [
            _titled(name, raw_agreement(*values, groups=groups, **DRAWS)),
            _titled(name, cohen_kappa(*values, groups=groups, **DRAWS)),
        ]
    return [*agreements, *_of_structures([(first, second)])]


def _of_all(sides: Sequence[Answers]) -> list[Agreement]:
    agreements = []
    for name in sorted({name for side in sides for name in side.values}):
        values_of = [side.values.get(name, {}) for side in sides]
        words = sorted({word for values in values_of for word in values})
        ratings = {word: [values.get(word) for values in values_of] for word in words}
        groups = [word[:-1] for word in words]
        alpha = krippendorff_alpha(ratings.values(), groups=groups, **DRAWS)
        agreements.append(_titled(name, alpha))
        whole = [word for word in words if None not in ratings[word]]
        if len(sides) > 2 and whole:
            rated = [[value for value in ratings[word] if value is not None] for word in whole]
            fleiss = fleiss_kappa(rated, groups=[word[:-1] for word in whole], **DRAWS)
            agreements.append(_titled(name, fleiss))
    return [*agreements, *_of_structures(list(combinations(sides, 2)))]


def _of_structures(pairs: Sequence[tuple[Answers, Answers]]) -> list[Agreement]:
    """Arcs, spans and trees: counts by sentence, added up over pairs."""
    agreements = []
    for measure_name, labelled in (("UAS", False), ("LAS", True)):

        def attached(mine: list[Any], its: list[Any], labelled: bool = labelled) -> list[Any]:
            return attachment_counts(mine, its, labelled=labelled)

        agreements.append(_pooled(measure_name, [(a.arcs, b.arcs) for a, b in pairs], attached))
    for name in sorted({name for pair in pairs for side in pair for name in side.spans}):
        some = [(a.spans.get(name, {}), b.spans.get(name, {})) for a, b in pairs]
        agreements.append(_pooled(f"{name}: span F1", some, span_counts))
    trees = [(a.trees, b.trees) for a, b in pairs]
    agreements.append(_pooled("bracket F1", trees, bracket_counts))
    return agreements


def _pooled(
    name: str,
    pairs: Iterable[tuple[Mapping[AnswerKey, Any], Mapping[AnswerKey, Any]]],
    counted: Callable[[list[Any], list[Any]], list[Any]],
) -> Agreement:
    """F1 of the counts of sentences that both of a pair have, a row for each sentence."""
    rows: dict[AnswerKey, list[float]] = {}
    for mine, its in pairs:
        common = sorted(mine.keys() & its.keys())
        counts = counted([mine[key] for key in common], [its[key] for key in common])
        for key, some in zip(common, counts, strict=True):
            row = rows.setdefault(key, [0.0, 0.0, 0.0])
            row[:] = [a + b for a, b in zip(row, some, strict=True)]
    return f1_agreement(name, list(rows.values()), **DRAWS)


# ---------------------------------------------------------------- proposals


def _hits(
    task: Task, layers: Sequence[Layer], rows_of: Mapping[int, Sequence[Decision]]
) -> dict[AnswerKey, list[tuple[bool, bool]]]:
    """Of what was adjudicated in a document, item by item: was it first, was it among two?"""
    hits_of: dict[AnswerKey, list[tuple[bool, bool]]] = {}
    beside = sorted(
        (layer for layer in layers if layer.kind == "annotator"), key=lambda layer: layer.id
    )
    for layer in layers:
        if layer.kind != "adjudication":
            continue
        listed = [_Listed.of(task, rows_of[other.id]) for other in beside]
        final = _Listed.of(task, rows_of[layer.id])
        for item, value in final.items.items():
            ranks = [side.rank(item) for side in listed if side.items.get(item) == value]
            row = final.rows.get(item)
            # an adjudicator who takes a tree over takes it from annotators
            rank = ranks[0] if ranks else None if row is None else row.rank
            hits = rank == 1, rank in (1, 2)
            hits_of.setdefault((layer.document, item[0]), []).append(hits)
    return hits_of


def _proposals(parts: Iterable[Mapping[AnswerKey, list[tuple[bool, bool]]]]) -> Json | None:
    """A1 and A2 against what was adjudicated; None where nothing was."""
    by_sentence = [hits for part in parts for hits in part.values()]
    if not by_sentence:
        return None
    record: Json = {"items": sum(map(len, by_sentence)), "sentences": len(by_sentence)}
    for k, name in enumerate(("a1", "a2")):
        rows = [(sum(hit[k] for hit in hits), len(hits), len(hits)) for hits in by_sentence]
        record[name] = rounded(interval(rows, **DRAWS))
    return record


@dataclass
class _Listed:
    """The items of a layer, and the row of each that was decided by itself."""

    items: dict[tuple[int, str], Hashable]
    rows: dict[tuple[int, str], Decision]

    @classmethod
    def of(cls, task: Task, rows: Iterable[Decision]) -> _Listed:
        state = newest(rows)
        return cls(task.compared({item: row.value for item, row in state.items()}), state)

    def rank(self, item: tuple[int, str]) -> int | None:
        """Its place in the list; what was taken over without a decision was first."""
        row = self.rows.get(item)
        return 1 if row is None else row.rank


# ---------------------------------------------------------------- for people


def _in_words(record: Mapping[str, Any]) -> list[str]:
    """The main findings as sentences."""
    findings = []
    n = len(record["annotators"])
    if n < 2:
        findings.append("Agreement needs two annotators of the same sentences.")
    elif not record["agreement"]["all"]:
        findings.append("No two annotators have decided the same items yet.")
    for figure in record["agreement"]["all"]:
        if figure["value"] is None:
            findings.append(
                f"{figure['measure']} is not defined: all values are one value, or none."
            )
            continue
        findings.append(f"Agreement of {n} annotators, {figure['measure']}: {_shown(figure)}.")
    if record["not_blind"]:
        findings.append(
            f"{record['not_blind']:,} decisions were made or taken back after the adjudication "
            "had been seen; they are left out."
        )
    proposals = record["proposals"]
    if proposals is None:
        findings.append("Nothing was adjudicated yet, so proposals cannot be judged.")
    else:
        a1, a2 = proposals["a1"]["value"], proposals["a2"]["value"]
        findings.append(
            f"Of {proposals['items']:,} adjudicated items the right value was proposed first for "
            f"{a1:.1f}%, and first or second for {a2:.1f}%."
        )
    compared = record["comparison"]
    findings += compared["in_words"] if compared else []
    return findings


def _shown(figure: Mapping[str, Any] | None) -> str:
    """A figure with its interval.

    >>> _shown({"value": 0.71234, "low": 0.65, "high": 0.77}), _shown(None)
    ('0.712 (0.650 to 0.770)', '-')
    """
    if figure is None or figure["value"] is None:
        return "-"
    digits = 3 if max(abs(figure[name] or 0.0) for name in ("value", "low", "high")) <= 1 else 2
    if figure["low"] is None:
        return f"{figure['value']:.{digits}f}"
    return (
        f"{figure['value']:.{digits}f} ({figure['low']:.{digits}f} to {figure['high']:.{digits}f})"
    )


def rows_of(
    store: AnnotationStore, project: int, numbers: Sequence[int] | None = None
) -> tuple[list[StoredDocument], list[Layer], list[Decision]]:
    """The documents (all, or those of these numbers), layers and decisions of a project."""
    if numbers is None:
        numbers = [facts.id for facts in store.documents(project)]
    documents = [store.document(number) for number in numbers]
    every = (layer for number in numbers for layer in store.layers(number))
    layers = [layer for layer in every if layer.version]  # who has only looked is no annotator
    return (
        documents,
        layers,
        [decision for layer in layers for decision in store.history(layer.id)],
    )


def table(record: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """The record as rows of a table for a terminal: about, figure, value with its interval.

    >>> empty = {"agreement": {"all": [], "pairs": [], "documents": []}, "proposals": None,
    ...          "effort": [], "comparison": None}
    >>> table(empty)
    []
    """
    agreement = record["agreement"]
    rows = [("all annotators", figure["measure"], _shown(figure)) for figure in agreement["all"]]
    for pair in agreement["pairs"]:
        about = " and ".join(pair["annotators"])
        rows += [(about, figure["measure"], _shown(figure)) for figure in pair["measures"]]
    for of_document in agreement["documents"]:
        about = f"document {of_document['document']}"
        rows += [(about, figure["measure"], _shown(figure)) for figure in of_document["measures"]]
    proposals = record["proposals"]
    if proposals is not None:
        rows += [("proposals", name.upper(), _shown(proposals[name])) for name in ("a1", "a2")]
    for effort in record["effort"]:
        for what in ("seconds", "keys"):
            rows.append((effort["annotator"], f"{what} a word", _shown(effort[f"{what}_a_word"])))
    compared = record["comparison"]
    for what in ("seconds", "keys"):
        of_arms: Mapping[str, Any] = (compared or {}).get(what) or {}
        rows += [
            (f"A/B {name}", f"{what} a word", _shown(figure)) for name, figure in of_arms.items()
        ]
    return rows
