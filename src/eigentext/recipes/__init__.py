"""Recipes: how models are made from open data, checked, described, and found by name.

``recipes`` and ``find_recipe`` read them; ``make`` makes a model and ``get_ready`` takes one that
somebody else has made; both put it where ``eigentext.load`` finds it by its name.  Nothing is
downloaded unless it is asked for.

>>> from eigentext.recipes import find_recipe
>>> find_recipe("hungarian").licence
'CC BY-NC-SA 3.0'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.lazy import lazy

if TYPE_CHECKING:
    from eigentext.recipes.making import Made as Made
    from eigentext.recipes.making import ScoresTooLowError as ScoresTooLowError
    from eigentext.recipes.making import make as make
    from eigentext.recipes.making import model_card as model_card
    from eigentext.recipes.ready import get_ready as get_ready
    from eigentext.recipes.ready import remove as remove
    from eigentext.recipes.recipe import Recipe as Recipe
    from eigentext.recipes.recipe import find_recipe as find_recipe
    from eigentext.recipes.recipe import read_recipe as read_recipe
    from eigentext.recipes.recipe import recipes as recipes

__getattr__, __dir__, __all__ = lazy(
    __name__,
    {
        "making": "Made ScoresTooLowError make model_card",
        "ready": "get_ready remove",
        "recipe": "Recipe find_recipe read_recipe recipes",
    },
)
