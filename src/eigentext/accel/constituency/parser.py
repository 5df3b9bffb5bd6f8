"""Batches of sentences from words to trees, on a graphics card, the longest sentences first.

What is rare is left to the processor: sentences of one word, those too long for one chart, and
those for which pruning must be loosened, or to whose trees the model gives no weight.  Posteriors
differ from the processor's by rounding in single precision (1e-5 and less), so trees differ where
two are equally good.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from eigentext.accel.constituency.engine import (
    Card,
    CardJob,
    EmissionTable,
    fields,
    grammar_arrays,
    sentence_arrays,
)
from eigentext.accel.devices import why_no_cupy
from eigentext.base.cores import DEVICES
from eigentext.constituency.answer import Parse, word_emissions
from eigentext.constituency.chart.decode import LIKELY, Skeleton
from eigentext.constituency.scoring import plain_log_p, words_log_p
from eigentext.constituency.transform import restore, user_labels, with_wrapper
from eigentext.errors import SettingsError
from eigentext.language.trees.constituent import Tree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eigentext.base.cores import Device
    from eigentext.constituency.grammar import Grammar
    from eigentext.constituency.model import LPCFG
    from eigentext.constituency.settings import Decoder

    _Nodes = tuple[Sequence[int], Sequence[int]]  # labels and rules in preorder

_WINDOW = 2048  # sentences that are sorted by length, and parsed together if there is room
_MOST_ENTRIES = 1 << 24  # of the cells of a batch, some 60 bytes each
_PER_SPAN = 24  # room for so many entries a span; sentences that need more go to the processor
_WARPS = {"brackets": 4, "coarse": 8, "count_states": 4, "fine": 8, "decode": 2, "tree_score": 1}
_MOST_SHARED = 48 << 10  # bytes a block may have on any card
_BY_GAIN = {"max-constituents": 1, "max-rule-product": 0, "max-recall": 2}
_BY_RULES = {"max-constituents": LIKELY, "max-rule-product": 1.0, "max-recall": 0.0}
_NOTHING = -1e299  # logs below are of 0
# arrays of the job with a number for each span, entry of a cell, and application
_OF_SPANS = """bracket_score bracket_inside bracket_marginal weight closed cell_begin cell_end
    scale app_count state_count fine_scale"""
_OF_ENTRIES = "label value out_left out_right entry_used entry_states entry_post gain best choice"
_OF_APPLICATIONS = "app_rule app_split app_parent app_left app_right app_coarse app_post"


def why_not_card(
    parser: LPCFG, device: Device, decoder: Decoder, kbest: int = 1, marginals: bool = False
) -> str | None:
    """Why a request is for the processor; None where it is for the card.

    Who asks for ``cuda`` has it or a SettingsError.
    """
    if device not in DEVICES:
        raise SettingsError(f"device must be one of {', '.join(DEVICES)}, not {device!r}")
    if device == "cpu":
        return "device is cpu"
    why = why_no_cupy()
    if why is None and (what := _left_to_processor(parser, decoder, kbest, marginals)):
        why = f"{what} is for the processor (device cpu)"
    if why is not None and device == "cuda":
        raise SettingsError(f"device cuda: {why}")
    return why


def _left_to_processor(parser: LPCFG, decoder: Decoder, kbest: int, marginals: bool) -> str | None:
    """What of a request only the processor does; None where the card can do it all."""
    if len(parser.grammar_.params) > 1:
        return "a product of several models"
    if decoder not in _BY_GAIN:
        return f"the decoder {decoder}"
    if parser.reranker_ is not None and decoder == "max-rule-product":
        return "reranking"
    if kbest > 1 or marginals:
        return "more than the best tree"
    if not len(parser.grammar_.coarse.by_left.pair):
        return f"a grammar of {len(parser.grammar_.labels):,} labels"
    if int(parser.grammar_.params[0].m.max()) > 64:
        return "more than 64 states"
    return None


class CardParser:
    """A fitted parser whose grammar is on a card."""

    def __init__(self, parser: LPCFG, engine: Card | None = None) -> None:
        self.parser = parser
        self.grammar: Grammar = parser.grammar_
        self.engine = Card() if engine is None else engine
        self.table = EmissionTable(self.grammar)
        self._fixed = self._there(grammar_arrays(self.grammar))
        self._chains = [user_labels(label) for label in self.grammar.labels]

    def parse_many(
        self, sentences: Iterable[Sequence[str]], decoder: Decoder
    ) -> Iterator[Parse | None]:
        """The best tree of each sentence, in their order; None for one without tokens."""
        source = iter(sentences)
        for window in iter(lambda: list(islice(source, _WINDOW)), []):
            yield from self.parse_window(window, decoder)

    def parse_window(
        self, sentences: Sequence[Sequence[str]], decoder: Decoder
    ) -> list[Parse | None]:
        """The same for sentences that fit into memory."""
        answers: list[Parse | None] = [None] * len(sentences)
        for_card = [b for b, s in enumerate(sentences) if 1 < len(s) <= self.parser.longest]
        for_card.sort(key=lambda b: (-len(sentences[b]), b))
        at = 0
        while at < len(for_card):
            batch = [for_card[at]]
            room = self._room(len(sentences[batch[0]]))
            for b in for_card[at + 1 :]:
                room += self._room(len(sentences[b]))
                if room > _MOST_ENTRIES:
                    break
                batch.append(b)
            at += len(batch)
            chosen = [sentences[b] for b in batch]
            words = [self.grammar.forms(sentence) for sentence in chosen]
            parses = self.answers(self.job(words, decoder), words, chosen)
            for b, answer in zip(batch, parses, strict=True):
                answers[b] = answer
        for b, tokens in enumerate(sentences):
            if answers[b] is None and tokens:
                answers[b] = self.parser.parse(tokens, decoder=decoder)
        return answers

    def _room(self, n: int) -> int:
        """Entries that the cells of a sentence of n words may have."""
        return _PER_SPAN * n * (n + 1) // 2 + 4 * len(self.grammar.labels)

    def answers(
        self, job: CardJob, words: Sequence[Sequence[str]], sentences: Sequence[Sequence[str]]
    ) -> list[Parse | None]:
        """Parses of the sentences of a job; None where the card leaves one to the processor."""
        names = ("node_label", "node_rule", "status", "score", "log_p")
        label, rule, *of_sentence = (self.engine.get(job[name]).tolist() for name in names)
        answers: list[Parse | None] = []
        node = 0  # nodes in preorder, 2 n - 1 of a sentence of n words
        pairs = zip(words, sentences, *of_sentence, strict=True)
        for forms, tokens, status, score, log_p in pairs:
            of_tree = slice(node, node + 2 * len(tokens) - 1)
            nodes, node = (label[of_tree], rule[of_tree]), of_tree.stop
            if status:
                answers.append(None)
                continue
            tree = self._tree(*nodes, tokens)
            answers.append(self._answer(forms, tree, nodes, score, log_p))
        return answers

    def _answer(
        self, words: Sequence[str], tree: Tree, nodes: _Nodes, score: float, log_p: float
    ) -> Parse:
        knows = self.grammar.lexicon.knows
        flags = set() if all(map(knows, words)) else {"unknown"}
        if log_p <= _NOTHING:
            flags.add("negative")
            emissions = word_emissions(self.grammar.params, self.grammar.labels, words, None)
            log_p = plain_log_p(self.grammar, Skeleton.of(*nodes), emissions[0])
        log_prob = log_p + words_log_p(words, self.grammar)
        return Parse(tree, score, log_prob, flags=frozenset(flags))

    def _tree(self, label: Sequence[int], rule: Sequence[int], tokens: Sequence[str]) -> Tree:
        """The user's tree of nodes in preorder."""
        # Chains are written out and nodes of binarisation left out in one go, from the last node
        # to the first, so that sizes are known when they are needed.
        chains, wrapper = self._chains, self.grammar.wrapper
        names: list[str] = []
        sizes: list[int] = []
        finished: list[int] = []  # sizes of subtrees to the right, nearest last
        word = len(tokens)
        for a, r in zip(reversed(label), reversed(rule), strict=True):
            if r < 0:
                word -= 1
                names.append(tokens[word])
                sizes.append(1)
                size = 1
            else:
                size = finished.pop() + finished.pop()
            for name in reversed(chains[a]):
                size += 1
                names.append(name)
                sizes.append(size)
            finished.append(size)
        if not chains[label[0]] or any(
            r < 0 and not chains[a] for a, r in zip(label, rule, strict=True)
        ):
            # a node of binarisation on top or over a word cannot be left out
            return restore(Skeleton.of(label, rule).tree(self.grammar.labels, tokens), wrapper)
        return with_wrapper(Tree.unchecked(names[::-1], sizes[::-1]), wrapper)

    # -- kernels -------------------------------------------------------------------------------

    def _there(self, values: dict[str, Any]) -> dict[str, Any]:
        """Arrays in their types, where the kernels run; numbers as they are."""
        put = self.engine.put
        return {
            name: put(np.ascontiguousarray(value, fields()[name][0]))
            if fields()[name][1]
            else value
            for name, value in values.items()
        }

    def job(self, words: Sequence[Sequence[str]], decoder: Decoder) -> CardJob:
        """Run all kernels on sentences of treebank forms; the job has all that they found."""
        parser, engine = self.parser, self.engine
        arrays = sentence_arrays(self.table, words, parser.beam)
        room = [self._room(len(sentence)) for sentence in words]
        first_entry = np.concatenate([[0], np.cumsum(room)])
        job = CardJob(
            **self._fixed,
            **self._there({**arrays, "first_entry": first_entry, "next_entry": first_entry[:-1]}),
            bracket_weight=parser.bracket_weight,
            bracket_threshold=parser.bracket_threshold,
            threshold=parser.threshold,
            by_gain=_BY_GAIN[decoder],
            by_rules=_BY_RULES[decoder],
        )
        n_words, n_spans = int(arrays["first_word"][-1]), int(arrays["first_span"][-1])
        n_entries, B = int(first_entry[-1]), len(words)
        n_nodes, most = 2 * n_words - B, int(job["most_states"])
        self._room_for(job, n_spans, _OF_SPANS)
        self._room_for(job, n_entries, _OF_ENTRIES)
        self._room_for(job, B, "negative z status score log_p")
        self._room_for(job, n_words + B, "stack")
        self._room_for(job, n_nodes, "node_label node_rule")
        self._room_for(job, n_nodes * most, "node_states")
        longest = max(map(len, words))
        dense = 8 * len(self.grammar.labels)  # bytes that a warp of the coarse pass needs
        warps = max(1, min(_WARPS["coarse"], _MOST_SHARED // dense))
        self._launch("brackets", B, job, 8 * (longest + 1))
        self._launch("coarse", B, job, dense * warps, warps)
        app_ptr, n_apps = engine.offsets(job["app_count"])
        job.add(app_ptr=app_ptr)
        self._room_for(job, max(n_apps, 1), _OF_APPLICATIONS)
        self._launch("survivors", B, job, dense * warps, warps)
        self._launch("count_states", B, job, 0)
        state_ptr, n_states = engine.offsets(job["state_count"])
        job.add(state_ptr=state_ptr)
        self._room_for(job, max(n_states, 1), "inside outside_left outside_right")
        scratch = 4 * most * (most + 7)  # bytes that a warp of the fine pass needs
        warps = max(1, min(_WARPS["fine"], _MOST_SHARED // scratch))
        self._launch("fine", B, job, scratch * warps, warps)
        self._launch("decode", B, job, 0)
        self._launch("tree_score", B, job, 8 * most * (most + 7))
        return job

    def _launch(
        self, kernel: str, n_blocks: int, job: CardJob, shared: int, warps: int | None = None
    ) -> None:
        self.engine.launch(kernel, n_blocks, job, warps=warps or _WARPS[kernel], shared=shared)

    def _room_for(self, job: CardJob, n: int, names: str) -> None:
        for name in names.split():
            job.add(**{name: self.engine.zeros(n, fields()[name][0])})
