"""The ranker: features and candidates counted, weighed and ranked.

``model`` is the estimator; ``encoding`` makes arrays of documents, ``features`` and ``templates``
look at the context, ``counts`` is stage 1, ``softmax`` and ``weights`` are stage 2, and
``second_pass`` runs both again with the neighbours' labels.
"""
