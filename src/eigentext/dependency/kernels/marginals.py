"""Sums over all trees, and arc probabilities: arrays and scalars only, nothing is checked.

All values are logarithms, so scores of any size do, and every sum is a sum of positive terms.
Arc probabilities are the derivatives of log Z by the arc scores, found by going through the same
sums backwards: what a sum is worth is dealt out to its terms by their shares in it.
"""

import math

import numpy as np

from eigentext.base.compiling import njit


@njit
def log_add(x, y):
    """log(exp x + exp y), -inf for nothing."""
    if x < y:
        x, y = y, x
    if y == -np.inf:
        return x
    return x + math.log1p(math.exp(y - x))


@njit
def log_sum(terms, count):
    """log of the sum of the first ``count`` exponentials."""
    top = -np.inf
    for k in range(count):
        if terms[k] > top:
            top = terms[k]
    if top == -np.inf:
        return top
    total = 0.0
    for k in range(count):
        total += math.exp(terms[k] - top)
    return top + math.log(total)


@njit
def _halves(a, b, complete, terms):
    """Terms of between[a, b]: where the facing halves of a < b meet; term k is at a + k."""
    for m in range(a, b):
        terms[m - a] = complete[a, m] + complete[b, m + 1]
    return b - a


@njit
def _modifiers(h, e, complete, incomplete, terms):
    """Terms of complete[h, e]: the outermost modifier; term k is word start + k."""
    start, stop = (h + 1, e + 1) if h < e else (e, h)
    for d in range(start, stop):
        terms[d - start] = incomplete[h, d] + complete[d, e]
    return stop - start


@njit
def _befores(h, d, arc, sib, complete, incomplete, between, terms):
    """Terms of incomplete[h, d], second order: term 0 none before d, then s from the low end."""
    a, b = min(h, d), max(h, d)
    terms[0] = arc[h, d] + sib[h, h, d] + complete[d, h + 1 if h < d else h - 1]
    for s in range(a + 1, b):
        terms[s - a] = arc[h, d] + sib[h, s, d] + incomplete[h, s] + between[min(s, d), max(s, d)]
    return b - a


@njit(nogil=True)
def inside_outside(arc, sib, second, marginals):
    """Projective trees with one root: fills ``marginals`` (n+1, n+1), returns log Z.

    The charts of the decoders with log-sums for maxima: ``complete[h, e]`` is the log of the sum
    over all half-trees of h up to e, and so on.  Then from wide spans to narrow ones each cell's
    derivative of log Z goes to the parts of its terms, by exp(term - cell)::

        d_complete[x] = d log Z / d complete[x] = sum over the cells y with a term t that x is part
                        of, of d_y exp(t - y)

    That of ``incomplete[h, d]`` is the marginal of arc h -> d itself, since each such cell has the
    arc's score in every term.  O(n^3) time and O(n^2) memory, forwards and backwards.
    """
    size = arc.shape[0]
    n = size - 1
    complete = np.full((size, size), -np.inf)
    incomplete = np.full((size, size), -np.inf)
    between = np.full((size, size), -np.inf)
    terms = np.empty(size)
    for w in range(1, size):
        complete[w, w] = 0.0
    # inside: from narrow spans to wide ones
    for width in range(1, n):
        for a in range(1, size - width):
            b = a + width
            between[a, b] = log_sum(terms, _halves(a, b, complete, terms))
            for h, d in ((a, b), (b, a)):
                if second:
                    count = _befores(h, d, arc, sib, complete, incomplete, between, terms)
                    incomplete[h, d] = log_sum(terms, count)
                else:
                    incomplete[h, d] = arc[h, d] + between[a, b]
            for h, e in ((a, b), (b, a)):
                complete[h, e] = log_sum(terms, _modifiers(h, e, complete, incomplete, terms))
    for r in range(1, size):
        terms[r - 1] = arc[0, r] + complete[r, 1] + complete[r, n]
        if second:
            terms[r - 1] += sib[0, 0, r]
    log_z = log_sum(terms, n)
    for h in range(size):
        for d in range(size):
            marginals[h, d] = 0.0
    if log_z == -np.inf:
        return log_z
    # outside: the same sums backwards
    d_complete = np.zeros((size, size))
    d_between = np.zeros((size, size))
    for r in range(1, size):
        share = math.exp(terms[r - 1] - log_z)
        marginals[0, r] = share
        d_complete[r, 1] += share
        d_complete[r, n] += share
    for width in range(n - 1, 0, -1):
        for a in range(1, size - width):
            b = a + width
            for h, e in ((a, b), (b, a)):
                if d_complete[h, e] > 0.0:
                    start = a + 1 if h < e else a
                    count = _modifiers(h, e, complete, incomplete, terms)
                    for k in range(count):
                        share = d_complete[h, e] * math.exp(terms[k] - complete[h, e])
                        marginals[h, start + k] += share
                        d_complete[start + k, e] += share
        # modifiers with another before them hand on to shorter ones of the same head only
        for a in range(1, size - width):
            b = a + width
            for h, d in ((a, b), (b, a)):
                if marginals[h, d] > 0.0:
                    if not second:
                        d_between[a, b] += marginals[h, d]
                        continue
                    count = _befores(h, d, arc, sib, complete, incomplete, between, terms)
                    share = marginals[h, d] * math.exp(terms[0] - incomplete[h, d])
                    d_complete[d, h + 1 if h < d else h - 1] += share
                    for k in range(1, count):
                        share = marginals[h, d] * math.exp(terms[k] - incomplete[h, d])
                        marginals[h, a + k] += share
                        d_between[min(a + k, d), max(a + k, d)] += share
            if d_between[a, b] > 0.0:
                count = _halves(a, b, complete, terms)
                for k in range(count):
                    share = d_between[a, b] * math.exp(terms[k] - between[a, b])
                    d_complete[a, a + k] += share
                    d_complete[b, a + k + 1] += share
    return log_z


