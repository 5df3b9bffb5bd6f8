"""eigentext: the hidden structure of language, learned by linear algebra and online learners.

Importing the package is cheap and has no side effects; a name is loaded when it is first used
(PEP 562).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy
from eigentext.version import VERSION as __version__

if TYPE_CHECKING:
    from eigentext.base.model import Model as Model
    from eigentext.base.model import NotFittedError as NotFittedError
    from eigentext.base.model import load as load
    from eigentext.constituency import LPCFG as LPCFG
    from eigentext.dependency import DependencyParser as DependencyParser
    from eigentext.dependency import LatentTreeModel as LatentTreeModel
    from eigentext.dependency import Reranker as Reranker
    from eigentext.errors import DataError as DataError
    from eigentext.errors import EigentextError as EigentextError
    from eigentext.errors import MissingExtraError as MissingExtraError
    from eigentext.errors import ModelFileError as ModelFileError
    from eigentext.errors import RankError as RankError
    from eigentext.errors import SettingsError as SettingsError
    from eigentext.lab import StringAutomaton as StringAutomaton
    from eigentext.language.doc import Doc as Doc
    from eigentext.language.reading import read as read
    from eigentext.language.reading import read_docs as read_docs
    from eigentext.language.trees.constituent import Tree as Tree
    from eigentext.lexical import LexicalRanker as LexicalRanker
    from eigentext.pipeline import Pipeline as Pipeline
    from eigentext.sequences import HMM as HMM
    from eigentext.sequences import LatentTagger as LatentTagger
    from eigentext.sequences import SpectralHMM as SpectralHMM
    from eigentext.tagging.morphology import MorphTagger as MorphTagger
    from eigentext.tagging.segmentation import Segmenter as Segmenter
    from eigentext.tagging.sequence import SequenceTagger as SequenceTagger
    from eigentext.words import LRMVL as LRMVL
    from eigentext.words import CCAEmbedding as CCAEmbedding
    from eigentext.words import SpectralClusters as SpectralClusters
    from eigentext.words import TopicModel as TopicModel

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "base.model": "Model NotFittedError load",
        "constituency": "LPCFG",
        "dependency": "DependencyParser LatentTreeModel Reranker",
        "errors": "DataError EigentextError MissingExtraError ModelFileError RankError "
        "SettingsError",
        "lab": "StringAutomaton",
        "language.doc": "Doc",
        "language.reading": "read read_docs",
        "language.trees.constituent": "Tree",
        "lexical": "LexicalRanker",
        "pipeline": "Pipeline",
        "sequences": "HMM LatentTagger SpectralHMM",
        "tagging": "MorphTagger Segmenter SequenceTagger",
        "words": "LRMVL CCAEmbedding SpectralClusters TopicModel",
    },
    modules="accel base cli constituency counting datasets dependency drawing errors evaluate "
    "features integrations lab language lexical linalg linear pipeline recipes reports sequences "
    "studio tagging words",
)
__all__ += ["__version__"]
