"""Words: what taggers, grammars, parsers and the ranker share about them."""
