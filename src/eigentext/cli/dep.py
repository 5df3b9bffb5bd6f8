"""``eigentext dep``: dependency trees; ``eval`` and ``inspect`` are here."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from eigentext.base.cores import using_cores
from eigentext.base.parallel import side_by_side
from eigentext.cli import dep_apply, dep_train, options
from eigentext.cli.command import Flags, flag, group, with_flags
from eigentext.cli.dep_apply import apply
from eigentext.cli.inputs import sentences_of, trees_of
from eigentext.cli.output import remark, show_figures, show_table
from eigentext.cli.verbs import answers_of
from eigentext.errors import SettingsError
from eigentext.language.formats.registry import format_of

if TYPE_CHECKING:
    from eigentext.base.types import Json
    from eigentext.evaluate.attachment import AttachmentResult
    from eigentext.evaluate.attachment_counts import WordScore


class TableName(StrEnum):  # typer takes no list of Literal
    """What the scores are broken down by."""

    length = "length"
    relation = "relation"
    distance = "distance"


@with_flags()
def eval_(
    model: options.ModelOrAnswers,
    gold: Annotated[str, typer.Argument(help="Gold trees, CoNLL-U or CoNLL-X.")],
    against: str | None = flag("Another parser, or its trees: is the difference luck?"),
    punctuation: bool = flag(
        "Count punctuation, or leave it out everywhere.", True, "--punct/--no-punct"
    ),
    subtypes: bool = flag(
        "nsubj:pass as it stands, or as nsubj.", False, "--subtypes/--no-subtypes"
    ),
    by: list[TableName] | None = flag("A table too; may be given several times."),
    samples: int = flag("Resampled sets of sentences for --against.", 10_000, min=1),
    seed: options.Seed = 0,
    jobs: options.Jobs = 1,
    json: options.Json = False,
) -> None:
    """Score a parser, or the trees of any system, by the rules of the CoNLL 2018 shared task.

    UAS: right heads; LAS: right heads and relations; CLAS: the same for content words; UCM and
    LCM: sentences without a wrong head, and without a wrong head or relation.  CLAS, MLAS and BLEX
    are for relations of Universal Dependencies; of others they are null.  With --against, a
    paired bootstrap over sentences tells whether the first parser is better than the other.

    Example:
        $ eigentext convert sample/dev.mrg -o gold.conllu
        $ eigentext convert sample/dev.mrg -o pred.conllu --heads neutral
        $ eigentext dep eval pred.conllu gold.conllu
        $ eigentext dep eval gold.conllu gold.conllu --against pred.conllu --by distance --no-punct
        $ eigentext dep train gold.conllu -o english.parser --order 1 --epochs 2
        $ eigentext dep eval english.parser gold.conllu
    """
    from eigentext.evaluate.attachment import evaluate

    def scored(system: str) -> AttachmentResult:
        with answers_of(system, gold, apply, jobs=jobs) as (predicted, _):
            return evaluate(
                right, sentences_of(predicted), punctuation=punctuation, subtypes=subtypes
            )

    beside: dict[str, Json] = {}
    with using_cores(jobs):
        right = list(sentences_of(gold))
        result = scored(model)
        if against is not None:
            beside = _compared(result, scored(against), samples, seed)
    figures: Json = result.as_dict()
    tables = {table.value: _table(result, table) for table in dict.fromkeys(by or ())}
    if json:
        more = {**({"by": tables} if tables else {}), **({"against": beside} if beside else {})}
        show_figures({**figures, **more}, as_json=True)
        return
    show_figures({k: v for k, v in figures.items() if v is not None}, as_json=False)
    if result.other_relations:
        names = ", ".join(result.other_relations[:3])
        remark(
            "no CLAS, MLAS, BLEX: they are defined for the relations of Universal Dependencies, "
            f"not for {names}"
        )
    for name, rows in tables.items():
        show_table(f"By {name}", rows)
    if beside:
        rows = [{"measure": measure, **figures} for measure, figures in beside.items()]
        show_table(f"Against {against} (95% interval)", rows)


def _compared(
    result: AttachmentResult, other: AttachmentResult, samples: int, seed: int
) -> dict[str, Json]:
    """By measure: is the difference luck?"""
    from eigentext.evaluate.attachment import compare_systems

    measures: tuple[Literal["UAS", "LAS"], ...] = ("UAS", "LAS")
    compare = partial(compare_systems, result, other, n_samples=samples, seed=seed)
    comparisons = side_by_side([partial(compare, measure=name) for name in measures])
    return {
        name: {
            "other": comparison.second,
            "difference": comparison.difference,
            "low": comparison.low,
            "high": comparison.high,
            "p_value": comparison.p_value,
        }
        for name, comparison in zip(measures, comparisons, strict=True)
    }


def _table(result: AttachmentResult, name: TableName) -> list[Json]:
    if name == "length":
        return [
            {
                "words": f"{row.shortest}-{row.longest}",
                "sentences": row.n_sentences,
                "UAS": row.uas.f1,
                "LAS": row.las.f1,
            }
            for row in result.by_length
        ]
    if name == "distance":
        return [
            {
                "distance": _distances(row.shortest, row.longest),
                **_parts("UAS", row.uas),
                **_parts("LAS", row.las),
            }
            for row in result.by_distance
        ]
    return [
        {
            "relation": row.relation,
            "words": row.las.gold,
            "UAS": row.uas.recall,
            "LAS precision": row.las.precision,
            "LAS recall": row.las.recall,
            "LAS": row.las.f1,
        }
        for row in result.by_relation
    ]


def _distances(shortest: int, longest: int | None) -> str:
    if longest is None:
        return f"{shortest} or more"
    if not longest:
        return "root"
    return str(shortest) if shortest == longest else f"{shortest}-{longest}"


def _parts(name: str, score: WordScore) -> dict[str, float]:
    return {f"{name} precision": score.precision, f"{name} recall": score.recall, name: score.f1}


_JUDGED = 500  # trees that the share of negative scores is counted on


@dataclass(kw_only=True)
class OperatorFlags(Flags):
    """The operators that are learned from a treebank to be judged."""

    n_states: int = flag("For a treebank: dimensions.", 10, "-k", min=1)
    dictionary: str = flag("For a treebank: svd or cca of tree neighbours.", "cca")
    observations: str = flag("For a treebank: word|tag, word+tag, tag or word.", "word|tag")


@with_flags()
def inspect(
    source: Annotated[
        str,
        typer.Argument(help="A treebank (.conllu, .conllx), or a model of `dep train-latent`."),
    ],
    operators: OperatorFlags,
    state: int | None = flag("For a model: this state alone."),
    top: int = flag("How many words and children of each state.", 8, min=1),
    json: options.Json = False,
) -> None:
    """Show how far spectral operators can be trusted on a treebank, or what a model's states are.

    Of a treebank (CoNLL-U, CoNLL-X): condition numbers of the moments and operators, sigma_k, the
    smallest element, the number of triples that bound (7) of Dhillon et al. 2012 asks for, and
    the share of trees with a negative score.  Of a model: its states' words and children.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext dep inspect train.conllu --n-states 4
        $ eigentext dep train-latent train.conllu -o english.latent --n-states 50 --n-iter 5
        $ eigentext dep inspect english.latent --top 4
    """
    # a treebank by its name; whatever is called otherwise is a model, or says that it is none
    if source == "-" or format_of(source, ("conllu", "conllx"), ""):
        if state is not None:
            raise SettingsError("--state is for a model, not for a treebank")
        show_figures(_trust(source, operators), as_json=json)
        return
    operators.refuse("is for a treebank, not for a model")
    from eigentext.dependency import LatentTreeModel
    from eigentext.dependency.latent.inspection import states_of

    views = list(states_of(LatentTreeModel.load(source), top=top))
    if state is not None:
        views = [view for view in views if view.state == state]
        if not views:
            raise SettingsError(f"no state {state} in this model")
    if json:
        print(dumps({"states": [view._asdict() for view in views]}, ensure_ascii=False))
        return
    for view in views:
        words = ", ".join(f"{name} ({p:.2f})" for name, p in view.words)
        children = ", ".join(f"{where} {name} ({p:.2f})" for where, name, p in view.children)
        print(f"state {view.state} {view.tag}  {view.share:.4f} of all words")
        print(f"    words: {words}\n    children: {children}")


def _trust(source: str, flags: OperatorFlags) -> Json:
    import numpy as np

    from eigentext.dependency import SpectralTreeOperators
    from eigentext.dependency.latent.moments import TreeMoments
    from eigentext.dependency.latent.operators import examine, negative_rate

    trees = [tree for _, tree in trees_of([source])]
    model = SpectralTreeOperators(
        flags.n_states, observations=flags.observations, dictionary=flags.dictionary
    ).fit(trees)
    words = round(float(np.mean([len(tree) for tree in trees])))
    levels = round(float(np.mean([tree.depths.max() for tree in trees])))
    conditions = examine(
        cast("TreeMoments", model.moments_),
        largest=float(np.abs(model.dictionary_.U).max()),
        words=max(words, 1),
        levels=max(levels, 1),
    )
    judged = trees[:: max(1, len(trees) // _JUDGED)]
    return {
        "trees": len(trees),
        "triples": conditions.n_triples,
        **{f"condition_{name}": value for name, value in conditions.conditions.items()},
        "sigma_k": conditions.sigma_k,
        "smallest_element": conditions.smallest,
        "triples_needed_by_bound_7": conditions.triples_needed,
        "for_words": conditions.words,
        "for_levels": conditions.levels,
        "eps": conditions.eps,
        "delta": conditions.delta,
        "negative_scores": negative_rate(model, judged),
    }


app = group(
    dep_train.train,
    dep_train.train_generative,
    dep_train.train_latent,
    dep_train.train_reranker,
    dep_apply.apply,
    dep_train.score,
    eval_,
    inspect,
)
