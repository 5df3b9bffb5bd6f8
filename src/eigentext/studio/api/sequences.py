"""``POST /api/sequences/...``: the states of a model of sequences, and a text read by it.

The flow, in a worker: a name -> its model, loaded once -> for `states` the library's
`inspection`, for `text` tokens -> states, posteriors and surprisals -> JSON.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import DataError, SettingsError
from eigentext.sequences.inspection import graph_of, graph_of_tags, perplexity, states_of, tags_of
from eigentext.studio.api.schemas_sequences import (
    MOST_WORDS,
    ReadSequence,
    ReadToken,
    SequenceState,
    SequencesTextAnswer,
    StatesAnswer,
)
from eigentext.studio.service.limits import TooMuchError, tokens_of_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import BaseModel

    from eigentext.sequences import HMM, BlockedHMM, LatentTagger, SpectralHMM
    from eigentext.sequences.inspection import StateView
    from eigentext.studio.api.schemas_sequences import SequencesTextRequest, StatesRequest
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings


class SequencesService:
    """The models of sequences of a service."""

    def __init__(self, served: Served) -> None:
        self._served = served
        models = {name: served.get("hmm", name) for name in served.names("hmm")}
        # a large vocabulary takes seconds, so this is done before anybody asks
        self._views = {
            name: _views(model)
            for name, model in models.items()
            if model.KIND not in ("spectral-hmm", "blocked-hmm")
        }
        self._drawings = {name: _drawing(models[name]) for name in self._views}

    @property
    def jobs(self) -> dict[str, Callable[..., BaseModel]]:
        """The jobs by name."""
        return {"sequences/states": self.states, "sequences/text": self.text}

    def states(self, request: StatesRequest, limits: ServiceSettings) -> StatesAnswer:
        """What is behind the model."""
        name = self._served.chosen("hmm", request.model)
        model = self._served.get("hmm", name)
        if model.KIND == "spectral-hmm":
            values = model.singular_values_.tolist()
            return StatesAnswer(
                model=name,
                of=model.KIND,
                states=[],
                n_states=model.operators_.k,
                n_symbols=len(model.symbols_),
                left_out=0,
                estimator=model.settings_.estimator,
                singular_values=values,
            )
        if model.KIND == "blocked-hmm":
            n_states = model.parameters_.n_states
            return StatesAnswer(
                model=name,
                of=model.KIND,
                states=[],
                n_states=n_states,
                n_symbols=len(model.symbols_),
                left_out=n_states,
            )
        views, top = self._views[name], request.top
        shown = [
            view._replace(words=view.words[:top], after=view.after[:top])
            for view in views[: limits.max_states]
        ]
        return StatesAnswer(
            model=name,
            of=model.KIND,
            states=[
                SequenceState(name=_name(model, view.state), **view._asdict()) for view in shown
            ],
            n_states=len(views),
            n_symbols=len(model.words_.words if _tags(model) else model.symbols_),
            left_out=len(views) - len(shown),
            svg=self._drawings[name] if request.draw else None,
        )

    def text(self, request: SequencesTextRequest, limits: ServiceSettings) -> SequencesTextAnswer:
        """A text, token by token."""
        name = self._served.chosen("hmm", request.model)
        model = self._served.get("hmm", name)
        typed, sentences = _sentences(request, limits)
        read = _read_tags if _tags(model) else _read_symbols
        read_sentences, negative = read(model, sentences, typed, request)
        n_tokens = sum(map(len, sentences))
        # an impossible sentence makes the text impossible; one of no tokens is certain
        total: float | None = 0.0
        for each in read_sentences:
            total = None if total is None or each.log_prob is None else total + each.log_prob
        states = {
            state for one in read_sentences for token in one.tokens for state, _ in token.likely
        }
        states |= {t.state for one in read_sentences for t in one.tokens if t.state is not None}
        return SequencesTextAnswer(
            model=name,
            of=model.KIND,
            sentences=read_sentences,
            names=self._names(name, model, states),
            n_tokens=n_tokens,
            log_prob=total,
            perplexity=None if total is None else perplexity(total, n_tokens),
            negative_rate=negative,
        )

    def _names(self, name: str, model: Any, states: set[int]) -> dict[int, str]:
        """States by their likeliest words, as the graph has them; tags by themselves.

        A state of a block is called by the block's most frequent word and its number there.
        """
        if not states:
            return {}
        if _tags(model):
            return {state: model.tags_[state] for state in sorted(states)}
        if model.KIND == "blocked-hmm":
            return {state: _sense(model, state) for state in sorted(states)}
        views = {view.state: view for view in self._views[name]}
        return {
            state: " ".join(word for word, _ in views[state].words[:2]) for state in sorted(states)
        }


def _tags(model: Any) -> bool:
    return bool(model.KIND == "latent-tagger")


def _name(model: Any, state: int) -> str:
    return str(model.tags_[state]) if _tags(model) else str(state)


def _sense(model: BlockedHMM, state: int) -> str:
    blocks = model.parameters_.blocks
    block = int(np.searchsorted(blocks.first, state, side="right")) - 1
    word = int(np.flatnonzero(blocks.of_word == block)[0])  # symbols are in order of frequency
    return f"{model.symbols_.names[word]} {state - int(blocks.first[block]) + 1}"


def _views(model: Any) -> list[StateView]:
    if _tags(model):
        return tags_of(model, top=MOST_WORDS)
    return states_of(model.parameters_, model.symbols_, top=MOST_WORDS)


def _drawing(model: Any) -> str:
    if _tags(model):
        return graph_of_tags(model, title=f"{len(model.tags_)} tags")
    title = f"{model.parameters_.n_states} states"
    return graph_of(model.parameters_, model.symbols_, title=title)


def _sentences(
    request: SequencesTextRequest, limits: ServiceSettings
) -> tuple[list[list[str]], list[list[str]]]:
    """Tokens as they were typed, and as the model goes by them."""
    tokenised = tokens_of_text(request, limits)
    if tokenised is None:
        typed = sentences = [list(tokens) for tokens in request.sentences or ()]
        for number, tokens in enumerate(sentences, start=1):
            if any(not token.strip() for token in tokens):
                raise DataError("input", number, f"sentence {number} has an empty token")
    else:
        text = request.text or ""
        typed = [[text[token.start : token.end] for token in tokens] for tokens in tokenised]
        sentences = [[token.form for token in tokens] for tokens in tokenised]
    n_words, most = sum(map(len, sentences)), limits.max_sequence_words
    if n_words > most:
        raise TooMuchError(f"the text has {n_words:,} words; at most {most:,} are read at once")
    return typed, sentences


def _read_symbols(
    model: HMM | BlockedHMM | SpectralHMM,
    sentences: list[list[str]],
    typed: list[list[str]],
    request: SequencesTextRequest,
) -> tuple[list[ReadSequence], float | None]:
    """By a model of text without tags: surprisals, and states where it has any."""
    from eigentext.sequences import SpectralHMM

    surprisals = [values.tolist() for values in model.surprisals(sentences)]
    negative = getattr(model, "negative_rate_", None)
    states: list[Any] = [None] * len(sentences)
    posteriors: list[Any] = [None] * len(sentences)
    if not isinstance(model, SpectralHMM):
        states = model.predict(sentences, method=request.method)
        posteriors = model.predict_proba(sentences)
    names = model.symbols_.decode(model.symbols_.encode(sentences))
    sequences = []
    for at, tokens in enumerate(sentences):
        read = [
            ReadToken(
                text=typed[at][i],
                symbol=names[at][i],
                known=names[at][i] == token,
                surprisal=_finite(surprisals[at][i]),
                **_state(states[at], posteriors[at], i, request.top),
            )
            for i, token in enumerate(tokens)
        ]
        sequences.append(_sequence(read, 0.0 - sum(surprisals[at])))
    return sequences, negative if any(sentences) else None


def _read_tags(
    model: LatentTagger,
    sentences: list[list[str]],
    typed: list[list[str]],
    request: SequencesTextRequest,
) -> tuple[list[ReadSequence], None]:
    """By a latent tagger: its tags are the states, and words have no surprisal of their own."""
    if request.method != "viterbi":
        raise SettingsError("method is for hidden Markov models: a latent tagger has its own")
    number = {tag: at for at, tag in enumerate(model.tags_)}
    sequences = []
    for tokens, as_typed in zip(sentences, typed, strict=True):
        answer = model.analyse(tokens)
        tags = [number[tag] for tag in answer.tags]
        read = [
            ReadToken(
                text=as_typed[i],
                symbol=token,
                known=model.words_.knows(token),
                surprisal=None,
                **_state(tags, answer.marginals, i, request.top),
            )
            for i, token in enumerate(tokens)
        ]
        sequences.append(_sequence(read, answer.log_prob))
    return sequences, None


def _state(states: Sequence[int] | None, posteriors: Any, at: int, top: int) -> dict[str, Any]:
    """The state of a token, its posterior, and the likeliest ones; of operators nothing.

    The posteriors of a token are those of all states, or of some together with their numbers.
    """
    if states is None or posteriors is None:
        return {"state": None, "p": None, "likely": []}
    row_of = posteriors[at]
    numbers, row = row_of if isinstance(row_of, tuple) else (range(len(row_of)), row_of)
    order = (-row).argsort(kind="stable")[:top].tolist()
    likely = [(int(numbers[i]), round(float(row[i]), 6)) for i in order if row[i] >= 1e-6]
    state = int(states[at])
    return {"state": state, "p": round(float(row[state - numbers[0]]), 6), "likely": likely}


def _sequence(tokens: list[ReadToken], log_prob: float) -> ReadSequence:
    return ReadSequence(
        tokens=tokens,
        log_prob=_finite(log_prob),
        perplexity=perplexity(log_prob, len(tokens)),
        impossible=not isfinite(log_prob),
    )


def _finite(value: float) -> float | None:
    """JSON has no infinity."""
    return float(value) if isfinite(value) else None
