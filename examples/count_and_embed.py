"""Count contexts in a text and find the neighbours of a word by one-step CCA."""

from eigentext.counting.counting import count_sentences
from eigentext.datasets.python_text import sentences
from eigentext.words import CCAEmbedding

counts = count_sentences(sentences(), contexts="lr2", vocab_size=2000)
print(f"{counts.n_tokens:,} tokens, {counts.n_stored:,} pairs")
embeddings = CCAEmbedding(40).fit(counts)
for word in ("list", "returns", "file"):
    print(word, [near for near, _ in embeddings.neighbours(word, 5)])
