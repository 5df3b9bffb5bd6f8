"""A program that decides, one thing after the other, and prints what the store has confirmed.

``python -m helpers.writer_program STORE LAYER NAME SEED``; it ends when it is killed, or at the
end of its standard input.
"""

from __future__ import annotations

import json
import os
import random
import sys
import threading

from eigentext.studio.store.problems import StoreError
from eigentext.studio.store.records import Change
from eigentext.studio.store.store import AnnotationStore


def main(where: str, layer: int, name: str, seed: int) -> None:
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    chance = random.Random(seed)
    store = AnnotationStore(where, create=False)
    number = 0
    while not ended.is_set():
        number += 1
        try:
            if chance.random() < 0.2:
                undone = store.undo(layer)
                told = {"undone": [one.id for one in undone]}
            else:
                n = chance.randint(1, 3)
                changes = [Change(0, f"{name}-{number}-{i}", {"n": number}) for i in range(n)]
                told = {
                    "version": store.decide(layer, changes),
                    "items": [c.item for c in changes],
                }
        except StoreError as error:
            told = {"error": str(error)}
            ended.wait(0.05)
        # in one write: a line that is there is there whole
        os.write(1, (json.dumps(told) + "\n").encode())
    store.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]))
