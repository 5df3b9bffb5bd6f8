"""``POST /api/sequences/...``: the states of a model of sequences, and a text read by it.

The flow, in a worker: a name -> its model, loaded once -> for `states` the library's
`inspection`, for `text` tokens -> states, posteriors and surprisals -> JSON.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.errors import SettingsError
from eigentext.sequences.inspection import graph_of, graph_of_tags, perplexity, states_of, tags_of
from eigentext.studio.api import schemas_words as wire
from eigentext.studio.service.limits import TooMuchError, as_typed, finite, tokens_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import BaseModel

    from eigentext.base.types import Json
    from eigentext.sequences import HMM, BlockedHMM, LatentTagger, SpectralHMM
    from eigentext.sequences.inspection import StateView
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

    def states(self, request: wire.StatesRequest, limits: ServiceSettings) -> wire.StatesAnswer:
        """What is behind the model."""
        name = self._served.chosen("hmm", request.model)
        model = self._served.get("hmm", name)
        if model.KIND == "spectral-hmm":
            return wire.StatesAnswer(
                model=name,
                of=model.KIND,
                states=[],
                n_states=model.operators_.k,
                n_symbols=len(model.symbols_),
                left_out=0,
                estimator=model.settings_.estimator,
                singular_values=model.singular_values_.tolist(),
            )
        views, top = self._views.get(name, []), request.top
        n_states = model.parameters_.n_states if model.KIND == "blocked-hmm" else len(views)
        shown = [
            view._replace(words=view.words[:top], after=view.after[:top])
            for view in views[: limits.max_states]
        ]
        return wire.StatesAnswer(
            model=name,
            of=model.KIND,
            states=[
                wire.SequenceState(name=_name(model, view.state), **view._asdict())
                for view in shown
            ],
            n_states=n_states,
            n_symbols=len(model.words_.words if _tags(model) else model.symbols_),
            left_out=n_states - len(shown),
            svg=self._drawings.get(name) if request.draw else None,
        )

    def text(
        self, request: wire.SequencesTextRequest, limits: ServiceSettings
    ) -> wire.SequencesTextAnswer:
        """A text, token by token."""
        name = self._served.chosen("hmm", request.model)
        model = self._served.get("hmm", name)
        tokens = tokens_of(request, limits)
        typed = [as_typed(request, sentence) for sentence in tokens]
        sentences = [[token.form for token in sentence] for sentence in tokens]
        n_tokens, most = sum(map(len, sentences)), limits.max_sequence_words
        if n_tokens > most:
            why = f"the text has {n_tokens:,} words; at most {most:,} are read at once"
            raise TooMuchError(why)
        read = _read_tags if _tags(model) else _read_symbols
        read_sentences, negative = read(model, sentences, typed, request)
        # an impossible sentence makes the text impossible; one of no tokens is certain
        total: float | None = 0.0
        for each in read_sentences:
            total = None if total is None or each.log_prob is None else total + each.log_prob
        states = {
            state
            for sentence in read_sentences
            for token in sentence.tokens
            for state, _ in token.likely
        }
        states |= {
            t.state for sentence in read_sentences for t in sentence.tokens if t.state is not None
        }
        return wire.SequencesTextAnswer(
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
        return tags_of(model, top=wire.MOST_WORDS)
    return states_of(model.parameters_, model.symbols_, top=wire.MOST_WORDS)


def _drawing(model: Any) -> str:
    if _tags(model):
        return graph_of_tags(model, title=f"{len(model.tags_)} tags")
    title = f"{model.parameters_.n_states} states"
    return graph_of(model.parameters_, model.symbols_, title=title)


def _read_symbols(
    model: HMM | BlockedHMM | SpectralHMM,
    sentences: list[list[str]],
    typed: list[list[str]],
    request: wire.SequencesTextRequest,
) -> tuple[list[wire.ReadSequence], float | None]:
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
            wire.ReadToken(
                text=typed[at][i],
                symbol=names[at][i],
                in_vocabulary=names[at][i] == token,
                surprisal=finite(surprisals[at][i]),
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
    request: wire.SequencesTextRequest,
) -> tuple[list[wire.ReadSequence], None]:
    """By a latent tagger: its tags are the states, and words have no surprisal of their own."""
    if request.method != "viterbi":
        raise SettingsError("method is for hidden Markov models: a latent tagger has its own")
    number = {tag: at for at, tag in enumerate(model.tags_)}
    sequences = []
    for tokens, words in zip(sentences, typed, strict=True):
        answer = model.analyse(tokens)
        tags = [number[tag] for tag in answer.tags]
        read = [
            wire.ReadToken(
                text=words[i],
                symbol=token,
                in_vocabulary=model.words_.knows(token),
                surprisal=None,
                **_state(tags, answer.marginals, i, request.top),
            )
            for i, token in enumerate(tokens)
        ]
        sequences.append(_sequence(read, answer.log_prob))
    return sequences, None


def _state(states: Sequence[int] | None, posteriors: Any, at: int, top: int) -> Json:
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


def _sequence(tokens: list[wire.ReadToken], log_prob: float) -> wire.ReadSequence:
    return wire.ReadSequence(
        tokens=tokens,
        log_prob=finite(log_prob),
        perplexity=perplexity(log_prob, len(tokens)),
        impossible=not isfinite(log_prob),
    )
