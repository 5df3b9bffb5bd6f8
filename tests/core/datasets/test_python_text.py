"""The demo text: prose out of a library folder, code left behind."""

from __future__ import annotations

from itertools import islice

import pytest

from eigentext.datasets.python_text import sentences

MODULE = '''"""The first line of the module.

It has a second paragraph. It has two sentences (indeed).

    >>> print("this is code and must go")
    this is code and must go

Look at this example of the thing::

    literal block that should not be seen at all

    still literal and still unseen here

But this `marked` text of *ours* is prose again.
===============================================
:param x: a field that goes away
"""

def function(x):
    """Functions don't hide their text."""
    text = """No docstring, so nobody reads this line."""

    class Inner:
        """An inner class speaks third."""

async def later():
    """The last one comes last."""
'''
TOPICS = "topics = {'assert': 'Assert statements are a way to check things.', 'x': 'No.'}\n"


@pytest.fixture
def library(tmp_path):
    places = {
        "b.py": MODULE,
        "a/z.py": '"""This file comes before the other file."""\n',
        "pydoc_data/topics.py": TOPICS,
        "test/test_b.py": '"""Tests are not read by anybody."""\n',
        "site-packages/other.py": '"""Other people wrote this text."""\n',
        "idlelib/i.py": '"""The editor is not a text for us."""\n',
        "broken.py": '"""This does not parse.""" def (\n',
        "template.py": b'"""Bytes that are not text: \xff\xfe."""\n',
        "notes.txt": "This is not a module at all.",
    }
    for name, content in places.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return tmp_path


def test_prose_and_nothing_else_in_a_fixed_order(library):
    assert [" ".join(sentence) for sentence in sentences(library)] == [
        "Assert statements are a way to check things .",
        "This file comes before the other file .",
        "The first line of the module .",
        "It has a second paragraph .",
        "It has two sentences ( indeed ) .",
        "Look at this example of the thing :",
        "But this marked text of ours is prose again .",
        "Functions don't hide their text .",
        "An inner class speaks third .",
        "The last one comes last .",
    ]


def test_an_installation_without_topics_still_has_text(library):
    (library / "pydoc_data/topics.py").unlink()
    assert next(sentences(library))[0] == "This"


def test_this_installation_has_enough_text():
    words = (token for sentence in sentences() for token in sentence if token[0].isalpha())
    assert len(list(islice(words, 50_001))) > 50_000


def test_the_same_text_every_time():
    assert list(islice(sentences(), 3000)) == list(islice(sentences(), 3000))


def test_tokens_have_no_white_space_inside():
    for sentence in islice(sentences(), 3000):
        assert " ".join(sentence).split() == sentence
