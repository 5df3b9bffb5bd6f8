"""Progress that two threads tell."""

from __future__ import annotations

import threading

from eigentext.base.cores import using_cores
from eigentext.base.progress import one_at_a_time
from eigentext.datasets.sample import sample_files
from eigentext.dependency import DependencyParser
from eigentext.language.formats.conllu import parse_sentences


class Listener:
    """Notices whether it is called while it is being called."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.stages: list[str] = []

    def __call__(self, done: int, total: int, stage: str) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        threading.Event().wait(0.002)  # lets another thread in, if it may come in
        self.stages.append(stage)
        self.inside -= 1


def test_two_threads_tell_in_turn():
    heard = Listener()
    tell = one_at_a_time(heard)
    both = threading.Barrier(2)

    def work(stage: str) -> None:
        both.wait()
        for number in range(20):
            tell(number, 20, stage)

    threads = [threading.Thread(target=work, args=(stage,)) for stage in ("arcs", "relations")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert heard.most == 1
    assert sorted(heard.stages) == ["arcs"] * 20 + ["relations"] * 20


def test_nobody_is_told_nothing():
    assert one_at_a_time(None) is None


def test_a_parser_whose_relations_are_learned_beside_its_arcs():
    heard = Listener()
    trees = list(parse_sentences(sample_files()["treebank-dev.conllu"].decode()))[:20]
    # of arcs it is told after every 500 sentences
    with using_cores(2):
        DependencyParser(order=1, epochs=30, bits=12).fit(trees, progress=heard)
    assert heard.most == 1
    assert {"training arcs", "training relations"} <= set(heard.stages)
