"""Annotation by people: projects, documents, layers, decisions; proposals, measures, retraining.

``store.AnnotationStore`` keeps what people decide (``database``, ``schema``, ``migrating``; plain
``records``), ``accounts`` and ``permissions`` say who may do what, ``imports``, ``exports``
and ``backups`` bring it in and out, ``tasks`` know what is decided in each kind of
annotation.  No HTTP: ``studio.service`` serves what is here, `eigentext annotate` commands it.
"""
