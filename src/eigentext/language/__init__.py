"""Text, words and trees as data: formats, tokens, trees."""
