"""Count contexts in a text and find the neighbours of a word by one-step CCA."""

import tempfile
from pathlib import Path

from eigentext.corpus.counting import count
from eigentext.datasets.python_text import sentences
from eigentext.formats.text import write_sentences
from eigentext.words.embeddings.cca import cca_embeddings

with tempfile.TemporaryDirectory() as folder:
    text = Path(folder) / "python.txt"
    write_sentences(sentences(), text)
    counts = count([str(text)], contexts="lr2", vocab_size=2000)
print(f"{counts.n_tokens:,} tokens, {counts.n_stored:,} pairs")
embeddings = cca_embeddings(counts, 40)
for word in ("list", "returns", "file"):
    print(word, [near for near, _ in embeddings.neighbours(word, 5)])
