"""Trainings side by side: what goes to another process or machine leaves its progress here."""

import pytest

from eigentext.base.cores import using_cores
from eigentext.base.engines import LocalEngine, using_cluster
from eigentext.pipeline.training import _SideBySide


class Files:
    """Nothing is done yet."""

    def has(self, name: str, key: str) -> bool:
        return False


class Told:
    """Somebody wants to know."""

    def of(self, name: str):
        return lambda done, total, stage: None


@pytest.mark.parametrize(
    ("cores", "cluster", "here"), [(1, None, True), (2, None, False), (1, LocalEngine(), False)]
)
def test_progress_is_told_by_trainings_of_this_process_alone(cores, cluster, here):
    works = _SideBySide(Files(), Told())
    with using_cores(cores), using_cluster(cluster):
        works.model("parser", "key", dict)
    assert (works._works[0].keywords["progress"] is not None) == here
