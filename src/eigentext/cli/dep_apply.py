"""``eigentext dep apply``: sentences in, dependency trees out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from eigentext.base.files.opening import SkipLog, expand
from eigentext.base.parallel import in_order
from eigentext.cli import options
from eigentext.cli.command import argument, flag, with_flags
from eigentext.cli.inputs import RawText, TextInput, kind_of_model
from eigentext.cli.verbs import Applying, Workers
from eigentext.errors import DataError, SettingsError

if TYPE_CHECKING:
    from eigentext.base.progress import Progress
    from eigentext.dependency import DependencyParser, GenerativeParser, Reranker
    from eigentext.language.formats.conllu import ConlluBlock

    Predict = Callable[[list[ConlluBlock]], Iterable[ConlluBlock]]

_CHUNK = 256  # sentences parsed at a time


@with_flags()
def apply(
    model: Annotated[str, typer.Argument(help="A model of `dep train` or train-generative.")],
    files: list[str] | None = argument("Sentences; else stdin."),
    *,
    run: Applying,
    workers: Workers,
    text: RawText,
    from_: Literal["conllu", "tokens", "raw"] = flag(
        "CoNLL-U, one tokenised sentence a line, or raw text.  For the last two the "
        "parser needs taggers of its own (`dep train --tags own`).",
        "conllu",
    ),
    kbest: int = flag("How many trees of a sentence, best first.", 1, min=1),
    rerank: str | None = flag("A model of `dep train-reranker`: it puts k-best trees in order."),
    marginals: bool = flag("Probability of each arc: Prob=0.93 in the last column.", False),
    jobs: options.Jobs = 1,
) -> None:
    """Parse sentences: CoNLL-U out, with heads and relations filled in.

    Comments, multiword ranges and empty nodes of CoNLL-U input stay as they are.  With --kbest
    every tree is a sentence of its own with comments `# kbest = 1` and `# score = 12.3`, and
    `# approximate = yes` where the list need not be exact.  With
    --rerank the best of as many trees as it was trained for (or of --kbest, which are then all
    written) comes first.  A sentence of more than 400 words is parsed in pieces (`# split = 3`),
    one tree each.  A generative parser gives one tree for each sentence with tags, no relations.

    Example:
        $ eigentext convert sample/train.mrg -o train.conllu
        $ eigentext dep train train.conllu -o english.parser --order 1 --tags own --epochs 3
        $ eigentext dep apply english.parser train.conllu -o predicted.conllu --marginals
        $ eigentext dep apply english.parser sample/text.txt --from tokens --kbest 3 -o k.conllu
    """
    from eigentext.dependency.long_sentences import MOST_WORDS
    from eigentext.language.formats.conllu import write_sentences

    if from_ == "conllu":
        text.refuse("is for text, not for CoNLL-U", but=("--tokeniser", "--newlines"))
    if from_ != "raw":
        text.refuse("is for raw text", but=("--field",))
    predict = _predictor(model, from_, kbest, rerank, marginals)
    count = split = 0

    def trees(log: SkipLog | None, progress: Progress) -> Iterator[ConlluBlock]:
        nonlocal count, split
        sentences = _read(expand(files or ["-"]), from_, text, log)
        chunks = iter(lambda: list(islice(sentences, _CHUNK)), [])
        for chunk, answers in in_order(_parsed, chunks, state=predict, jobs=jobs, chunk=1):
            yield from answers
            count += len(chunk)
            split += sum(len(sentence) > MOST_WORDS for sentence in chunk)
            progress(count, 0, "parsing")

    with run.reading("sentences") as (log, progress), workers.at_work(jobs):
        write_sentences(trees(log, progress), run.output)
    if split:
        why = f"{split} sentence(s) of more than {MOST_WORDS} words were parsed in pieces"
        run.remark(f"{why}: comment '# split'")
    if run.json:
        counts = {"sentences": count, "split": split, "skipped": run.skipped}
        run.tell(counts | run.clock.figures(sentences=count))


def _predictor(model: str, from_: str, k: int, rerank: str | None, marginals: bool) -> Predict:
    """Sentences in, parsed sentences out, by the parser in this file and as it is asked for."""
    from eigentext.dependency import DependencyParser, GenerativeParser, Reranker

    if kind_of_model(model, "graph-parser", "dependency-generative") == "dependency-generative":
        flags = {"--kbest": k > 1, "--rerank": rerank, "--from": from_ != "conllu"}
        for flag, value in flags.items():
            if value:
                why = f"not with {model}: a generative parser gives one tree for CoNLL-U with tags"
                raise SettingsError(f"{flag}: {why}")
        return partial(by_generative, GenerativeParser.load(model), marginals=marginals)
    parser = DependencyParser.load(model)
    if from_ != "conllu" and parser.tagged_ and parser.own_tags_ is None:
        raise SettingsError(
            f"{model} was trained with tags and has no taggers, so it cannot parse bare text: "
            "give CoNLL-U with tags, or train it with --tags own"
        )
    reranker = None if rerank is None else Reranker.load(rerank)
    if k == 1 and reranker is None and not marginals:
        return parser.predict
    return partial(_several, parser, k, reranker, marginals)


def by_generative(
    parser: GenerativeParser, sentences: list[ConlluBlock], *, marginals: bool = False
) -> list[ConlluBlock]:
    """The sentences with heads, all relations ``_``; with ``marginals`` also ``Prob=``."""
    from eigentext.dependency.decoding.decoders import eisner
    from eigentext.dependency.graph.answer import with_probabilities
    from eigentext.dependency.sentence import TaggedSentence

    parses = []
    for sentence in sentences:
        arcs, _ = parser.marginals(TaggedSentence.from_conllu(sentence))
        heads = eisner(arcs)[0].tolist()
        tree = sentence.with_columns(head=heads, deprel=["_"] * len(heads))
        if marginals:
            tree = with_probabilities(
                tree, [float(arcs[h, d]) for d, h in enumerate(heads, start=1)]
            )
        parses.append(tree)
    return parses


def _parsed(predict: Predict, chunks: list[list[ConlluBlock]]) -> list[list[ConlluBlock]]:
    """What a process does with its share of the work."""
    from eigentext.dependency.long_sentences import parsed_in_pieces

    return [list(parsed_in_pieces(chunk, predict)) for chunk in chunks]


def _read(
    files: list[str], from_: str, text: RawText, log: SkipLog | None
) -> Iterator[ConlluBlock]:
    """Sentences of CoNLL-U, or such made from bare tokens; an empty line is none."""
    from eigentext.language.formats.conllu import make_sentence, read_sentences

    if from_ == "conllu":
        for source in files:
            try:
                yield from read_sentences(source, on_error=log)
            except DataError as error:
                if "found 1 column " not in error.why:
                    raise
                why = f"{error.why} (text is parsed with --from tokens or --from raw)"
                raise DataError(error.path, error.line, why) from error
        return
    plain = TextInput(
        raw=from_ == "raw", tokeniser=text.tokeniser, newlines=text.newlines, field=text.field
    )
    for tokens in plain.typed(files, log):
        if tokens:  # as typed: the parser itself knows quotes by their other names
            yield make_sentence([token.typed for token in tokens])


def _several(
    parser: DependencyParser,
    k: int,
    reranker: Reranker | None,
    marginals: bool,
    sentences: list[ConlluBlock],
) -> Iterator[ConlluBlock]:
    """The k best trees of each sentence, each a sentence; as the reranker, if any, puts them."""
    from eigentext.dependency.graph.answer import in_conllu

    for untagged in sentences:
        tagged = parser.tagged_conllu(untagged)
        sentence = untagged.with_columns(**parser.tags_for(untagged, tagged))
        if reranker is not None:
            listed = parser.kbest(tagged, k=k if k > 1 else reranker.settings_.kbest)
            # a sentence that was parsed in pieces has one tree
            parses = reranker.choose(tagged, listed)[:k] if len(listed) > 1 else listed
        else:
            parses = [parser.parse(tagged)] if k == 1 else parser.kbest(tagged, k=k)
        arcs_p = parser.marginals(tagged) if marginals else None
        for number, answer in enumerate(parses, start=1):
            yield in_conllu(sentence, answer, rank=number if k > 1 else None, marginals=arcs_p)
