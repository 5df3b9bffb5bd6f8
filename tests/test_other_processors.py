"""The promise of docs/reference/determinism.md across machines, on the arithmetic of others.

OpenBLAS and numpy pick their code by the processor.  Children of this test are told to pick code
for older ones; what they learn must be the same, numbers to a tolerance.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys

import numpy as np
import pytest

LEARN = """
import json, warnings
import numpy as np
from threadpoolctl import threadpool_info
from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.errors import RankWarning
from eigentext.sequences import SpectralHMM
from eigentext.language.trees.constituent import Tree
from eigentext.words import CCAEmbedding, SpectralClusters

warnings.simplefilter("ignore", RankWarning)
trees = [Tree.from_brackets(line) for line in load_english("train")]
text = [tree.words for tree in trees]
rng = np.random.default_rng(0)
classes = ["I you we they", "see like want", "some", "tea soup rice", "."]
toy = [[str(rng.choice(words.split())) for words in classes] for _ in range(300)]
paths = {}
for method in ("spectral", "paper", "exchange", "brown"):
    for contexts in ("r1", "lr1"):
        found = SpectralClusters(5, method=method, contexts=contexts, kappa=1.0).fit(toy)
        paths[f"toy {method} {contexts}"] = found.paths_
    paths[f"text {method}"] = SpectralClusters(12, method=method, kappa=5.0).fit(text).paths_
vectors = CCAEmbedding(8, contexts="lr1", scaling="sqrt").fit(text)
hmm = SpectralHMM(4).fit(text)
parser = LPCFG(n_states=2, per_state=20).fit(trees[:150])
print(json.dumps({
    "blas": sorted(pool["architecture"] for pool in threadpool_info() if "architecture" in pool),
    "paths": paths,
    "cosines": (vectors.embeddings_.vectors @ vectors.embeddings_.vectors[:50].T).tolist(),
    "singular": vectors.embeddings_.singular_values.tolist(),
    "hmm": hmm.log_prob(text).tolist(),
    "trees": [str(parser.parse(words).tree) for words in text[150:156]],
}))
"""


def learned(core, *, without_simd=False):
    """What a child learns with the code of another processor."""
    environment = os.environ | {"OPENBLAS_CORETYPE": core}
    if without_simd:
        found = np.show_config(mode="dicts")["SIMD Extensions"]["found"]
        environment["NPY_DISABLE_CPU_FEATURES"] = " ".join(found)
    done = subprocess.run(
        [sys.executable, "-c", LEARN], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of x86 processors")
def test_other_processors_learn_the_same():
    new, old = learned("Haswell"), learned("Prescott", without_simd=True)
    if "Haswell" in new["blas"]:  # numpy may come with another BLAS, which does not listen
        assert new["blas"] != old["blas"]
    assert new["paths"] == old["paths"]
    assert new["trees"] == old["trees"]
    np.testing.assert_allclose(new["singular"], old["singular"], rtol=1e-5)
    np.testing.assert_allclose(new["cosines"], old["cosines"], atol=1e-4)
    np.testing.assert_allclose(new["hmm"], old["hmm"], rtol=1e-6)
