"""``eigentext hmm``: hidden Markov models of sequences, and latent taggers."""

from __future__ import annotations

from collections import deque
from functools import partial
from json import dumps
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from eigentext.base.files.opening import SkipLog, expand
from eigentext.base.parallel import in_order
from eigentext.cli import hmm_eval, options
from eigentext.cli.command import SettingFlags, argument, flag, group, with_flags
from eigentext.cli.inputs import TaggedInput, TextInput, kind_of_model, load_model
from eigentext.cli.verbs import Applying, Training, TrainingOnDevice, Workers
from eigentext.errors import DataError, RankError, SettingsError
from eigentext.sequences.settings import (
    BlockedHMMSettings,
    HMMSettings,
    LatentTaggerSettings,
    SpectralHMMSettings,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.sequences import HMM, BlockedHMM
    from eigentext.sequences.tagger.model import LatentTagger, TagAnswer
    from eigentext.tagging.sequence.reading import TagItem

_CHUNK = 32  # sentences tagged at a time


@with_flags()
def apply(
    model: Annotated[
        str, typer.Argument(help="A model of `hmm train`, train-blocked or train-tagger.")
    ],
    files: list[str] | None = argument("Sentences; the tags in them are not looked at."),
    *,
    run: Applying,
    workers: Workers,
    tagged: TaggedInput,
    kbest: int = flag("How many answers, with shares (JSON Lines).", 1, min=1),
    marginals: bool = flag("The share of every tag (JSON Lines).", False),
    method: Literal["viterbi", "posterior"] | None = flag(
        "Of hidden states: the best path, or the best of each token."
    ),
    format_: options.Format = "native",
    jobs: options.Jobs = 1,
) -> None:
    """Tag sentences: the input with its tags in place, or JSON Lines.

    Text without columns (--from tokens) comes out as token TAB tag; an empty line of it is left
    out there, and kept in JSON Lines.  With a hidden Markov model of text without tags the tags
    are numbers of hidden states, on the best path or, by --method, the best of each token.

    Example:
        $ eigentext hmm train-tagger sample/entities.bio -o latent.model --n-states 4
        $ eigentext hmm apply latent.model sample/text.txt -o tagged.txt
        $ eigentext hmm apply latent.model sample/text.txt --kbest 3 --marginals -o answers.jsonl
        $ eigentext hmm train-blocked sample/text.txt -o blocked.hmm --n-groups 5
        $ eigentext hmm apply blocked.hmm sample/text.txt --method posterior -o states.txt
    """
    from eigentext.features.symbols import KnownWords, Share
    from eigentext.sequences.tagger.model import LatentTagger

    as_json = format_ == "jsonl" or kbest > 1 or marginals
    tagger: Any
    work: Any
    vocabulary: KnownWords | None = None  # states without tags have classes for rare words
    kind = kind_of_model(model, "latent-tagger", "hmm", "blocked-hmm")  # operators have no states
    if kind == "latent-tagger":
        if method is not None:
            raise SettingsError("--method is for hidden states, not for a latent tagger")
        tagger = LatentTagger.load(model)
        work = partial(_answers, as_json=as_json, kbest=kbest, marginals=marginals)
        vocabulary = KnownWords(tagger.words_.word_counts)
    else:
        if kbest > 1:
            raise SettingsError("--kbest is for latent taggers, not for models without tags")
        tagger = load_model(model, kind)
        work = partial(_states, as_json=as_json, method=method or "viterbi", marginals=marginals)
    counts, share = {"sentences": 0, "tokens": 0, "fallbacks": 0}, Share()
    negative = 0.0

    def lines(log: SkipLog | None, progress: Progress) -> Iterator[str]:
        nonlocal negative, share
        waiting: deque[TagItem] = deque()  # read, and not written yet

        def sentences() -> Iterator[Sequence[str]]:
            for item in tagged.items(expand(files or ["-"]), log):
                waiting.append(item)
                yield list(item.tokens)

        answers = in_order(work, sentences(), state=tagger, jobs=jobs, chunk=_CHUNK)
        for tokens, answer in answers:
            item = waiting.popleft()
            counts["sentences"] += 1
            counts["tokens"] += len(tokens)
            share = share if vocabulary is None else share.plus(vocabulary.share(tokens))
            counts["fallbacks"] += answer.fallback
            negative += answer.negative * len(tokens)
            progress(counts["sentences"], 0, "tagging")
            if as_json:
                yield answer.record
            elif tokens:  # columns have no way to say that a sentence is empty
                yield item.with_tags(answer.tags)

    with run.reading("sentences") as (log, progress), workers.at_work(jobs):
        run.write(lines(log, progress), blocks=not as_json)
    run.remark_on_unknown(share, vocabulary)
    if run.json:
        rates = run.clock.figures(tokens=counts["tokens"])
        figures: Json = {**counts, "skipped": run.skipped, **rates}
        if as_json and getattr(tagger, "estimator", "") in ("moments", "mixed"):
            figures["negative_rate"] = round(negative / max(counts["tokens"], 1), 4)
        run.tell(figures)


class _Answer(NamedTuple):
    """The tags of a sentence, or all that is said of it in JSON; and what is told of all."""

    tags: list[str]
    record: str = ""
    fallback: bool = False
    negative: float = 0.0


def _answers(
    tagger: LatentTagger, texts: list[Sequence[str]], *, as_json: bool, kbest: int, marginals: bool
) -> list[_Answer]:
    """What a process does with its share of the work."""
    if not as_json:
        return [_Answer(tagger.tag(tokens) if tokens else []) for tokens in texts]
    answers = []
    for tokens in texts:
        tagging = tagger.analyse(tokens, kbest=kbest)
        record = _as_json(tokens, tagging, tagger, kbest=kbest, marginals=marginals)
        text = dumps(record, ensure_ascii=False)
        answers.append(_Answer(tagging.tags, text, tagging.fallback, tagging.negative))
    return answers


def _states(
    model: HMM | BlockedHMM,
    sentences: list[Sequence[str]],
    *,
    as_json: bool,
    method: Literal["viterbi", "posterior"],
    marginals: bool,
) -> list[_Answer]:
    """The hidden states of sentences, as tags: their numbers."""
    paths = [
        [str(state) for state in path.tolist()] for path in model.predict(sentences, method=method)
    ]
    if not as_json:
        return [_Answer(path) for path in paths]
    shares = model.predict_proba(sentences) if marginals else [None] * len(paths)
    answers = []
    for tokens, path, log_prob, share in zip(
        sentences, paths, model.log_prob(sentences).tolist(), shares, strict=True
    ):
        record: Json = {"tokens": list(tokens), "tags": path}
        record["log_prob"] = log_prob if log_prob > float("-inf") else None
        if share is not None:
            record["marginals"] = _shares_of_states(share)
        answers.append(_Answer(path, dumps(record, ensure_ascii=False)))
    return answers


def _shares_of_states(tokens: Iterable[Any]) -> list[dict[str, float]]:
    """The states of each token with their shares: all, or those that a model with blocks names."""
    shares = []
    for token in tokens:
        states, row = token if isinstance(token, tuple) else (range(len(token)), token)
        shares.append(_likely([str(int(state)) for state in states], row.tolist()))
    return shares


def _likely(names: Sequence[str], row: list[float]) -> dict[str, float]:
    """The tags with a share worth telling, the largest first."""
    ordered = sorted(zip(names, row, strict=True), key=lambda pair: -pair[1])
    return {tag: round(share, 6) for tag, share in ordered if share >= 1e-6}


def _as_json(
    tokens: Sequence[str], answer: TagAnswer, tagger: LatentTagger, *, kbest: int, marginals: bool
) -> Json:
    record: Json = {"tokens": list(tokens), "tags": answer.tags}
    record["log_prob"] = answer.log_prob if answer.log_prob > float("-inf") else None
    if answer.fallback:
        record["fallback"] = True
    if tagger.estimator in ("moments", "mixed"):
        record["negative_rate"] = answer.negative
    if marginals:
        record["marginals"] = [_likely(tagger.tags_, row) for row in answer.marginals.tolist()]
    if kbest > 1:
        record["kbest"] = [
            {**way._asdict(), "log_prob": way.log_prob if way.log_prob > float("-inf") else None}
            for way in answer.kbest
        ]
    return record


@with_flags(HMMSettings)
def train(
    files: options.Sources, run: TrainingOnDevice, settings: SettingFlags, text: TextInput
) -> None:
    """Learn a hidden Markov model of text, one tokenised sentence a line.

    EM gives valid parameters, and so does --estimator anchor, by words that belong to one state
    alone: its states are the nearest to parts of speech.  Empty lines are passed over.  With
    hundreds of states a card (--device) pays.

    Example:
        $ eigentext hmm train sample/text.txt -o text.hmm --n-states 5
        $ eigentext hmm train sample/text.txt -o em.hmm --start random --n-starts 3 --n-states 5
        $ eigentext hmm train sample/text.txt -o anchor.hmm --estimator anchor --n-states 5
        $ eigentext hmm train sample/text.txt -o tensor.hmm --start tensor --n-states 2
    """
    from eigentext.sequences import HMM

    model = HMM(**settings.of(HMMSettings))
    remedy = "--n-states" if model.estimator == "anchor" else "--n-states, or --start random"
    figures = _learn_text(model, files, run, text, remedy, "progress")
    figures["log_prob_per_token"] = model.spread_["best"]
    if model.n_starts > 1:
        figures["log_prob_of_starts"] = [round(start.final, 4) for start in model.starts_]
    run.save(model, expand(files), figures)


@with_flags(SpectralHMMSettings)
def train_spectral(
    files: options.Sources, run: TrainingOnDevice, settings: SettingFlags, text: TextInput
) -> None:
    """Learn operators of a hidden Markov model from moments alone, without iteration.

    Their values may be negative, which `hmm eval` counts.

    Example:
        $ eigentext hmm train-spectral sample/text.txt -o cca.hmm --n-states 5
    """
    from eigentext.sequences import SpectralHMM

    model = SpectralHMM(**settings.of(SpectralHMMSettings))
    figures = _learn_text(model, files, run, text, "--n-states")
    run.save(model, expand(files), figures)


@with_flags(BlockedHMMSettings)
def train_blocked(
    files: options.Sources,
    run: TrainingOnDevice,
    settings: SettingFlags,
    text: TextInput,
    memory: str | None = flag("What needs more, such as 2GB, is refused before EM."),
) -> None:
    """Learn a language model of thousands of states, a few for each word: it predicts text best.

    Example:
        $ eigentext hmm train-blocked sample/text.txt -o blocked.hmm --n-groups 5
    """
    from eigentext.sequences import BlockedHMM

    model = BlockedHMM(**settings.of(BlockedHMMSettings))
    remedy = "--n-groups or --n-blocks"
    figures = _learn_text(model, files, run, text, remedy, "progress", memory=memory)
    figures["n_states"] = model.parameters_.n_states
    if model.history_:
        figures["held_out_log_prob_per_token"] = model.history_[-1]
    run.save(model, expand(files), figures)


def _learn_text(
    model: Any,
    files: list[str],
    run: Training,
    text: TextInput,
    remedy: str,
    *feedback: str,
    **more: Any,
) -> Json:
    """Fit the model to numbered text; ``remedy``: what to lower where a text is too small."""
    from eigentext.sequences.observations import NumberedText, Symbols

    model.check()
    with run.reading("iterations") as (log, progress):
        numbered = NumberedText.of(text.sentences(files, log))
        lengths = numbered.encoded.lengths
        figures = {"sentences": int((lengths > 0).sum()), "tokens": int(lengths.sum())}
        if not figures["tokens"]:
            raise DataError(files[0], None, "no tokens, expected text")
        symbols = Symbols.chosen(numbered, model)
        data = numbered.as_symbols(symbols)
        del numbered  # as much memory again
        try:
            model.fit_encoded(data, symbols, **dict.fromkeys(feedback, progress), **more)
        except RankError as error:
            raise SettingsError(f"{error}: take fewer {remedy}") from error
    return figures | {"n_states": model.n_states, "symbols": len(model.symbols_)}


@with_flags(LatentTaggerSettings)
def train_tagger(
    files: options.Sources, run: TrainingOnDevice, settings: SettingFlags, columns: TaggedInput
) -> None:
    """Learn a latent tagger from columns (token first, tag last) or CoNLL-U.

    Example:
        $ eigentext hmm train-tagger sample/entities.bio -o latent.model --n-states 4
        $ eigentext hmm apply latent.model sample/text.txt -o tagged.txt
    """
    from eigentext.sequences import LatentTagger

    tagger = LatentTagger(**settings.of(LatentTaggerSettings))
    tagger.check()
    with run.reading("nodes") as (log, progress):
        tokens, tags, _ = columns.tagged(expand(files), scheme="plain", on_error=log)
        tagger.fit(tokens, tags, progress=progress)
    figures: Json = {
        "sentences": sum(map(bool, tokens)),
        "tokens": sum(map(len, tokens)),
        "tags": len(tagger.tags_),
        "n_states": int(sum(chain.arrays.m.sum() for chain in tagger.chains_)),
        "words": len(tagger.words_.words),
    }
    if tagger.characters != "none":
        # of the automata of characters; power 0: held-out words gained nothing by them
        characters = tagger.words_.characters
        figures["characters_power"] = characters.power if characters else 0.0
        if characters is not None:
            figures["characters_states"] = characters.automata.figures()["most_states"]
    run.save(tagger, expand(files), figures)


app = group(
    train,
    train_spectral,
    train_blocked,
    train_tagger,
    apply,
    hmm_eval.score,
    hmm_eval.eval_,
    hmm_eval.inspect,
)
