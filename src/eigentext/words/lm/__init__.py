"""Language models of word classes and of words."""
