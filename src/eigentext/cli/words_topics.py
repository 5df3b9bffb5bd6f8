"""``eigentext words topics``: topics of documents, and the proportions of topics in documents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from eigentext.base.files.opening import OnError
from eigentext.cli import options
from eigentext.cli.command import Given, with_flags
from eigentext.cli.output import show_figures
from eigentext.cli.run import Applying, Training, of_files
from eigentext.cli.text_input import GenericText
from eigentext.words.settings import TopicSettings

Model = Annotated[str, typer.Argument(help="A model of `words topics train`.")]
Top = Annotated[int, typer.Option("--top", min=1, help="How many words of each topic.")]


@dataclass(kw_only=True)
class DocumentInput(GenericText):
    """Texts that are cut into documents."""

    documents: Annotated[
        str,
        typer.Option(
            "--documents",
            help="What a document is in text files: line, paragraph (up to an empty line), file, "
            "or a number of lines.  Of files of records each record is one.  In CoNLL-U a line is "
            "a sentence, and document is what its comments mark.",
        ),
    ] = "line"

    def __post_init__(self) -> None:
        """How raw text is cut means nothing where text is cut already."""
        if not self.raw:
            self.refuse("is for raw text", but=("--field", "--documents"))

    def texts(self, files: list[str], on_error: OnError | None = None) -> Iterator[list[str]]:
        """Token lists, a document each, in the order of the files."""
        from eigentext.base.files.opening import expand
        from eigentext.counting.documents import read_documents

        for source in expand(files):
            yield from read_documents(
                source,
                self.documents,
                tokeniser=self.tokeniser if self.raw else None,
                newlines=self.newlines,
                field=self.field,
                on_error=on_error,
            )


@with_flags(TopicSettings)
def train(corpus: options.Texts, run: Training, given: Given, text: DocumentInput) -> None:
    """Learn topics, words that stand in the same documents, by moments and a few steps of EM.

    Moments of pairs and triples of words give topics without a search (--refine 0); iterations of
    EM that begin there make them better: how many, a tenth of the documents tells, held out.  With
    --alpha0 0 every document has one topic.

    Example:

        $ eigentext words topics train sample/text.txt -o text.topics -k 2 --documents 4

        $ eigentext words topics show text.topics --top 5
    """
    from eigentext.base.files.opening import expand
    from eigentext.errors import DataError, RankError, SettingsError
    from eigentext.words.topics.model import TopicModel

    model = TopicModel(**given.settings(TopicSettings))
    model.check()
    with run.reading("iterations") as (log, progress):
        try:
            model.fit(text.texts(corpus, log), progress=progress)
        except RankError as error:
            raise SettingsError(f"{error}: take fewer --n-topics") from error
        except DataError as error:
            raise of_files(error, expand(corpus), "documents") from None
    figures = {
        "documents": model.n_documents_,
        "tokens": model.n_tokens_,
        "vocabulary": len(model.words_),
        "topics": len(model.weights_),
        "residual": round(model.residual_, 4),
        "iterations": model.n_iter_,
    }
    run.save(model, expand(corpus), figures)


def show(model: Model, top: Top = 10, format_: options.Format = "native") -> None:
    """Show the words of each topic, the most probable first, and the topic's share of the text.

    Example:

        $ eigentext words topics train sample/text.txt -o text.topics -k 2 --documents 4

        $ eigentext words topics show text.topics --top 5
    """
    from json import dumps

    from eigentext.words.topics.model import TopicModel

    for view in TopicModel.load(model).views(top):
        if format_ == "jsonl":
            print(dumps(view._asdict(), ensure_ascii=False))
        else:
            print(f"{view.topic}\t{view.share:.4f}\t{' '.join(word for word, _ in view.words)}")


@with_flags()
def apply(
    model: Model,
    corpus: options.Texts,
    run: Applying,
    text: DocumentInput,
    format_: options.Format = "native",
) -> None:
    """Print the proportions of topics in each document, a line for each.

    Example:

        $ eigentext words topics train sample/text.txt -o text.topics -k 2 --documents 4

        $ eigentext words topics apply text.topics sample/text.txt --documents 4
    """
    from itertools import islice
    from json import dumps

    from eigentext.words.topics.model import TopicModel

    topics = TopicModel.load(model)
    n_documents = 0

    def lines(log: OnError | None) -> Iterator[str]:
        nonlocal n_documents
        documents = text.texts(corpus, log)
        while some := list(islice(documents, 10_000)):
            n_documents += len(some)
            for row in topics.transform(some):
                shares: list[Any] = [round(value, 4) for value in row.tolist()]
                if format_ == "jsonl":
                    yield dumps({"topic": int(row.argmax()), "proportions": shares})
                else:
                    yield "\t".join(f"{value:.4f}" for value in shares)

    with run.reading() as (log, _):
        run.write(lines(log))
    run.tell({"documents": n_documents, "topics": len(topics.weights_), "skipped": run.skipped})


@with_flags()
def eval_(
    model: Model,
    corpus: options.Texts,
    text: DocumentInput,
    top: Top = 10,
    json: options.Json = False,
) -> None:
    """Perplexity of one half of each document given the other, and coherence of topics (NPMI).

    Example:

        $ eigentext words topics train sample/text.txt -o text.topics -k 2 --documents 4

        $ eigentext words topics eval text.topics sample/text.txt --documents 4
    """
    import numpy as np

    from eigentext.evaluate.coherence import npmi_coherence
    from eigentext.words.topics.model import TopicModel

    topics = TopicModel.load(model)
    documents = list(text.texts(corpus))
    number = {word: i for i, word in enumerate(topics.words_)}
    leading = [[number[word] for word, _ in view.words] for view in topics.views(top)]
    perplexity = topics.perplexity(documents)
    coherence = npmi_coherence(leading, topics.counts_of(documents))
    figures = {
        "documents": len(documents),
        "perplexity": round(perplexity, 2),
        "coherence": round(float(np.mean(coherence)), 4),
        "coherence_by_topic": [round(value, 4) for value in coherence.tolist()],
    }
    show_figures(figures, as_json=json)


app = typer.Typer(no_args_is_help=True, help="Topics of documents.")
for _name, _command in (("train", train), ("show", show), ("apply", apply), ("eval", eval_)):
    app.command(_name)(_command)


def register(words: typer.Typer) -> None:
    """Add the group to ``eigentext words``."""
    words.add_typer(app, name="topics")
