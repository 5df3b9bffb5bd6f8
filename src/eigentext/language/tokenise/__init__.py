"""Rules that cut text into sentences and tokens, where no treebank has taught how."""
