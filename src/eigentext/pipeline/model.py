"""``Pipeline``: treebanks in, a pipeline out; then text in, a :class:`Doc` out."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from threading import RLock
from typing import TYPE_CHECKING, Any, Self

from eigentext.base.cores import using_cores
from eigentext.base.fields import Strings
from eigentext.base.model import Model
from eigentext.base.parallel import in_order
from eigentext.base.records import As, Each, Inner, learned
from eigentext.base.registry import wrong_kind
from eigentext.base.values import Flag, Named, Real
from eigentext.errors import SettingsError
from eigentext.evaluate.conll18 import MEASURES
from eigentext.language.sentence import Alternatives, Sentence
from eigentext.pipeline.annotate import (
    AnswerOptions,
    alternatives,
    arc_marginals,
    filled,
    listed_parses,
)
from eigentext.pipeline.drafts import checked_level, draft
from eigentext.pipeline.settings import TEXT_FEATURES, VALUES, PipelineSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from eigentext.base.files.opening import Source
    from eigentext.base.progress import Progress
    from eigentext.base.types import Json
    from eigentext.constituency import LPCFG
    from eigentext.dependency import DependencyParser, Parse, Reranker
    from eigentext.dependency.decoding.constraints import AnyArc
    from eigentext.features.symbols import KnownWords
    from eigentext.language.doc import Doc
    from eigentext.language.formats import conllu
    from eigentext.tagging.morphology import MorphTagger
    from eigentext.tagging.segmentation import Segmenter
    from eigentext.tagging.sequence import SequenceTagger

KIND_OF = {
    "segmenter": "segmenter",
    "morphology": "morph-tagger",
    "parser": "graph-parser",
    "reranker": "dependency-reranker",
    "const": "lpcfg",
    "ner": "tagger",
}
_MEASURED = ("las", "reranked_las", "uas", "reranked_uas")  # UAS: in older files
_CHOICES = Named(
    {
        "reranker": Named(
            {"kept": Flag(), **dict.fromkeys(_MEASURED, Real(0, 100, optional=True))},
            closed=True,
            optional=True,
        )
    },
    closed=True,
    optional=True,
)
_CHUNK = 32  # texts annotated at a time
_one_at_a_time = RLock()  # stages keep tables of words met, which threads must not fill together


def _stage(name: str) -> Inner:
    return Inner(KIND_OF[name], optional=True)


@dataclass(eq=False, repr=False)
class Pipeline(Model, PipelineSettings):
    """Segmentation, morphology and trees by models that were trained together.

    After ``fit``, ``segmenter_``, ``morphology_`` and ``parser_`` are the stages (None where one
    was left out), ``reranker_`` chooses among the parser's trees where there is one, ``const_``
    and ``ner_`` are what was given besides; ``counts_`` tells of the treebank, ``values_`` what
    its columns hold (of FEATS every feature with its value), ``choices_`` what was chosen on
    held-out sentences, with the figures, and ``dev_scores_`` has F1 of every CoNLL 2018 measure
    on the development treebank.
    """

    KIND = "pipeline"
    segmenter_: Segmenter | None = learned(_stage("segmenter"), "stage.segmenter")
    morphology_: MorphTagger | None = learned(_stage("morphology"), "stage.morphology")
    parser_: DependencyParser | None = learned(_stage("parser"), "stage.parser")
    reranker_: Reranker | None = learned(_stage("reranker"), "stage.reranker")
    const_: LPCFG | None = learned(_stage("const"), "stage.const")
    ner_: SequenceTagger | None = learned(_stage("ner"), "stage.ner")
    values_: dict[str, list[str]] = learned(
        Each(As(Strings("n_#", distinct=True), list, list), lambda values: VALUES, "{}")
    )
    counts_: Json = learned(Named({}))
    dev_scores_: Json = learned(Named({}))
    universal_: bool = learned(Flag())
    choices_: Json = learned(As(_CHOICES, lambda choices: choices or None, dict))

    def check(self) -> None:
        """Raise SettingsError for settings that no pipeline can have."""
        super().check()
        if self.rerank == "yes":
            for name in ("parser", "reranker"):
                if name in self.without:
                    why = f"rerank is 'yes' and the {name} is left out: expected one of them"
                    raise SettingsError(why)
        if self.analyzer is not None and "morphology" in self.without:
            raise SettingsError("an analyzer is for morphology, which is left out")
        if not self.text_features:
            raise SettingsError(f"text_features is empty, expected {' or '.join(TEXT_FEATURES)}")

    def fit(
        self,
        X: conllu.Treebank | Iterable[Source],
        y: None = None,
        *,
        dev: conllu.Treebank | Iterable[Source] | None = None,
        text: Source | Iterable[Source] | None = None,
        const: Model | Source | None = None,
        ner: Model | Source | None = None,
        models: Mapping[str, object] | None = None,
        work: Source | None = None,
        jobs: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train the stages on a treebank.

        Args:
            X: a CoNLL-U file or several, a Doc, or a list of sentences or Docs, with all columns
            y: nothing
            dev: the same, sentences that the pipeline is scored on at the end, from their raw text
            text: files of text without annotation: clusters and vectors of its words are
                features of every stage
            const: a constituency parser, or its file
            ner: a tagger of entities, or its file
            models: trained stages, or their files, in the place of new ones, by the name of the
                stage
            work: a folder for what is done; a run that was broken off goes on from there
            jobs: cores; the answer does not depend on it.  None: those in use here
                (:func:`eigentext.base.cores.using_cores`)
            progress: called as ``progress(done, total, stage)``
        """
        from eigentext.pipeline.training import train_stages

        self.check()
        stages = {**(models or {}), **({"const": const} if const is not None else {})}
        stages |= {"ner": ner} if ner is not None else {}
        with nullcontext() if jobs is None else using_cores(jobs):
            train_stages(self, X, dev=dev, text=text, at_hand=stages, work=work, progress=progress)
        return self

    def __call__(
        self,
        text: object,
        *,
        keep: str | None = None,
        top: int = 0,
        probabilities: bool = False,
        doc_id: str | None = None,
    ) -> Doc:
        """Annotate a text.

        ``keep`` says what stays as it is: None: raw text; ``sentences``: one a line; ``tokens``:
        text with one sentence a line and white space between tokens, lists of tokens, or CoNLL-U
        whose tokens stay; ``words``: CoNLL-U whose words stay; ``tags``: CoNLL-U whose UPOS,
        XPOS, FEATS and LEMMA stay as well.  CoNLL-U is a Doc or a list of sentences.

        ``top`` asks for so many readings of each word and trees of each sentence, and
        ``probabilities`` for those of the answers: see ``sentence.alternatives``.
        """
        return self._annotated(
            [(text, doc_id)], keep, AnswerOptions(keep == "tags", top, probabilities)
        )[0]

    def pipe(
        self,
        texts: Iterable[object],
        *,
        jobs: int = 1,
        keep: str | None = None,
        top: int = 0,
        probabilities: bool = False,
    ) -> Iterator[Doc]:
        """The Docs of many texts, in order; they do not depend on ``jobs``, the processes."""
        self.check_fitted()
        state = (self, checked_level(keep), AnswerOptions(keep == "tags", top, probabilities))
        for _, doc in in_order(_annotate_all, texts, state=state, jobs=jobs, chunk=_CHUNK):
            yield doc

    def kbest(self, text: str | Sequence[str] | Sentence, k: int = 5) -> Alternatives:
        """The k best readings of each word and trees of a sentence, with probabilities.

        ``text`` is one sentence: as it was typed, as a list of tokens, or a :class:`Sentence`.
        """
        self.check_fitted()
        if k < 1:
            raise SettingsError(f"k is {k}, expected a whole number of at least 1")
        sentence = text
        if not isinstance(sentence, Sentence):
            keep = "sentences" if isinstance(text, str) else "tokens"
            doc = self(text if isinstance(text, str) else [text], keep=keep)
            if len(doc.sentences) != 1:
                raise SettingsError(f"expected one sentence, found {len(doc.sentences)}")
            sentence = doc.sentences[0]
        with _one_at_a_time:
            return alternatives(self, sentence, AnswerOptions(top=k, probabilities=True))

    def parses(
        self,
        sentence: Sentence,
        k: int = 1,
        *,
        required_arcs: Iterable[AnyArc] = (),
        forbidden_arcs: Iterable[AnyArc] = (),
    ) -> list[Parse]:
        """At most k different trees of a sentence of a Doc, best first, under these demands.

        Words and tags are those of the sentence; arcs are as :meth:`DependencyParser.parse` takes
        them.  Without demands the first tree is the one that a call answers with.
        """
        self.check_fitted()
        _check_of_doc(sentence)
        if k < 1:
            raise SettingsError(f"k is {k}, expected a whole number of at least 1")
        arcs = {"required_arcs": list(required_arcs), "forbidden_arcs": list(forbidden_arcs)}
        with _one_at_a_time:
            return listed_parses(self, sentence, k, **arcs)

    def marginals(
        self,
        sentence: Sentence,
        *,
        required_arcs: Iterable[AnyArc] = (),
        forbidden_arcs: Iterable[AnyArc] = (),
    ) -> npt.NDArray[np.float64]:
        """(n + 1, n + 1) probability of each arc [head, word] of a sentence of a Doc."""
        self.check_fitted()
        _check_of_doc(sentence)
        arcs = {"required_arcs": list(required_arcs), "forbidden_arcs": list(forbidden_arcs)}
        with _one_at_a_time:
            return arc_marginals(self, sentence, **arcs)

    def _annotated(
        self, texts: Sequence[tuple[object, str | None]], keep: str | None, options: AnswerOptions
    ) -> list[Doc]:
        self.check_fitted()
        with _one_at_a_time:
            drafts = [draft(self.segmenter_, text, keep, doc_id) for text, doc_id in texts]
            return filled(self, drafts, options)

    def known_words(self) -> KnownWords | None:
        """The words that the tagger learned; None where there is no tagger."""
        self.check_fitted()
        return None if self.morphology_ is None else self.morphology_.lexicon_.known_words

    def _take(self, stages: Mapping[str, object]) -> None:
        """Have these models; a stage that is not named is left out."""
        for name in KIND_OF:
            setattr(self, f"{name}_", stages.get(name))

    def stages(self) -> dict[str, Any]:
        """The models there are, by the name of their stage."""
        self.check_fitted()
        stages = {name: getattr(self, f"{name}_") for name in KIND_OF}
        return {name: model for name, model in stages.items() if model is not None}

    def use(self, name: str, model: Any) -> None:
        """Put a trained model in the place of a stage; None: the pipeline goes without it."""
        self.check_fitted()
        if name not in KIND_OF:
            raise SettingsError(f"stage {name!r}, expected one of {', '.join(KIND_OF)}")
        if model is not None and KIND_OF[name] != model.KIND:
            raise wrong_kind(f"<{name}>", model.KIND, KIND_OF[name])
        setattr(self, f"{name}_", model)

    def _restore(self, content: Pipeline) -> None:
        scores = self.dev_scores_  # JSON keeps no order
        self.dev_scores_ = {name: scores[name] for name in MEASURES if name in scores}
        self.choices_ = self.choices_ or {}
        # the tagger knows it: a pipeline of the same settings can be trained
        self.analyzer = (self.morphology_ and self.morphology_.analyzer_name_) or None

    def _summary(self) -> str:
        return ", ".join(self.stages()) + f" of {self.counts_.get('words', 0):,} words"


def _annotate_all(
    state: tuple[Pipeline, str | None, AnswerOptions], texts: list[object]
) -> list[Doc]:
    """What a worker process does."""
    pipeline, keep, options = state
    return pipeline._annotated([(text, None) for text in texts], keep, options)


def _check_of_doc(sentence: object) -> None:
    """Refuse what is no sentence of a Doc."""
    if not isinstance(sentence, Sentence):
        raise SettingsError(
            f"expected a sentence of a Doc, such as pipeline(text).sentences[0]; found "
            f"{type(sentence).__name__}"
        )
