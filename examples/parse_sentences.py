"""Train a parser on the sample trees, parse a sentence, look at the three best trees."""

from eigentext.constituency import LPCFG
from eigentext.datasets import load_english
from eigentext.language.trees.constituent import Tree

trees = [Tree.from_brackets(line) for line in load_english("train")]
parser = LPCFG(n_states=4).fit(trees)
answer = parser.parse("The teacher saw the boy with the telescope .".split(), kbest=3)
for one in answer.kbest:
    print(f"{one.log_score:8.3f}  {one.tree}")