@njit
def _exchange(matrix, m):
    for x in range(m + 1):
        matrix[1, x], matrix[m, x] = matrix[m, x], matrix[1, x]
    for x in range(m + 1):
        matrix[x, 1], matrix[x, m] = matrix[x, m], matrix[x, 1]


@njit(nogil=True)
def matrix_tree(arc, marginals):
    """All trees with one root: fills ``marginals`` (n+1, n+1), returns log Z.

    The determinant of the matrix-tree theorem (Koo et al. 2007; Smith and Smith 2007) taken by
    elimination of one word after the other without a single subtraction, as Grassmann, Taksar and
    Heyman do for Markov chains.  With w = exp(score), word v goes out by ::

        p[v]     = sum over words h left, h != v, of w[h, v]
        w'[h, d] = w[h, d] + w[v, d] w[h, v] / p[v]        h a word left or the root, d != h

    that is, the dependents of v hang from the head of v.  The root takes part in no p, so it is
    used once, at the end: log Z = sum of log p[v] + log w[0, last].  A word without a head among
    the words goes out last; two of them, and there is no tree with one root.

    Backwards, with G[h, d] = derivative of log Z by log w[h, d]: the share of the second term of
    w' in G'[h, d] goes to [v, d] and to [h, v], and 1 - (all such shares) to p[v].

    ``stages`` keeps w before each step, words in rows and columns 1..m, the root in row 0; all on
    logs.  O(n^3) time and memory: a determinant would do with O(n^2) memory, but loses digits
    where its terms cancel.
    """
    n = arc.shape[0] - 1
    starts = np.empty(n + 1, np.int64)
    total = 0
    for m in range(n, 0, -1):
        starts[m] = total
        total += (m + 1) * (m + 1)
    stages = np.empty(total)
    log_p = np.zeros(n + 1)
    swapped = np.zeros(n + 1, np.bool_)
    terms = np.empty(n)
    side = n + 1
    for h in range(side):
        for d in range(side):
            stages[h * side + d] = arc[h, d] if h != d and d > 0 else -np.inf
            marginals[h, d] = 0.0
    log_z = 0.0
    for m in range(n, 1, -1):  # word m of those left goes out
        side = m + 1
        w = stages[starts[m] : starts[m] + side * side].reshape(side, side)
        p = -np.inf
        for attempt in range(2):
            for h in range(1, m):
                terms[h - 1] = w[h, m]
            p = log_sum(terms, m - 1)
            if p > -np.inf or attempt:
                break
            swapped[m] = True  # nobody can be the head of this one: it changes with word 1
            _exchange(w, m)
        if p == -np.inf:
            return p
        log_p[m] = p
        log_z += p
        after = stages[starts[m - 1] : starts[m - 1] + m * m].reshape(m, m)
        for h in range(m):
            through = w[h, m] - p  # h -> m -> d becomes h -> d
            for d in range(1, m):
                after[h, d] = -np.inf
                if h != d:
                    after[h, d] = log_add(w[h, d], w[m, d] + through)
    log_z += stages[starts[1] + 1]
    if log_z == -np.inf:
        return log_z
    # backwards: ``marginals`` holds G over the words that are left, and word m comes back
    marginals[0, 1] = 1.0
    for m in range(2, n + 1):
        side = m + 1
        w = stages[starts[m] : starts[m] + side * side].reshape(side, side)
        after = stages[starts[m - 1] : starts[m - 1] + m * m].reshape(m, m)
        passed = 0.0
        for h in range(m):
            through = w[h, m] - log_p[m]
            dealt = 0.0
            for d in range(1, m):
                grade = marginals[h, d]
                if grade == 0.0 or h == d:
                    continue
                # w'[h, d] was a sum of two: each gets its share of the derivative
                share = grade * math.exp(w[m, d] + through - after[h, d])
                marginals[h, d] = grade * math.exp(w[h, d] - after[h, d])
                marginals[m, d] += share
                dealt += share
            marginals[h, m] += dealt
            passed += dealt
        # log p[m] is a term of log Z (1), and divides each of the shares passed through m
        for h in range(1, m):
            marginals[h, m] += (1.0 - passed) * math.exp(w[h, m] - log_p[m])
        if swapped[m]:
            _exchange(marginals, m)
            _exchange(w, m)
    for h in range(n + 1):
        for d in range(n + 1):
            if marginals[h, d] < 0.0:  # a rounded zero
                marginals[h, d] = 0.0
    return log_z
