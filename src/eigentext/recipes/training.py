"""From files to a model and its scores, for each kind of recipe.

The scores are those that the commands of evaluation print, in per cent: of a pipeline the F1 of
the CoNLL 2018 shared task from raw text (``pipe eval``), of constituents EVALB's F1 with the
accuracy of tags (``const eval``), of entities F1, precision and recall (``tag eval``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentext.base.cores import using_cores
from eigentext.base.registry import class_of
from eigentext.base.settings import declared
from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from eigentext.base.progress import Progress
    from eigentext.recipes.gathering import Gathered
    from eigentext.recipes.recipe import Recipe

SCORES = {
    "pipeline": tuple("Tokens Sentences Words UPOS XPOS UFeats Lemmas UAS LAS MLAS BLEX".split()),
    "constituency": ("F1", "tags"),
    "ner": ("F1", "precision", "recall"),
}
"""Kind of recipe -> the scores that its models have."""
_MODELS = {"pipeline": "pipeline", "constituency": "lpcfg", "ner": "tagger"}  # their kinds


_N_CLUSTERS, _VOCABULARY = 500, 50_000  # of the text that a tagger of entities learns from


def check_settings(recipe: Recipe) -> None:
    """Raise SettingsError for a setting, or a score, that models of this kind do not have."""
    settings = declared(class_of(_MODELS[recipe.kind]))
    for name, value in recipe.settings.items():
        if name not in settings:
            raise SettingsError(f"recipe {recipe.name}: a {recipe.kind} has no setting {name!r}")
        if settings[name].path or (name == "analyzer" and ":" in str(value)):
            why = "a recipe cannot name files in its settings: they would not be checked"
            raise SettingsError(f"recipe {recipe.name}: {name}: {why}")
    for name in recipe.expected:
        if name not in SCORES[recipe.kind]:
            scores = ", ".join(SCORES[recipe.kind])
            raise SettingsError(f"recipe {recipe.name}: expected {name!r}, but there are {scores}")


def trained(
    data: Gathered, *, jobs: int = 1, progress: Progress | None = None
) -> tuple[Any, dict[str, float]]:
    """The model of a recipe, and its scores on the recipe's test data."""
    train, score = _WAYS[data.recipe.kind]
    with using_cores(jobs):
        model = train(data, progress)
    scores = score(model, data.paths(data.recipe.test), jobs, progress)
    return model, {name: round(value, 2) for name, value in scores.items()}


def _counted(answers: Iterable[object], total: int, progress: Progress | None) -> Iterator[Any]:
    for done, answer in enumerate(answers, start=1):
        if progress is not None:
            progress(done, total, "testing")
        yield answer


# ---------------------------------------------------------------- constituents


def _train_constituency(data: Gathered, progress: Progress | None) -> Any:
    from eigentext.constituency import LPCFG

    parser = LPCFG(**data.recipe.settings)
    parser.check()
    return parser.fit(_trees(data.paths(data.recipe.train)), progress=progress)


def _score_constituency(
    parser: Any, test: Sequence[str], jobs: int, progress: Progress | None
) -> dict[str, float]:
    from eigentext.evaluate.parseval import evaluate
    from eigentext.language.formats.prm import EvalbSettings
    from eigentext.language.trees.clean import clean

    gold = [tree for tree in map(clean, _trees(test)) if tree is not None]
    answers = parser.parse_many((list(tree.words) for tree in gold), jobs=jobs)
    trees = [answer.tree for answer in _counted(answers, len(gold), progress)]
    result = evaluate(gold, trees, EvalbSettings.collins(), failed="empty").all
    return {"F1": result.f1, "tags": result.tag_accuracy}


def _trees(files: Sequence[str]) -> list[Any]:
    from eigentext.language.formats.ptb import read_trees

    trees = [tree for file in files for tree in read_trees(file)]
    if not trees:
        raise DataError(", ".join(files), None, "no trees, expected at least one")
    return trees


# ---------------------------------------------------------------- entities


def _train_ner(data: Gathered, progress: Progress | None) -> Any:
    from eigentext.tagging.sequence import SequenceTagger

    recipe = data.recipe
    tagger = SequenceTagger(**{"scheme": "bio2", **recipe.settings})
    tagger.check()
    if recipe.text:
        tagger.set_params(clusters=_clusters(data.texts(), progress))
    gold = _tagged(data.paths(recipe.train), tagger.repair)
    held_out = _tagged(data.paths(recipe.dev), tagger.repair) if recipe.dev else None
    return tagger.fit(*gold, dev=held_out, progress=progress)


def _clusters(text: Sequence[str], progress: Progress | None) -> dict[str, str]:
    """Paths of the words of tokenised text, a sentence a line."""
    from eigentext.language.formats.text import read_sentences
    from eigentext.words import SpectralClusters

    sentences = (words for file in text for words in read_sentences(file) if words)
    clusters = SpectralClusters(_N_CLUSTERS, vocab_size=_VOCABULARY)
    return clusters.fit(sentences, progress=progress).word_paths()


def _score_ner(
    tagger: Any, test: Sequence[str], jobs: int, progress: Progress | None
) -> dict[str, float]:
    from eigentext.evaluate.ner import evaluate

    tokens, gold = _tagged(test, repair=True)
    answers = _counted(tagger.stream_kbest(tokens, 1, jobs=jobs), len(gold), progress)
    predicted = [best[0].tags if best else [] for best in answers]
    result = evaluate(gold, predicted, names=(", ".join(test), "the tagger"))
    micro = result.micro
    return {"F1": result.f1, "precision": micro.precision, "recall": micro.recall}


def _tagged(files: Sequence[str], repair: bool) -> tuple[Any, Any]:
    from eigentext.tagging.sequence.reading import read_tagged

    tokens, tags, _ = read_tagged(files, scheme="bio2", repair=repair)
    return tokens, tags


# ---------------------------------------------------------------- pipelines


def _train_pipeline(data: Gathered, progress: Progress | None) -> Any:
    from eigentext.pipeline import Pipeline

    recipe = data.recipe
    return Pipeline(**recipe.settings).fit(
        data.paths(recipe.train),
        dev=data.paths(recipe.dev) or None,
        text=data.texts() or None,
        progress=progress,
    )


def _score_pipeline(
    pipeline: Any, test: Sequence[str], jobs: int, progress: Progress | None
) -> dict[str, float]:
    from eigentext.evaluate.conll18 import lacking
    from eigentext.language.formats.conllu import read_sentences
    from eigentext.pipeline.scoring import score

    gold = [sentence for file in test for sentence in read_sentences(file)]
    if not gold:
        raise DataError(", ".join(test), None, "no sentences, expected at least one")
    scores = score(pipeline, gold, jobs=jobs, progress=progress)
    absent = lacking(gold)  # a column that is blank on both sides would score near 100
    return {name: scores[name].f1 for name in SCORES["pipeline"] if name not in absent}


_WAYS: dict[str, tuple[Callable[..., Any], Callable[..., dict[str, float]]]] = {
    "pipeline": (_train_pipeline, _score_pipeline),
    "constituency": (_train_constituency, _score_constituency),
    "ner": (_train_ner, _score_ner),
}
