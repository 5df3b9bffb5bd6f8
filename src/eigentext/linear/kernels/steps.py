"""Steps of learning that linear models take one weight at a time.

AdaGrad (Duchi et al. 2011) goes up a gradient g by less and less where there was much of it, and
the perceptron and MIRA go by whole steps, of which the mean over time is kept::

    q <- q + g^2,   w <- w + rate g / sqrt(q)                         ``adagrad``
    w <- w + step,  sum <- sum + step time,  mean = w - sum / time    ``move`` (``base.averaging``)
"""

import math

from eigentext.base.compiling import njit


@njit(inline="always")
def adagrad(weights, squares, at, gradient, rate):
    """One weight goes up its gradient; ``squares`` begin above 0."""
    squares[at] += gradient * gradient  # q, which only grows: steps get shorter
    weights[at] += rate * gradient / math.sqrt(squares[at])


@njit(inline="always")
def move(weights, sums, slots, step, time):
    """The weights at ``slots`` go by a step, as often as they are listed."""
    for i in range(len(slots)):
        weights[slots[i]] += step
        sums[slots[i]] += step * time
