"""Words of other libraries for what has another name here: errors that say which.

``LPCFG(n_components=8)`` is a TypeError that ends in "use n_states", and ``model.most_similar`` an
AttributeError with "use neighbours".  No such word works: there is one name for one thing.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

_SIZES = "n_states n_topics n_clusters n_components"
_ROUNDS = "n_iter epochs passes refine"
_PROBABLE = "predict_proba marginals posteriors log_probs log_prob"

#: Setting of others -> ours: the first that a model has.
SETTINGS = {
    **dict.fromkeys(("n_components", "n_clusters", "n_topics", "n_states", "k"), _SIZES),
    **dict.fromkeys(("num_topics", "num_clusters", "num_states", "n_hidden"), _SIZES),
    **dict.fromkeys(("vector_size", "size", "dim", "embedding_dim"), "n_components"),
    **dict.fromkeys(("random_state", "random_seed"), "seed"),
    **dict.fromkeys(("max_iter", "n_iter", "num_iter", "iterations", "niter"), _ROUNDS),
    **dict.fromkeys(("epochs", "n_epochs", "num_epochs", "iter"), "epochs n_iter passes refine"),
    **dict.fromkeys(("learning_rate", "lr"), "rate"),
    **dict.fromkeys(("lang", "locale"), "language"),
    **dict.fromkeys(("beam_size", "beam_width", "num_beams"), "beam"),
    **dict.fromkeys(("max_features", "max_vocab_size", "vocabulary_size"), "vocab_size"),
    **dict.fromkeys(("min_df", "min_freq", "min_word_count"), "min_count min_documents"),
    "max_df": "max_share",
    "init": "start",
    "n_init": "n_starts",
    "lowercase": "fold_case",
    "window": "contexts window",
    "cv": "folds",
    "C": "l2 ridge smoothing",
}
#: What is no setting here, and what to do instead.
_ELSEWHERE = {
    **dict.fromkeys(
        ("n_jobs", "workers", "num_workers", "n_threads", "threads", "num_threads"),
        "cores are used where they help; `with eigentext.base.cores.using_cores(n)` limits them",
    ),
    "verbose": "use fit(..., progress=print)",
    "gpu": "answers take device='gpu' where a card helps",
}

#: Method or attribute of others -> ours: the first that a model has.
METHODS = {
    **dict.fromkeys(("most_similar", "similar_by_word", "nearest_neighbors"), "neighbours"),
    **dict.fromkeys(("neighbors", "kneighbors"), "neighbours"),
    **dict.fromkeys(("predict_proba", "predict_marginals", "predict_log_proba"), _PROBABLE),
    **dict.fromkeys(("log_likelihood", "loglikelihood", "logprob"), "log_prob log_prob_of"),
    **dict.fromkeys(("evaluate", "accuracy", "test"), "score"),
    **dict.fromkeys(("train", "partial_fit", "learn", "update"), "fit"),
    **dict.fromkeys(("generate", "random_sample"), "sample"),
    **dict.fromkeys(("decode", "infer", "inference"), "predict parse tag transform"),
    **dict.fromkeys(("predict", "predict_sents"), "parse tag segment rank transform choose"),
    **dict.fromkeys(("tag", "tag_sents", "pos_tag", "annotate"), "tag tag_all predict"),
    **dict.fromkeys(("parse", "parse_one", "parse_sent"), "parse predict"),
    **dict.fromkeys(("parse_sents", "batch_parse", "parse_all"), "parse_many"),
    **dict.fromkeys(("tokenize", "sent_tokenize", "word_tokenize"), "segment"),
    **dict.fromkeys(("parse_nbest", "nbest", "k_best"), "kbest nbest forest"),
    **dict.fromkeys(("to_disk", "dump", "write", "save_model", "save_pretrained"), "save"),
    **dict.fromkeys(("from_disk", "from_pretrained", "load_model"), "load"),
    "to_json": "save",
}
_VECTORS = "embeddings_ after fit: its words and vectors"
_LEARNED = {  # what only `fit` brings
    **dict.fromkeys(("wv", "vectors", "syn0", "get_vector", "word_vec"), _VECTORS),
    **dict.fromkeys(("vocab", "index_to_key", "index2word"), _VECTORS),
}

#: The same for constituent trees, from NLTK.
TREE = {
    **dict.fromkeys(("fromstring", "from_string", "parse"), "from_brackets"),
    "fromlist": "from_nested",
    "leaves": "words",
    "label": "root.label",
    "pos": "words and tags",
    **dict.fromkeys(("pformat", "pprint", "pretty_print"), "str(tree)"),
    "subtrees": "constituents",
    "productions": "constituents",
    "set_label": "relabel",
}


def no_setting(kind: type, name: str, settings: Iterable[str]) -> str:
    """What the error says of a setting that a model does not have.

    >>> no_setting(dict, "random_state", ["seed"]), no_setting(dict, "sed", ["seed"])
    ("dict has no setting 'random_state': use seed", "dict has no setting 'sed': use seed")
    """
    settings = list(settings)
    ours = [each for each in SETTINGS.get(name, "").split() if each in settings]
    advice = f"use {ours[0]}" if ours else _ELSEWHERE.get(name, "")
    if name == "verbose" and "progress" not in inspect.signature(kind.fit).parameters:  # type: ignore[attr-defined]
        advice = "it says nothing while it learns"
    if not advice and (near := get_close_matches(name, settings, 1)):
        advice = f"use {near[0]}"
    return f"{kind.__name__} has no setting {name!r}: {advice or 'it has ' + ', '.join(settings)}"


def no_method(kind: type, name: str) -> str:
    """What the error says of a method that a model does not have; nothing for unknown words."""
    ours = [each for each in METHODS.get(name, "").split() if hasattr(kind, each)]
    advice = ours[0] if ours else ""
    if name in _LEARNED and hasattr(kind, "neighbours"):
        advice = _LEARNED[name]
    return f"{kind.__name__} has no {name}: use {advice}" if advice else ""


class _TreeClass(type):
    if not TYPE_CHECKING:

        def __getattr__(cls, name: str) -> Any:
            raise AttributeError(_no_word(name), name=name, obj=cls)


class TreeWords(metaclass=_TreeClass):
    """What a tree is: ``Tree("(S ...)")`` and ``Tree.fromstring`` name ``Tree.from_brackets``."""

    if not TYPE_CHECKING:

        def __new__(cls, *parts: object, **named: object) -> Any:
            """Refuse brackets, and the label that begins a tree of NLTK."""
            if isinstance(parts[0] if parts else named.get("labels"), str):
                raise TypeError(
                    "a Tree is made of labels, one string a node, and sizes, not of one string: "
                    "use Tree.from_brackets(text) or Tree.from_nested((label, child, ...))"
                )
            return super().__new__(cls)

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(_no_word(name), name=name, obj=self)


def _no_word(name: str) -> str:
    return f"Tree has no attribute {name!r}" + (f": use {TREE[name]}" if name in TREE else "")
