"""``eigentext words lm``: the class-based bigram model of a clustering."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

import typer

from eigentext.base.files.opening import OnError
from eigentext.cli import options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.output import show_figures
from eigentext.cli.run import Training
from eigentext.cli.text_input import Field, TextInput
from eigentext.errors import DataError
from eigentext.words.settings import ClassBigramSettings

Model = Annotated[str, typer.Argument(help="A model of `words lm train`.")]
Mix = Annotated[
    float | None,
    typer.Option("--mix", min=0.0, max=1.0, help="Weight of classes; words have the rest."),
]


def _sentences(
    corpus: list[str],
    field: str | None = None,
    on_error: OnError | None = None,
    *,
    needed: bool = False,
) -> Iterator[list[str]]:
    """Sentences with tokens; where they are ``needed``, none at all is an error."""
    empty = True
    for tokens in TextInput(field=field).sentences(corpus, on_error):
        if tokens:
            empty = False
            yield tokens
    if needed and empty:
        raise DataError(", ".join(corpus), None, "no tokens, expected text")


@with_flags(ClassBigramSettings)
def train(
    clusters: Annotated[str, typer.Argument(help="A model of `words cluster`, or a paths file.")],
    corpus: options.Texts,
    run: Training,
    given: Given,
    field: Field = None,
) -> None:
    """Learn a class-based bigram model: which class follows which, and which words it has.

    Example:

        $ eigentext words cluster sample/text.txt -o text.clusters -m 20

        $ eigentext words lm train text.clusters sample/text.txt -o text.lm
    """
    from eigentext.words.clusters.model import read_clusters
    from eigentext.words.lm.class_bigram import ClassBigram

    settings = given.settings(ClassBigramSettings, clusters=read_clusters(clusters))
    with run.reading() as (log, _):
        model = ClassBigram(**settings).fit(_sentences(corpus, field, log, needed=True))
    figures = {
        "words": len(model.words_),
        "classes": len(model.names_),
        "tokens": int(model.pairs_.sum()),
        "discount": round(model.word_model_.discount, 4),
    }
    run.save(model, corpus, figures)


def score(
    model: Model,
    corpus: options.Texts,
    mix: Mix = None,
    format_: options.Format = "native",
    field: Field = None,
) -> None:
    """Print the log probability of every sentence.

    Example:

        $ eigentext words cluster sample/text.txt -o text.clusters -m 20

        $ eigentext words lm train text.clusters sample/text.txt -o text.lm

        $ eigentext words lm score text.lm sample/text.txt
    """
    from json import dumps

    from eigentext.words.lm.class_bigram import ClassBigram

    bigram = ClassBigram.load(model)
    for tokens in _sentences(corpus, field):
        value = bigram.log_prob(tokens, mix=mix)
        if format_ == "jsonl":
            print(dumps({"log_prob": value, "tokens": tokens}, ensure_ascii=False))
        else:
            print(f"{value:.4f}\t{' '.join(tokens)}")


def perplexity(
    model: Model,
    corpus: options.Texts,
    mix: Mix = None,
    json: options.Json = False,
    field: Field = None,
) -> None:
    """Perplexity of text, by classes, by words (Kneser-Ney) and by both.

    Example:

        $ eigentext words cluster sample/text.txt -o text.clusters -m 20

        $ eigentext words lm train text.clusters sample/text.txt -o text.lm

        $ eigentext words lm perplexity text.lm sample/text.txt
    """
    from eigentext.words.lm.class_bigram import ClassBigram

    bigram = ClassBigram.load(model)
    text = list(_sentences(corpus, field, needed=True))
    figures = {
        "perplexity": round(bigram.perplexity(text, mix=mix), 3),
        "classes_alone": round(bigram.perplexity(text, mix=1.0), 3),
        "kneser_ney_alone": round(bigram.perplexity(text, mix=0.0), 3),
        "sentences": len(text),
    }
    show_figures(figures, as_json=json)


def sample(
    model: Model,
    number: Annotated[int, typer.Option("--number", "-n", min=0, help="How many sentences.")] = 10,
    seed: options.Seed = 0,
) -> None:
    """Print sentences drawn from the model.

    Example:

        $ eigentext words cluster sample/text.txt -o text.clusters -m 20

        $ eigentext words lm train text.clusters sample/text.txt -o text.lm

        $ eigentext words lm sample text.lm --number 3
    """
    from eigentext.words.lm.class_bigram import ClassBigram

    for tokens in ClassBigram.load(model).sample(number, seed=seed):
        print(" ".join(tokens))


app = typer.Typer(no_args_is_help=True, help="Class-based bigram language models.")
for _name, _command in (
    ("train", train),
    ("score", score),
    ("perplexity", perplexity),
    ("sample", sample),
):
    app.command(_name)(_command)


def register(words: typer.Typer) -> None:
    """Add the group to ``eigentext words``."""
    words.add_typer(app, name="lm")
