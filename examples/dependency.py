"""Dependencies of the sample trees: train a parser, parse a sentence, forbid an arc."""

from eigentext.datasets import load_english
from eigentext.dependency import DependencyParser
from eigentext.evaluate.attachment import evaluate
from eigentext.language.formats import conllu
from eigentext.language.trees.constituent import Tree
from eigentext.language.trees.heads import to_dependencies


def sentences(split):
    """Trees of the sample, by our head rules."""
    trees = [to_dependencies(Tree.from_brackets(line)) for line in load_english(split)]
    return [conllu.from_dependency_tree(tree, tags="xpos") for tree in trees]


parser = DependencyParser(order=2, tags="own", epochs=5, bits=18).fit(sentences("train"))
held_out = sentences("dev")
result = evaluate(held_out, parser.predict(held_out))
print(f"UAS {result.uas:.1f}  LAS {result.las:.1f}  complete {result.complete_match:.1f}")

tokens = "The teacher saw the boy with the telescope .".split()
best = parser.parse(tokens)
head = int(best.tree.heads[5])  # of "with"
other = parser.parse(tokens, forbidden_arcs=[(head, 6)])
probability = parser.marginals(tokens)
for name, answer in (("best", best), (f"without {tokens[head - 1]} -> with", other)):
    print(f"{name}: score {answer.score:.2f}")
    for head, word, relation in answer.tree.arcs:
        above = tokens[head - 1] if head else "root"
        p = probability[head, word]
        print(f"  {above:>10} -> {tokens[word - 1]:<10} {relation:<8} {p:.2f}")
