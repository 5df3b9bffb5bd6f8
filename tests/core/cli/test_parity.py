"""The command line and Python agree: every setting has its flag, bounds, choices and default."""

from __future__ import annotations

import inspect
from importlib import import_module
from typing import Any, get_args, get_type_hints

import pytest
from typer.main import get_command

from eigentext.base.model import Model
from eigentext.base.registry import KINDS
from eigentext.base.settings import declared
from eigentext.base.values import Auto, Flag, Real, Text, Value, Whole
from eigentext.cli.command import flag_of
from eigentext.cli.main import app
from eigentext.constituency import LPCFG
from eigentext.constituency.settings import InductionSettings, LPCFGSettings
from eigentext.dependency import DependencyParser, GenerativeParser, LatentTreeModel, Reranker
from eigentext.dependency.settings import (
    DependencyParserSettings,
    GenerativeParserSettings,
    LatentTreeSettings,
    RerankerSettings,
)
from eigentext.lab import Bracketer, ClassAutomata, StringAutomaton, StringTransducer
from eigentext.lexical.analyzers.learned import LearnedAnalyzer
from eigentext.lexical.ranker.model import LexicalRanker
from eigentext.lexical.settings import LearnedAnalyzerSettings, RankerSettings
from eigentext.pipeline.model import Pipeline
from eigentext.pipeline.settings import PipelineSettings
from eigentext.sequences import HMM, BlockedHMM, LatentTagger, SpectralHMM
from eigentext.sequences.settings import (
    AutomatonSettings,
    BlockedHMMSettings,
    ClassAutomataSettings,
    HMMSettings,
    LatentTaggerSettings,
    SpectralHMMSettings,
    TransducerSettings,
)
from eigentext.tagging.sequence.tagger import SequenceTagger
from eigentext.tagging.settings import TaggerSettings
from eigentext.words import (
    LRMVL,
    CCAEmbedding,
    ClassBigram,
    MultiviewEmbedding,
    SpectralClusters,
    TopicModel,
)
from eigentext.words.settings import (
    CCASettings,
    ClassBigramSettings,
    ClusterSettings,
    LRMVLSettings,
    MultiviewSettings,
    TopicSettings,
)

# a command, the settings that are its flags, and what has these settings in Python
COMMANDS: list[tuple[str, type, type]] = [
    ("const train", LPCFGSettings, LPCFG),
    ("lab train-bracketer", InductionSettings, Bracketer),
    ("dep train", DependencyParserSettings, DependencyParser),
    ("dep train-generative", GenerativeParserSettings, GenerativeParser),
    ("dep train-latent", LatentTreeSettings, LatentTreeModel),
    ("dep train-reranker", RerankerSettings, Reranker),
    ("words cluster", ClusterSettings, SpectralClusters),
    ("words embed", CCASettings, CCAEmbedding),
    ("words embed", LRMVLSettings, LRMVL),
    ("words embed", MultiviewSettings, MultiviewEmbedding),
    ("words train-lm", ClassBigramSettings, ClassBigram),
    ("words train-topics", TopicSettings, TopicModel),
    ("lex train", RankerSettings, LexicalRanker),
    ("lex train-analyzer", LearnedAnalyzerSettings, LearnedAnalyzer),
    ("pipe train", PipelineSettings, Pipeline),
    ("tag train", TaggerSettings, SequenceTagger),
    ("lab train-automaton", AutomatonSettings, StringAutomaton),
    ("lab train-automaton", ClassAutomataSettings, ClassAutomata),
    ("lab train-automaton", TransducerSettings, StringTransducer),
    ("hmm train", HMMSettings, HMM),
    ("hmm train-spectral", SpectralHMMSettings, SpectralHMM),
    ("hmm train-blocked", BlockedHMMSettings, BlockedHMM),
    ("hmm train-tagger", LatentTaggerSettings, LatentTagger),
]


def flags(line: str) -> dict[str, tuple[Any, Any]]:
    """The type and the option of every flag of a command, by its name."""
    command: Any = get_command(app)
    for word in line.split():
        command = command.commands[word]
    hints = get_type_hints(command.callback, include_extras=True)
    return {
        option.opts[0]: (get_args(hints[option.name])[0], option)
        for option in command.params
        if option.param_type_name == "option" and option.name in hints
    }


def agree(kind: Any, option: Any, value: Value, *, shared: bool) -> None:
    """The flag takes what the setting takes; a shared one what one of its models takes."""
    if shared:
        if isinstance(value, Whole | Real):
            assert option.min is None or option.min <= value.low
            assert option.max is None or option.max >= value.high
        elif isinstance(value, Text):
            assert set(value.choices) <= set(get_args(get_args(kind)[0]))
        return
    if isinstance(value, Whole | Real) and not getattr(value, "open", False):
        free = type(value)()
        for end, own, none in (
            (option.min, value.low, free.low),
            (option.max, value.high, free.high),
        ):
            assert end == (None if own == none else own)
    if isinstance(value, Text) and value.choices:
        (choices, _) = get_args(kind)
        assert get_args(choices) == value.choices
    if isinstance(value.other if isinstance(value, Auto) else value, Flag):
        assert option.secondary_opts


@pytest.mark.parametrize(("line", "settings", "home"), COMMANDS)
def test_every_setting_has_its_flag(line: str, settings: type, home: type) -> None:
    known = flags(line)
    others = [one for one_line, one, _ in COMMANDS if one_line == line and one is not settings]
    for name, declaration in declared(settings).items():
        assert (flag_of(name) in known) == declaration.flag, name
        if declaration.flag:
            kind, option = known[flag_of(name)]
            assert type(None) in get_args(kind)  # unless told it is left to the model
            shared = any(name in declared(other) for other in others)
            agree(kind, option, declaration.value, shared=shared)


@pytest.mark.parametrize(("line", "settings", "home"), COMMANDS)
def test_the_default_of_a_setting_is_the_models_own(line: str, settings: type, home: type) -> None:
    made = inspect.signature(home if issubclass(home, Model) else settings).parameters
    assert {name: one.default for name, one in made.items()} == {
        name: declaration.default for name, declaration in declared(settings).items()
    }


def test_every_model_is_here() -> None:
    homes = [known.home.split(":") for known in KINDS.values() if known.command]
    every = {getattr(import_module(f"eigentext.{module}"), name) for module, name in homes}
    assert {one for one in every if issubclass(one, Model)} <= {home for *_, home in COMMANDS}
