"""``DependencyParser``: learned from sentences with trees; words and tags in, trees out."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack

import numpy as np

from eigentext.base.cores import beside
from eigentext.base.model import Model
from eigentext.base.parallel import in_order
from eigentext.base.progress import one_at_a_time
from eigentext.base.tokens import checked_item, checked_sentences, each_sentence
from eigentext.base.values import Named, Text
from eigentext.dependency.decoding.constraints import Demands
from eigentext.dependency.graph.answer import Parse, with_heads
from eigentext.dependency.graph.encode import (
    TokenEncoder,
    chosen_features,
    fine_tag,
    usual_upos,
    with_upos,
)
from eigentext.dependency.graph.labels import (
    LabelModel,
    LabelSettings,
    label_templates,
    train_labels,
)
from eigentext.dependency.graph.projectivity import choose_projectivity
from eigentext.dependency.graph.storage import ArcParserFile
from eigentext.dependency.graph.tags import OwnTags, fitted_and_jackknifed
from eigentext.dependency.graph.templates import (
    arc_templates,
    fitting,
    grandparent_templates,
    sibling_templates,
)
from eigentext.dependency.graph.training import ArcModel, ArcSettings, train_arcs, train_coarse
from eigentext.dependency.long_sentences import check_length, joined, parsed_in_pieces, pieces_of
from eigentext.dependency.sentence import TagColumns, TaggedSentence
from eigentext.dependency.settings import DependencyParserSettings
from eigentext.errors import DataError, SettingsError
from eigentext.features.signatures import lowered
from eigentext.features.symbols import frequent_words
from eigentext.features.word_classes import clusters_of, vector_bits
from eigentext.language.formats.conllu import ConlluBlock, each_conllu
from eigentext.language.trees.dependency import DependencyTree

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from eigentext.base.progress import Progress
    from eigentext.base.types import Float64s, Int32s
    from eigentext.dependency.decoding.constraints import AnyArc
    from eigentext.dependency.decoding.search import Search
    from eigentext.dependency.graph.encode import ArcBatch
    from eigentext.language.formats.conllu import Treebank

__all__ = ["DependencyParser", "Parse"]

AnySentence: TypeAlias = "Sequence[str] | TaggedSentence"
_CHUNK = 256  # sentences parsed at a time


@dataclass(eq=False, repr=False)
class DependencyParser(Model, DependencyParserSettings):
    """Graph-based dependency parser, first or second order, with hashed features.

    After ``fit``: ``projectivity_`` (may arcs cross, and why), ``arcs_`` and ``relations_`` (what
    was learned of both), ``encoder_``, ``own_tags_`` (its taggers), ``dev_scores_`` (UAS on the
    development trees after each pass).

    >>> from eigentext.language.formats.conllu import make_sentence
    >>> trees = [make_sentence(["a", "dog", "barks"], upos=["DET", "NOUN", "VERB"],
    ...                        head=[2, 3, 0], deprel=["det", "nsubj", "root"])] * 3
    >>> parser = DependencyParser(epochs=2, bits=16).fit(trees)
    >>> answer = parser.parse(["the", "cat", "sleeps"], upos=["DET", "NOUN", "VERB"])
    >>> answer.tree.heads.tolist(), answer.tree.relations
    ([2, 3, 0], ('det', 'nsubj', 'root'))
    """

    KIND = "graph-parser"
    VERSION = 2
    CONTENT = ArcParserFile
    SIZED_BY = Named({"tags": Text(("gold", "own"))})

    # ------------------------------------------------------------ training

    def fit(
        self, sentences: Treebank, dev: Treebank | None = None, *, progress: Progress | None = None
    ) -> DependencyParser:
        """Train on sentences with heads: a list, a file, or Docs.

        ``dev`` chooses the number of passes by UAS.
        """
        self.check()
        progress = one_at_a_time(progress)  # relations are learned beside arcs
        read = [with_heads(sentence) for sentence in each_conllu(sentences)]
        if not read:
            raise DataError("<training sentences>", None, "no sentences, expected some with heads")
        tagged = [TaggedSentence.from_conllu(sentence) for sentence in read]
        heads = [sentence.heads or () for sentence in read]
        self.clusters_ = clusters_of(self.clusters)
        self.near_ = vector_bits(self.vectors)
        self.own_tags_: OwnTags | None = None
        if self.tags == "own":
            settings: dict[str, object] = {
                "clusters": self.clusters_ or None,
                "vectors": self.near_ or None,
                "seed": self.seed,
            }
            self.own_tags_, tagged = fitted_and_jackknifed(read, progress=progress, **settings)
        self.tagged_ = any(tag != "_" for item in tagged for tag in (*item.upos, *item.xpos))
        self.encoder_ = self._encoder(tagged, [sentence.column("deprel") for sentence in read])
        relations = sorted({name for sentence in read for name in sentence.column("deprel")})
        number_of = {name: number for number, name in enumerate(relations)}
        numbers = [[number_of[name] for name in sentence.column("deprel")] for sentence in read]
        batch = self.encoder_.batch(tagged, heads, numbers)
        used = {"clusters": bool(self.clusters_), "vectors": bool(self.near_)}
        columns = {  # what is known of the words, for templates that fit
            "fine": set(self.encoder_.xpos) != set(self.encoder_.upos),
            "feats": any(set(sentence.feats) != {"_"} for sentence in tagged),
            "lemmas": any(set(sentence.lemmas) != {"_"} for sentence in tagged),
        }
        others = any(sentence.others for sentence in tagged)
        relations_of = beside(
            partial(
                train_labels,
                batch,
                relations,
                fitting(label_templates(**used, others=others), **columns),
                LabelSettings(seed=self.seed),
                progress=progress,
            )
            if self.labels
            else lambda: None
        )
        self.arcs_ = self._train_arcs(
            batch,
            fitting(arc_templates(**used, others=others), **columns),
            fitting(sibling_templates(**used), **columns),
            fitting(grandparent_templates(**used), **columns),
            dev,
            progress,
        )
        self.relations_: LabelModel | None = relations_of()
        return self

    def _arc_settings(self, n_words: int) -> ArcSettings:
        # some 64 weights for every word, but no fewer than 2^16 and no more than 2^24
        usual = min(24, max(16, (64 * n_words - 1).bit_length()))
        return ArcSettings(
            order=self.order,
            learner=self.learner,
            epochs=self.epochs,
            clip=self.clip,
            grandparents=self.grandparents and self.order == 2,
            bits=usual if self.bits is None else self.bits,
            seed=self.seed,
        )

    def _encoder(
        self, sentences: Sequence[TaggedSentence], relations: Sequence[Sequence[str]]
    ) -> TokenEncoder:
        upos_of = usual_upos(
            tags
            for sentence in sentences
            for tags in zip(sentence.upos, sentence.xpos, strict=True)
        )
        sentences = [with_upos(sentence, upos_of) for sentence in sentences]
        fine = chosen_features(sentences, relations)
        tags = {token for sentence in sentences for token in zip(*sentence[1:4], strict=True)}
        upos = sorted({tag[0] for tag in tags})
        xpos = sorted({fine_tag(*tag, fine) for tag in tags} | set(upos))
        return TokenEncoder(
            vocabulary=frequent_words(
                (lowered(form) for sentence in sentences for form in sentence.forms),
                self.min_count,
            ),
            clusters=self.clusters_,
            near=self.near_,
            upos=upos,
            xpos=xpos,
            fine=fine,
            upos_of=upos_of,
        )

    def _train_arcs(
        self,
        batch: ArcBatch,
        arcs: Sequence[str],
        siblings: Sequence[str],
        grand: Sequence[str],
        dev: Treebank | None,
        progress: Progress | None,
    ) -> ArcModel:
        siblings = siblings if self.order == 2 else ()
        grand = grand if self.order == 2 and self.grandparents else ()
        templates = arcs, siblings, self.encoder_.n_tags
        settings = self._arc_settings(batch.n_words)
        coarse = train_coarse(batch, templates[2], settings) if self.order == 2 else None
        shared: dict[str, Any] = {"grand_names": grand, "coarse": coarse, "progress": progress}
        self.projectivity_ = choose_projectivity(
            batch, *templates, settings, self.projective, **shared
        )
        self.dev_scores_: list[float] = []
        best: list[ArcModel] = []  # the model after the best pass; of equals the later one
        after_pass = None
        if dev is not None:
            held_out = [with_heads(sentence) for sentence in each_conllu(dev)]
            if not held_out:
                raise DataError("<development sentences>", None, "no sentences, expected some")
            gold = [sentence.heads or () for sentence in held_out]
            test = self.encoder_.batch(self._tagged_conllu(held_out), gold)

            def after_pass(model: ArcModel) -> bool:
                words = test.heads >= 0
                right = model.decode(test)[words] == test.heads[words]
                self.dev_scores_.append(100.0 * float(right.mean()))
                if self.dev_scores_[-1] >= max(self.dev_scores_):
                    best[:] = [model]
                return False

        settings = self.projectivity_.applied(settings)
        last = train_arcs(batch, *templates, settings, after_pass=after_pass, **shared)
        return best[0] if best else last

    # ------------------------------------------------------------ parsing

    def tagged_conllu(self, sentence: ConlluBlock) -> TaggedSentence:
        """What the parser goes by in a CoNLL-U sentence."""
        self.check_fitted()
        return self._tagged_conllu([checked_item(ConlluBlock, sentence, "a CoNLL-U sentence")])[0]

    def tags_for(self, sentence: ConlluBlock, tagged: TaggedSentence) -> dict[str, Any]:
        """Tags of our own for the columns of a sentence that are empty."""
        self.check_fitted()
        checked_item(ConlluBlock, sentence, "a CoNLL-U sentence")
        if self.own_tags_ is None:
            return {}
        columns = {"upos": "upos", "xpos": "xpos", "feats": "feats", "lemma": "lemmas"}
        return {
            name: getattr(tagged, column)
            for name, column in columns.items()
            if set(sentence.column(name)) == {"_"}
        }

    def _tagged_conllu(self, sentences: Sequence[ConlluBlock]) -> list[TaggedSentence]:
        """Forms and tags of sentences; with taggers of our own, their tags."""
        if self.own_tags_ is not None:
            return self.tag_all([sentence.forms for sentence in sentences])
        return [TaggedSentence.from_conllu(sentence) for sentence in sentences]

    def tag_all(self, sentences: Sequence[Sequence[str]]) -> list[TaggedSentence]:
        """Words with the tags of our own taggers, which see them as training spelt their signs."""
        self.check_fitted()
        sentences = checked_sentences(sentences)
        if self.own_tags_ is None:
            raise SettingsError("this parser has no taggers: train one with tags='own'")
        tagged = self.own_tags_.tag([self.encoder_.familiar(forms) for forms in sentences])
        return [
            sentence._replace(forms=tuple(forms))
            for sentence, forms in zip(tagged, sentences, strict=True)
        ]

    def tagged(self, sentence: AnySentence, **tags: Unpack[TagColumns]) -> TaggedSentence:
        """What the parser goes by: the tags given, or its own where none are given."""
        return self._tagged(sentence, tags, whole=True)[0]

    def _tagged(
        self, sentence: AnySentence, tags: TagColumns, *, whole: bool
    ) -> list[TaggedSentence]:
        """The same, unless ``whole`` in the pieces in which a long sentence is parsed."""
        # Taggers of our own see each piece alone, as they do in :meth:`predict`.
        self.check_fitted()
        pieces = [TaggedSentence.of(sentence, **tags)]
        if not whole:
            pieces = [pieces[0].part(begin, end) for begin, end in pieces_of(pieces[0].forms)]
        has_tags = tags.get("upos") is not None or tags.get("xpos") is not None
        if has_tags or isinstance(sentence, TaggedSentence):
            return pieces
        if self.own_tags_ is not None:
            return self.tag_all([piece.forms for piece in pieces])
        if self.tagged_:
            raise SettingsError(
                "this parser was trained with tags and has no taggers: give upos and xpos, or "
                "train one with tags='own'"
            )
        return pieces

    def _demands(self, required: Iterable[AnyArc], forbidden: Iterable[AnyArc]) -> Demands:
        self.check_fitted()
        return Demands.of(required, forbidden, self.relations_)

    def _search(self, sentence: TaggedSentence, demands: Demands) -> Search:
        check_length(len(sentence.forms), "marginals and demands for arcs are")
        batch = self.encoder_.batch([sentence])
        return self.arcs_.search(batch, 0, demands.required, demands.forbidden)

    def parse(
        self,
        sentence: AnySentence,
        *,
        required_arcs: Iterable[AnyArc] = (),
        forbidden_arcs: Iterable[AnyArc] = (),
        **tags: Unpack[TagColumns],
    ) -> Parse:
        """The best tree; arcs are (head, dependent), words from 1 on, head 0 for the root.

        (head, dependent, relation) asks for the relation too: a required arc has this one, a
        forbidden arc may be there with another.  Heads are chosen before relations, and by the
        arcs alone.

        ``sentence`` is a list of words, whose tags may follow as ``upos``, ``xpos``, ``feats`` and
        ``lemmas``, or a :class:`~eigentext.dependency.sentence.TaggedSentence`; so it is for the
        other questions.  The tree has the tags that were given: upos, or xpos where there is no
        upos, for which the parser then goes by the upos that it usually stands with.

        More than 400 words are parsed in pieces, whose trees are joined and whose scores are
        added up (``approximate`` is then true); arcs can only be asked for in shorter sentences.
        """
        demands = self._demands(required_arcs, forbidden_arcs)
        pieces = self._tagged(sentence, tags, whole=demands.any)
        parses = [self._best(piece, demands) for piece in pieces]
        return parses[0] if len(parses) == 1 else _joined(parses)

    def _best(self, sentence: TaggedSentence, demands: Demands) -> Parse:
        search = self._search(sentence, demands)
        heads, score = search.best()
        return self._labelled(sentence, heads[None], [score], search.approximate, demands)[0]

    def kbest(
        self,
        sentence: AnySentence,
        *,
        k: int = 50,
        required_arcs: Iterable[AnyArc] = (),
        forbidden_arcs: Iterable[AnyArc] = (),
        **tags: Unpack[TagColumns],
    ) -> list[Parse]:
        """At most k different trees, best first; relations are put on each.

        A sentence that is parsed in pieces has one tree.
        """
        demands = self._demands(required_arcs, forbidden_arcs)
        pieces = self._tagged(sentence, tags, whole=demands.any)
        if len(pieces) > 1:
            return [_joined([self._best(piece, demands) for piece in pieces])]
        search = self._search(pieces[0], demands)
        heads, scores = search.kbest(k)
        approximate = search.approximate or search.grand is not None
        return self._labelled(pieces[0], heads, scores.tolist(), approximate, demands)

    def marginals(
        self,
        sentence: AnySentence,
        *,
        required_arcs: Iterable[AnyArc] = (),
        forbidden_arcs: Iterable[AnyArc] = (),
        **tags: Unpack[TagColumns],
    ) -> Float64s:
        """(n+1, n+1): probability of arc [h, d] under p(tree) ~ exp(score)."""
        tagged = self.tagged(sentence, **tags)
        return self._search(tagged, self._demands(required_arcs, forbidden_arcs)).marginals()

    def scores(
        self, sentence: AnySentence, **tags: Unpack[TagColumns]
    ) -> tuple[Float64s, Float64s | None]:
        """``arc`` (n+1, n+1) and, for order 2, ``sib`` (n+1, n+1, n+1)."""
        tagged = self.tagged(sentence, **tags)
        check_length(len(tagged.forms), "scores are")
        return self.arcs_.scores(self.encoder_.batch([tagged]), 0)

    def _labelled(
        self,
        sentence: TaggedSentence,
        heads: Int32s,
        scores: Sequence[float],
        approximate: bool,
        demands: Demands,
    ) -> list[Parse]:
        n_trees, n = heads.shape
        names: list[tuple[str, ...]] = [("_",) * n] * n_trees
        margins = [(0.0, 0.0)] * n_trees
        if self.relations_ is not None:
            keys = self.encoder_.batch([sentence]).keys
            labels = self.relations_.label_list(keys, heads, demands=demands.relations)
            name_of = self.relations_.relations
            names = [tuple(name_of[number] for number in row) for row in labels.relations.tolist()]
            margins = [(total, logs) for total, logs in labels.columns().tolist()]
        trees = (
            DependencyTree(sentence.forms, row, name, sentence.coarse)
            for row, name in zip(heads, names, strict=True)
        )
        return [
            Parse(tree, score, approximate, sure)
            for tree, score, sure in zip(trees, scores, margins, strict=True)
        ]

    def parse_many(
        self, sentences: Iterable[Sequence[str]], *, jobs: int = 1
    ) -> Iterator[Parse | None]:
        """The best trees of bare sentences in their order; None for one without tokens.

        ``jobs`` processes share the work; the answers do not depend on it.
        """
        self.check_fitted()
        work = in_order(_parse_all, each_sentence(sentences), state=self, jobs=jobs)
        return (parse for _, parse in work)

    def predict(self, sentences: Iterable[ConlluBlock], *, jobs: int = 1) -> list[ConlluBlock]:
        """The sentences with heads and relations filled in; all else stays as it is.

        With taggers of its own the parser goes by their tags, and fills columns of tags that are
        empty.  More than 400 words are parsed in pieces, as by :meth:`parse`: the comment
        ``# split = 3`` says in how many.  ``jobs`` processes share the work.
        """
        self.check_fitted()
        answers = in_order(
            _predict_all, each_conllu(sentences), state=self, jobs=jobs, chunk=_CHUNK
        )
        return [answer for _, answer in answers]

    def score(self, sentences: Sequence[ConlluBlock], y: None = None) -> float:
        """The share of words with the right head and relation, from 0 to 1.

        Of a parser without relations: with the right head.  Rules are those of CoNLL 2018.
        """
        from eigentext.evaluate.attachment import evaluate

        self.check_fitted()
        gold = list(each_conllu(sentences))
        if not gold:
            raise DataError("<sentences>", None, "no sentences to score")
        result = evaluate(gold, self.predict(gold))
        return (result.uas if self.relations_ is None else result.las) / 100

    def _predict(self, sentences: Sequence[ConlluBlock]) -> list[ConlluBlock]:
        self.check_fitted()
        tagged = self._tagged_conllu(sentences)
        heads, relations = self.trees(tagged)
        answers = []
        for sentence, tags, tree, names in zip(sentences, tagged, heads, relations, strict=True):
            new = self.tags_for(sentence, tags)
            answers.append(sentence.with_columns(head=tree, deprel=names, **new))
        return answers

    def trees(
        self, sentences: Sequence[TaggedSentence]
    ) -> tuple[list[list[int]], list[list[str]]]:
        """Heads and relations of sentences with their tags, all at once; no text is written.

        What is too long to be parsed whole is parsed in pieces.

        >>> from eigentext.language.formats.conllu import make_sentence
        >>> tree = make_sentence(["dogs", "bark"], upos=["NOUN", "VERB"], head=[2, 0],
        ...                      deprel=["nsubj", "root"])
        >>> parser = DependencyParser(epochs=2, bits=16).fit([tree] * 3)
        >>> parser.trees([TaggedSentence.of(["cats", "sleep"], upos=["NOUN", "VERB"])])
        ([[2, 0]], [['nsubj', 'root']])
        """
        self.check_fitted()
        spans = [pieces_of(sentence.forms) for sentence in sentences]
        pieces = [
            sentence.part(begin, end)
            for sentence, cuts in zip(sentences, spans, strict=True)
            for begin, end in cuts
        ]
        answers = zip(*self._predict_short(pieces), strict=True)
        trees = []
        for cuts in spans:
            heads, relations = zip(*islice(answers, len(cuts)), strict=True)
            trees.append(joined(cuts, heads, relations))
        return [heads for heads, _ in trees], [names for _, names in trees]

    def _predict_short(
        self, sentences: Sequence[TaggedSentence]
    ) -> tuple[list[list[int]], list[list[str]]]:
        self.check_fitted()
        batch = self.encoder_.batch(sentences)
        heads = self.arcs_.decode(batch)
        names = [["_"] * len(sentence.forms) for sentence in sentences]
        cut = batch.starts
        if self.relations_ is not None:
            name_of = self.relations_.relations
            numbers = self.relations_.label(batch, heads).tolist()
            names = [
                [name_of[number] for number in numbers[cut[k] + 1 : cut[k + 1]]]
                for k in range(len(batch))
            ]
        flat = heads.tolist()
        return [flat[cut[k] + 1 : cut[k + 1]] for k in range(len(batch))], names

    # ------------------------------------------------------------ storage

    def _summary(self) -> str:
        relations = len(self.relations_.relations) if self.relations_ else 0
        return f"2^{self.arcs_.settings.bits} weights, {relations} relations, {self.projectivity_}"


def _joined(parses: Sequence[Parse]) -> Parse:
    """The tree of a sentence that was too long to be parsed whole, from those of its pieces."""
    trees = [parse.tree for parse in parses]
    ends = np.cumsum([len(tree.forms) for tree in trees]).tolist()
    heads, names = joined(
        list(pairwise([0, *ends])),
        [tree.heads.tolist() for tree in trees],
        [tree.relations or ("_",) * len(tree.forms) for tree in trees],
    )
    forms = [form for tree in trees for form in tree.forms]
    tags = [tag for tree in trees for tag in tree.tags or ()]
    score = sum(parse.score for parse in parses)
    return Parse(DependencyTree(forms, heads, names, tags), score, approximate=True)


def _parse_all(parser: DependencyParser, sentences: list[list[str]]) -> list[Parse | None]:
    return [parser.parse(tokens) if tokens else None for tokens in sentences]


def _predict_all(parser: DependencyParser, sentences: list[ConlluBlock]) -> list[ConlluBlock]:
    return list(parsed_in_pieces(sentences, parser._predict))
