"""Choosing among the k best trees of a sentence by features of whole trees."""
