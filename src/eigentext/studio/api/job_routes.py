"""``POST /api/...`` of all pages but *Annotate*: a request, the job of a worker, its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.studio.api import schemas, schemas_parse
from eigentext.studio.api import schemas_words as words
from eigentext.studio.service.answering import add_job

if TYPE_CHECKING:
    from fastapi import FastAPI
    from pydantic import BaseModel

    from eigentext.studio.service.settings import ServiceSettings
    from eigentext.studio.service.workers import WorkerPool

_SHAPES: dict[str, tuple[type[BaseModel], type[BaseModel]]] = {
    "convert": (schemas.ConvertRequest, schemas.ConvertAnswer),
    "tokenise": (schemas.TokeniseRequest, schemas.TokeniseAnswer),
    "trees": (schemas.TreesRequest, schemas.TreesAnswer),
    "parse": (schemas_parse.ParseRequest, schemas_parse.ParseAnswer),
    "pipe": (schemas.PipeRequest, schemas.PipeAnswer),
    "lex/rank": (words.LexicalRequest, words.RankAnswer),
    "read": (words.ReadRequest, words.ReadAnswer),
    "words/find": (words.FindRequest, words.FindAnswer),
    "words/look": (words.LookRequest, words.LookAnswer),
    "words/tree": (words.TreeRequest, words.TreeAnswer),
    "words/neighbours": (words.NeighboursRequest, words.NeighboursAnswer),
    "words/map": (words.MapRequest, words.MapAnswer),
    "words/compare": (words.WordsCompareRequest, words.WordsCompareAnswer),
    "sequences/states": (words.StatesRequest, words.StatesAnswer),
    "sequences/text": (words.SequencesTextRequest, words.SequencesTextAnswer),
}


def add_jobs(app: FastAPI, limits: ServiceSettings, pool: WorkerPool) -> None:
    """Add the routes."""
    descriptions = _descriptions(limits)
    for job, shapes in _SHAPES.items():
        add_job(app, job, shapes, (pool, limits), descriptions[job])


def _descriptions(limits: ServiceSettings) -> dict[str, str]:
    characters = f"At most {limits.max_characters:,} characters"
    sentences = f"{limits.max_trees:,} sentences, each of at most {limits.max_words:,} words, and "
    nearest = f"at most {limits.max_neighbours:,}"
    return {
        "convert": f"Turn sentences in one format into another. {characters}.",
        "tokenise": "Split raw text into sentences and tokens that know where they stood. "
        f"{characters}.",
        "trees": "Clean, binarise and draw trees, and turn them into dependencies. "
        f"{characters}. At most {limits.max_trees:,} trees.",
        "parse": "Parse raw text or tokens to constituent and dependency trees, with posteriors, "
        "lists of the best and what trees must and must not have; answers are those of `eigentext "
        "const apply`, `eigentext dep apply` and `eigentext pipe apply`. "
        f"{characters}, {sentences}{limits.max_tree_words:,} words times `kbest`.",
        "pipe": "Sentences, words, tags, features, lemmas and trees of raw text, as `eigentext "
        f"pipe apply` gives them. At most {limits.max_pipe_characters:,} characters.",
        "lex/rank": "Rank every reading of every word, exactly as `eigentext lex apply` does. "
        f"{characters} and {limits.max_ranked_words:,} words.",
        "read": "Every word of a text with its readings in context, by a ranker or by a pipeline. "
        f"{characters} and {limits.max_ranked_words:,} words.",
        "words/find": "Words with a text in them, the frequent first.",
        "words/look": "What a model knows of a word: rank, count, and the path and members of its "
        "cluster. An unknown word is answered with known ones that are written like it.",
        "words/tree": "A prefix of the cluster hierarchy, its frequent words, and what is below "
        "it.",
        "words/neighbours": "The words nearest to a word by cosine, and analogies a:b::c, as "
        f"`eigentext words inspect` gives them; {nearest} each.",
        "words/map": "Frequent words on the two main directions of their vectors, as `eigentext "
        f"words inspect` draws them; at most {limits.max_map_words:,}, more are left out.",
        "words/compare": "The neighbours of a word in two models, and the frequent words whose "
        f"neighbours differ most; {nearest} neighbours.",
        "sequences/states": "The states of a model with their words and next states, as "
        f"`eigentext hmm inspect` gives them; at most {limits.max_states:,}, rarer ones are left "
        "out.",
        "sequences/text": "A text by states with posteriors and surprisals, as `eigentext hmm "
        f"score` and `hmm apply` give them. {characters} and {limits.max_sequence_words:,} words.",
    }
