"""Every analysis of an ambiguous Arabic word from the small lexicon of the sample."""

from eigentext.datasets import analyse

for analysis in analyse("كتب"):
    print(analysis["vocalised"], analysis["pos"], analysis["gloss"], sep="\t")
