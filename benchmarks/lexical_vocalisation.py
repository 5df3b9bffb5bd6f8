"""How many words of UD PADT come out vocalised as in the treebank, with and without endings.

    EIGENTEXT_DATA=... EIGENTEXT_ALMOR=... python benchmarks/lexical_vocalisation.py [--folds 0]

The words are those of lexical.py, unvocalised as typed; gold is PADT's vocalised form.  Four ways
to choose what is shown: the analyzer's most frequent reading alone; the ranker's label with the
most frequent of its readings (no agreement, no endings added); the ranker's label as it is shown;
the gold label as it is shown (an oracle: what the display itself loses).  Writings that sound
alike count as equal (eigentext.evaluate.vocalisation); the ending is what stands on the last
letter.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from lexical import BEST, FOLDS, languages
from protocols.vocalisation import VocalisationScores, join_pieces

from eigentext.lexical.output import shown_reading
from eigentext.lexical.ranked import with_decision
from eigentext.linalg.ties import single_threaded

if TYPE_CHECKING:
    from eigentext.lexical.analysis import Analysis
    from eigentext.lexical.documents import LexWord
    from eigentext.lexical.ranker.model import LexicalRanker, RankedWord

WAYS = (
    "most frequent reading",
    "label's most frequent reading",
    "as shown",
    "gold label, as shown",
)


def most_frequent(readings: list[Analysis]) -> str:
    """The vocalised form of the reading with the highest prior."""
    return max(readings, key=lambda r: -99.0 if r.prior is None else r.prior).vocalised


def shown(ranker: LexicalRanker, word: RankedWord, gold: LexWord) -> dict[str, str]:
    """The word by each way."""
    every = [reading for candidate in word.candidates for reading in candidate.analyses]
    own = list(word.best.analyses)
    found = {
        WAYS[0]: most_frequent(every) if every else word.form,
        WAYS[1]: most_frequent(own) if own else word.form,
    }
    reading = shown_reading(word, word.best, ranker)
    found[WAYS[2]] = reading.vocalised if reading else word.form
    assert gold.label is not None
    decided = word._replace(candidates=with_decision(word.candidates, gold.label))
    reading = shown_reading(decided, decided.best, ranker)
    found[WAYS[3]] = reading.vocalised if reading else word.form
    return found


def main() -> None:
    """Train on the other folds, show each fold's words, print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", default=",".join(map(str, range(FOLDS))))
    parser.add_argument("--almor", default="")
    chosen = parser.parse_args()
    setting = languages(chosen.almor)["ar"]()
    scores = {way: VocalisationScores() for way in WAYS}
    cased = {way: VocalisationScores() for way in WAYS}
    folds = [int(fold) for fold in chosen.folds.split(",")]
    for fold in folds:
        training, test = setting.fold(fold)
        with single_threaded():
            ranker = setting.ranker(**BEST).fit(training, candidates=setting.candidates)
            ranked = list(ranker.rank_documents(test))
        case = ranker.scheme_.elements.index("cas")
        for document, sentences in zip(test, ranked, strict=True):
            words = (word for sentence in sentences for word in sentence)
            for word, gold in zip(words, document.words(), strict=True):
                if not gold.scored or gold.label is None:
                    continue
                vocalised = join_pieces(gold.vocalised)
                for way, text in shown(ranker, word, gold).items():
                    scores[way].add(text, vocalised)
                    if gold.label[case] != "-":
                        cased[way].add(text, vocalised)
    print(f"{len(folds)} folds, {scores[WAYS[0]].words:,} words")
    print("\n| shown | with endings | without | words with case: with endings | without |")
    print("|---" * 5 + "|")
    for way in WAYS:
        figures = (scores[way], cased[way])
        cells = [f"{s.accuracy:.2f} | {s.accuracy_without_endings:.2f}" for s in figures]
        print(f"| {way} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
