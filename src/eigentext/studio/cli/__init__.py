"""Commands of the studio: ``annotate``, ``serve`` and ``studio``."""
