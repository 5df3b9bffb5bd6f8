"""Parsing on a graphics card: whole batches of sentences from words to trees.

``engine`` makes arrays of sentences and grammar and runs the kernels of ``parse.cu``, and
``parser`` is the way in: it asks the processor for what the card leaves.
"""
