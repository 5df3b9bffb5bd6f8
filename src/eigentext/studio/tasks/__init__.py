"""What is decided in each kind of annotation, and what a model proposes under the decisions.

A *task* is one of `TASKS`; :func:`open_task` makes one, with a model or (a new language) without::

    task = open_task("dependency", model)            # or open_task("dependency")
    proposal = task.propose(document, decisions, 0)  # sentence 0 under all decisions so far
    value = task.check(document, 0, "a2", {"head": 3})      # DataError if it makes no sense
    proposal = task.propose(document, {(0, "a2"): value}, 0)  # the rest is proposed anew

Tasks know no database and no HTTP.  *Decisions* are a mapping {(sentence, item): value} of one
layer's state: the newest value of each item.  Items and values:

=============  ==========  =====================================================================
task           item        value
=============  ==========  =====================================================================
lexical        ``w3``      {"label": {element: value}}, and where typed by hand "lemma", "gloss",
                           "vocalised"; {"none": true}: none of the readings is right
dependency     ``a3``      {"head": 2, "deprel": "nsubj"}; either may be left out
constituency   ``s2-5``    {"label": "NP"} or {"labels": ["S", "VP"]} (a chain, the outermost
                           first) required, {"forbid": true} forbidden
constituency   ``t3``      {"tag": "NN"}
tags           ``t3``      any of {"upos": ..., "xpos": ..., "feats": ..., "lemma": ...}
entities       ``e2-5``    {"type": "PER"}; {"type": null}: no entity is, or overlaps, here
segmentation   ``b17``     {"cut": "sentence" | "word" | "none"} before character 17 of the text
segmentation   ``m4-9``    {"words": ["de", "le"]}: the token [4, 9) stands for these words
all            ``done``    {"analysis": ...}: the whole sentence as accepted
=============  ==========  =====================================================================

Words in items are counted from 0 and ends are excluded; only ``a3`` and its head are numbered as
in CoNLL-U: the first word is 1, the root 0.  A value may have a "note".  None as a value is a
decision that was taken back: as if it were not there.  A sentence that is ``done`` is what was
accepted, whatever else was decided; to go on with it, take ``done`` back.

Whatever is decided stands: where no model can follow (decisions contradict each other for it, a
label it never saw), the proposal keeps the decisions as given, proposes the rest as well as it
can, and says so (``followed``, ``notes``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from eigentext.studio.tasks.task import Task

#: The tasks by name, and where their classes are.
TASKS = {
    "lexical": "eigentext.studio.tasks.lexical:LexicalTask",
    "dependency": "eigentext.studio.tasks.dependency:DependencyTask",
    "constituency": "eigentext.studio.tasks.constituency:ConstituencyTask",
    "tags": "eigentext.studio.tasks.tags:TagsTask",
    "entities": "eigentext.studio.tasks.entities:EntitiesTask",
    "segmentation": "eigentext.studio.tasks.segmentation:SegmentationTask",
}


def open_task(name: str, model: Any = None, **settings: Any) -> Task:
    """The task of this name with a model: an object, a model file, or None for none.

    ``settings`` are the task's: ``labels`` (values to offer beside those of the model: relations,
    constituents, tags, types of entities), ``scheme`` (lexical: the label scheme without a model).

    >>> from eigentext.language import Doc
    >>> task = open_task("tags")
    >>> text = Doc.from_tokens([["dogs", "bark"]])
    >>> task.propose(text, {(0, "t0"): {"upos": "NOUN"}}, 0).analysis["upos"]
    ['NOUN', '_']
    """
    return task_class(name)(model, **settings)


def task_class(name: str) -> type[Task]:
    """The class of the tasks of this name.

    >>> task_class("constituency").formats
    ('ptb', 'conllu')
    """
    if name not in TASKS:
        raise SettingsError(f"no task {name[:60]!r}: expected one of {', '.join(TASKS)}")
    from importlib import import_module

    module, _, attribute = TASKS[name].partition(":")
    task: type[Task] = getattr(import_module(module), attribute)
    return task
