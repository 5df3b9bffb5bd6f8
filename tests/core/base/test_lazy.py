import pytest

import eigentext
from eigentext import constituency, datasets, dependency, lexical, sequences, words
from eigentext.base.lazy import lazy
from eigentext.tagging import sequence as tagging

PACKAGES = [eigentext, constituency, datasets, dependency, lexical, sequences, tagging, words]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda package: package.__name__)
def test_a_package_has_all_names_it_promises_and_no_others(package):
    assert set(package.__all__) <= set(dir(package))
    for name in dir(package):
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match=f"module '{package.__name__}' has no attribute 'no'"):
        _ = package.no


def test_names_and_modules_are_found_where_they_live():
    from eigentext.language.trees import heads
    from eigentext.language.trees.constituent import Tree

    attribute, names, public = lazy(
        "eigentext.language.trees", {"constituent": "Tree"}, modules="heads"
    )
    assert attribute("Tree") is Tree
    assert attribute("heads") is heads
    assert names() == ["Tree", "heads"]
    assert public == ["Tree"]
