"""``eigentext const train``: from trees to a parser."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentext.cli import options
from eigentext.cli.command import SettingFlags, flag, with_flags
from eigentext.cli.verbs import Training
from eigentext.constituency.settings import LPCFGSettings

if TYPE_CHECKING:
    from eigentext.base.files.opening import SkipLog
    from eigentext.constituency.learn.semi import FreeText
    from eigentext.features.word_classes import WordClasses
    from eigentext.language.trees.constituent import Tree


@with_flags(LPCFGSettings)
def train(
    trees: options.Sources,
    run: Training,
    settings: SettingFlags,
    dev: list[str] | None = flag("Trees to score the parser on."),
    search_states: bool = flag("Take the best --n-states on --dev.", False),
    clusters: str | None = flag("Brown paths file: classes of rare words."),
    vectors: str | None = flag("word2vec file: classes of rare words."),
    unlabelled: list[str] | None = flag("Sentences without trees, one a line, tokenised."),
    partial: list[str] | None = flag("Trees with some brackets; label X: any constituent."),
) -> None:
    """Train a parser on PTB-style trees.

    With --dev its F1 on those trees (EVALB's rules) is among the figures. Classes of words help
    most when trees are few; so do brackets without labels.

    Example:
        $ eigentext const train sample/train.mrg -o english.lpcfg --n-states 4
        $ eigentext const train sample/train.mrg -o auto.lpcfg --n-states auto --dev sample/dev.mrg
        $ eigentext const train sample/train.mrg -o more.lpcfg -k 2 --partial sample/dev.mrg
    """
    from eigentext.base.files.opening import expand
    from eigentext.constituency import LPCFG
    from eigentext.constituency.learn.search import f1_on
    from eigentext.constituency.learn.search import search_states as search
    from eigentext.errors import SettingsError

    if search_states and (not dev or "n_states" in settings.values):
        raise SettingsError("--search-states needs --dev TREES to search on, and no --n-states")
    chosen = settings.of(LPCFGSettings)
    parser = LPCFG(**chosen)
    parser.check()
    sources = expand(trees)
    about: dict[str, Any] = {}
    with run.reading() as (log, progress):
        treebank = _trees(sources, log)
        more: dict[str, Any] = {
            "classes": _classes(clusters, vectors, log),
            "text": _text(unlabelled, partial, log, cut_tags=parser.cut_tags),
            "progress": progress,
        }
        held_out = _trees(expand(dev), log) if dev else []
        if search_states:
            parser, tried = search(
                lambda n_states: LPCFG(n_states=n_states, **chosen).fit(treebank, **more),
                held_out,
                progress=progress,
            )
            about["tried"] = {str(trial.n_states): round(trial.f1, 2) for trial in tried}
            about["n_states"] = parser.n_states
            about["dev_f1"] = max(trial.f1 for trial in tried)
        else:
            parser.fit(treebank, **more)
            if dev:
                about["dev_f1"] = f1_on(parser, held_out, progress=progress)
    if not run.json:
        for n_states, f1 in about.get("tried", {}).items():
            run.remark(f"--n-states {n_states}: F1 {f1:.2f} on dev")
    if parser.semi_ is not None:
        about["sentences_used"] = parser.semi_.n_used
        about["too_long"] = parser.semi_.n_long
        about["without_parse"] = parser.semi_.n_unparsed
    figures = {
        "trees": len(treebank),
        "nonterminals": len(parser.grammar_.labels),
        "rules": len(parser.grammar_.coarse.rules),
    }
    run.save(parser, sources, figures | about)


def _trees(sources: list[str], log: SkipLog | None) -> list[Tree]:
    """The trees of all files; none at all is an error."""
    from eigentext.errors import DataError
    from eigentext.language.formats.ptb import read_trees

    trees = [tree for source in sources for tree in read_trees(source, on_error=log)]
    if not trees:
        raise DataError(", ".join(sources), None, "no trees, expected at least one")
    return trees


def _classes(paths: str | None, vectors: str | None, log: SkipLog | None) -> WordClasses | None:
    """Classes of words from either file or both."""
    if paths is None and vectors is None:
        return None
    from eigentext.features.word_classes import WordClasses
    from eigentext.language.formats.brown_paths import read_paths
    from eigentext.language.formats.word2vec import load_vectors

    parts = []
    if paths is not None:
        parts.append(WordClasses.from_paths(read_paths(paths, on_error=log)))
    if vectors is not None:
        parts.append(WordClasses.from_vectors(*load_vectors(vectors, on_error=log)))
    return WordClasses.merged(parts)


def _text(
    unlabelled: list[str] | None, partial: list[str] | None, log: SkipLog | None, *, cut_tags: bool
) -> FreeText | None:
    """Sentences without trees and with some brackets."""
    if not unlabelled and not partial:
        return None
    from eigentext.base.files.opening import expand
    from eigentext.constituency.learn.semi import FreeText, partial_brackets
    from eigentext.language.formats.ptb import read_trees
    from eigentext.language.formats.text import read_sentences

    return FreeText(
        [
            tokens
            for source in expand(unlabelled or [])
            for tokens in read_sentences(source, drop_empty=True, on_error=log)
        ],
        [
            partial_brackets(tree, cut_tags=cut_tags)
            for source in expand(partial or [])
            for tree in read_trees(source, on_error=log)
        ],
    )
