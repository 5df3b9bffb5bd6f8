"""UDPipe 1.2 by its Python package ``ufal.udpipe``, trained on the same files as ours.

The options are those of the published UD 2.5 models, but that its word embeddings start at random:
there they were made with word2vec from the training words.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ufal import udpipe

if TYPE_CHECKING:
    from pathlib import Path

_TOKENIZER = (
    "dimension=24;epochs=100;initialization_range=0.5;batch_size=50;learning_rate=0.005;"
    "dropout=0.1;early_stopping=1"
)
_TAGGER = (
    "models=2;templates_1=tagger;guesser_suffix_rules_1=8;guesser_enrich_dictionary_1=6;"
    "guesser_prefixes_max_1=0;use_lemma_1=0;provide_lemma_1=0;use_xpostag_1=1;"
    "provide_xpostag_1=1;use_feats_1=1;provide_feats_1=1;prune_features_1=0;"
    "templates_2=lemmatizer;guesser_suffix_rules_2=6;guesser_enrich_dictionary_2=4;"
    "guesser_prefixes_max_2=4;use_lemma_2=1;provide_lemma_2=1;use_xpostag_2=0;"
    "provide_xpostag_2=0;use_feats_2=0;provide_feats_2=0;prune_features_2=0"
)
_PARSER = (
    "iterations=30;embedding_upostag=20;embedding_feats=20;embedding_xpostag=0;embedding_form=50;"
    "embedding_lemma=0;embedding_deprel=20;learning_rate=0.01;learning_rate_final=0.001;l2=0.5;"
    "hidden_layer=200;batch_size=10;transition_system=projective;transition_oracle=dynamic;"
    "structured_interval=10"
)


def _read(conllu: str) -> list[Any]:
    """The sentences of a CoNLL-U text, as the package's objects."""
    reader = udpipe.InputFormat.newConlluInputFormat()
    reader.setText(conllu)
    error = udpipe.ProcessingError()
    sentences = []
    while reader.nextSentence(sentence := udpipe.Sentence(), error):
        sentences.append(sentence)
    if error.occurred():
        raise ValueError(error.message)
    return sentences


def train(training: str, dev: str, target: Path) -> None:
    """Train on CoNLL-U text and write the model; ``dev`` stops its tokeniser early."""
    error = udpipe.ProcessingError()
    model = udpipe.Trainer.train(
        "morphodita_parsito",
        udpipe.Sentences(_read(training)),
        udpipe.Sentences(_read(dev)),
        _TOKENIZER,
        _TAGGER,
        _PARSER,
        error,
    )
    if error.occurred():
        raise ValueError(error.message)
    target.write_bytes(model)


class UDPipe:
    """A trained model: raw text or CoNLL-U in, CoNLL-U out."""

    def __init__(self, path: Path) -> None:
        self.model = udpipe.Model.load(str(path))
        if self.model is None:
            raise ValueError(f"{path} is no model of UDPipe")

    def _run(self, text: str, manner: str) -> str:
        default = udpipe.Pipeline.DEFAULT
        error = udpipe.ProcessingError()
        pipeline = udpipe.Pipeline(self.model, manner, default, default, "conllu")
        answer = str(pipeline.process(text, error))
        if error.occurred():
            raise ValueError(error.message)
        return answer

    def raw(self, text: str) -> str:
        """Everything from raw text."""
        return self._run(text, "tokenize")

    def words(self, conllu: str) -> str:
        """Tags and trees for the words of a CoNLL-U text."""
        return self._run(conllu, "conllu")
