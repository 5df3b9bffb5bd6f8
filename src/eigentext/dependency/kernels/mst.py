"""Best trees whose arcs may cross, and the k best: arrays and scalars only, nothing is checked.

Words are 1..n and 0 is the root; ``arc[h, d]`` scores head h of dependent d, ``-inf`` forbids.
Exactly one word hangs from the root.
"""

import numpy as np

from eigentext.base.compiling import njit


@njit
def tree_score(arc, heads):
    """Sum of the arcs of a tree, words in order."""
    score = 0.0
    for i in range(len(heads)):
        score += arc[heads[i], i + 1]
    return score


@njit
def subtrees(heads):
    """Numbers under which the words below w in the tree follow w, and how many those are with w.

    So x is w or below it if 0 <= number[x] - number[w] < below[w]; entry 0 is not used.
    """
    n = len(heads)
    child = np.zeros(n + 1, np.int32)
    sibling = np.zeros(n + 1, np.int32)
    for w in range(1, n + 1):
        sibling[w] = child[heads[w - 1]]
        child[heads[w - 1]] = w
    number = np.empty(n + 1, np.int32)
    below = np.ones(n + 1, np.int32)
    order = np.empty(n + 1, np.int32)
    stack = np.empty(n + 1, np.int32)
    # depth first, numbers in the order of the visits: all that is below w comes right after w
    stack[0] = child[0]
    depth = 1
    count = 0
    while depth:
        depth -= 1
        w = stack[depth]
        number[w] = count
        order[count] = w
        count += 1
        c = child[w]
        while c:
            stack[depth] = c
            depth += 1
            c = sibling[c]
    for k in range(count - 1, 0, -1):  # dependents before heads
        below[heads[order[k] - 1]] += below[order[k]]
    return number, below


@njit
def contract(arc, heads, into, chosen_tail, chosen_tip, chosen_score, settled):
    """Best tree with one child of the root, projective or not: Chu-Liu/Edmonds in O(n^2).

    Trees are ordered by (few root arcs, high score), so a root arc loses against every other arc
    that enters the same node.  The root has no head and thus lies on no cycle, so no contraction
    ever moves a score between the two parts of that order, and the rule stays as simple as that:
    take the best arc from another word, and an arc from the root only if there is none.  If a
    second node has to take it, every tree that is left has two roots.

    From any word, best heads are followed until a word that has its way to the root (all on the
    path are done) or one on the path (a cycle: it becomes one node, kept in the slot of that
    word, with the scores of entering arcs less what the arc they replace had).  The node number
    of a slot, and for each node the node it went into, lead back to the arcs.

    Returns the number of nodes (words first, then cycles), 0 if there is no tree.  For each node:
    ``into`` the cycle it went into or -1, its best entering arc ``chosen_tail -> chosen_tip`` and
    what that scored at this node's level, and whether the arc was ``settled`` away by another.
    """
    n = arc.shape[0] - 1
    size = n + 1
    enter = np.empty((size, size))  # [dependent slot, head slot], as all below
    tail = np.empty((size, size), np.int32)
    tip = np.empty((size, size), np.int32)
    for d in range(size):
        for h in range(size):
            enter[d, h] = arc[h, d]
            tail[d, h] = h
            tip[d, h] = d
    state = np.zeros(size, np.int8)  # 0 new, 1 on the path, 2 done, 3 swallowed by another slot
    node_of = np.arange(size)
    path = np.empty(size, np.int32)
    n_nodes = size
    n_roots = 0
    heads[:] = -1
    into[:] = -1
    settled[:] = False
    state[0] = 2
    for start in range(1, size):
        if state[start] != 0:
            continue
        path[0] = start
        state[start] = 1
        length = 1
        while True:
            # v, the end of the path, takes the best arc that enters it
            v = path[length - 1]
            best = -np.inf
            u = 0
            for h in range(1, size):
                if h != v and state[h] != 3 and enter[v, h] > best:
                    best = enter[v, h]
                    u = h
            if u == 0:  # no word can be its head: the root has to
                n_roots += 1
                best = enter[v, 0]
                if n_roots > 1 or best == -np.inf:
                    return 0
            node = node_of[v]
            chosen_tail[node] = tail[v, u]
            chosen_tip[node] = tip[v, u]
            chosen_score[node] = best
            if state[u] == 2:
                for p in range(length):
                    state[path[p]] = 2
                break
            if state[u] == 0:
                state[u] = 1
                path[length] = u
                length += 1
                continue
            # a cycle: from v back along the path to u; all of it goes into slot u
            for p in range(length - 1, -1, -1):
                c = path[p]
                into[node_of[c]] = n_nodes
                if c == u:
                    break
                state[c] = 3
            # Entering the cycle at one of its nodes throws out that node's chosen arc, so an arc
            # that enters counts what it has more than that one.  Of the arcs from one outside
            # node x only the best stays, with the words it really joins; leaving arcs likewise.
            first = chosen_score[node_of[u]]
            for x in range(size):
                if state[x] != 3 and x != u and enter[u, x] != -np.inf:
                    enter[u, x] -= first
            while path[length - 1] != u:
                length -= 1
                c = path[length]
                less = chosen_score[node_of[c]]
                for x in range(size):
                    if state[x] == 3 or x == u:
                        continue
                    if enter[c, x] != -np.inf and enter[c, x] - less > enter[u, x]:
                        enter[u, x] = enter[c, x] - less
                        tail[u, x] = tail[c, x]
                        tip[u, x] = tip[c, x]
                    if enter[x, c] > enter[x, u]:
                        enter[x, u] = enter[x, c]
                        tail[x, u] = tail[x, c]
                        tip[x, u] = tip[x, c]
            node_of[u] = n_nodes
            n_nodes += 1
    # Expansion, the latest cycle first: the arc into a node breaks all cycles between that node
    # and the word it enters, whose own chosen arcs are settled away by it
    for node in range(n_nodes - 1, 0, -1):
        if settled[node]:
            continue
        word = chosen_tip[node]
        heads[word - 1] = chosen_tail[node]
        inner = word
        while inner != node:
            settled[inner] = True
            inner = into[inner]
    return n_nodes


@njit
def mst_kernel(arc, heads):
    """Best tree with one child of the root, projective or not: Chu-Liu/Edmonds in O(n^2)."""
    room = 2 * arc.shape[0]
    into = np.empty(room, np.int32)
    tails = np.empty(room, np.int32)
    tips = np.empty(room, np.int32)
    if contract(arc, heads, into, tails, tips, np.empty(room), np.empty(room, np.bool_)) == 0:
        return -np.inf
    return tree_score(arc, heads)


@njit
def mst_best_and_next(arc, heads):
    """The best tree, what the second best has less, and the word whose arc that one lacks."""
    # Let T be the tree that the contraction finds and b = chosen arc of a node S (a word or a
    # cycle) that stayed in T.  Any other arc f that enters S and does not come from below S in T
    # gives another tree, worse by score(b) - score(f) as both stood when b was chosen.  The least
    # of these losses, over all S, is that of the second best tree (Camerini et al.).  Arcs that
    # enter word w score arc[h, w] less the chosen arcs of all nodes from w up to S, S excluded.
    # Only an arc from the root can take the place of one from the root, and no other's.
    # Returns (score or -inf, loss or inf, word or 0).
    size = arc.shape[0]
    into = np.empty(2 * size, np.int32)
    tails = np.empty(2 * size, np.int32)
    tips = np.empty(2 * size, np.int32)
    chosen = np.empty(2 * size)
    settled = np.empty(2 * size, np.bool_)
    if contract(arc, heads, into, tails, tips, chosen, settled) == 0:
        return -np.inf, np.inf, 0
    # number words so that those below w in T are enter_at[w] <= number < enter_at[w] + below[w]
    enter_at, below = subtrees(heads)
    loss = np.inf
    word = 0
    for w in range(1, size):
        node = w
        less = 0.0  # the chosen arcs on the way from w up to node
        while node >= 0:
            if not settled[node]:
                tip, tail = tips[node], tails[node]
                start, stop = (0, 1) if tail == 0 else (1, size)
                for h in range(start, stop):
                    if h > 0 and 0 <= enter_at[h] - enter_at[tip] < below[tip]:
                        continue  # from below: that would close a cycle
                    if (w == tip and h == tail) or arc[h, w] == -np.inf:
                        continue
                    value = chosen[node] - (arc[h, w] - less)
                    if value < loss:
                        loss = value
                        word = tip
            less += chosen[node]
            node = into[node]
    return tree_score(arc, heads), loss if loss > 0.0 else 0.0, word


@njit
def kbest_mst_kernel(arc, k, trees):
    """Fills ``trees`` (k, n) with the best trees that have one root, best first; returns how many.

    A part of the space is all trees with some arcs fixed and some banned.  Each keeps its best
    tree and the arc a that its second best lacks.  The part with the highest second best is split
    into the trees with a (whose best is the same) and those without (whose best is that one).

    Each of the 2k - 1 parts takes one search in O(n^2): O(k n^2) time, O(k n) memory.
    """
    size = arc.shape[0]
    n = size - 1
    n_parts = 2 * k - 1  # the whole, then in turns the part without a and the part with a
    parent = np.empty(n_parts, np.int32)
    # as against the parent's part, the arc from bound_head into bound_word is fixed or banned
    bound_word = np.empty(n_parts, np.int32)
    bound_head = np.empty(n_parts, np.int32)
    tree_of = np.empty(n_parts, np.int32)
    split_word = np.empty(n_parts, np.int32)
    # the score of the second best tree, -inf if there is none or the part was split
    promise = np.empty(n_parts)
    current = np.empty((size, size))
    heads = np.empty(n, np.int32)
    n_trees = 0
    part = 0
    for child in range(n_parts):
        with_arc = child > 0 and child % 2 == 0
        if child > 0 and not with_arc:
            # split the part whose second best is the best of all
            part = 0
            for x in range(1, child):
                if promise[x] > promise[part]:
                    part = x
            if promise[part] == -np.inf:
                break
            promise[part] = -np.inf
        promise[child] = -np.inf
        if child > 0:
            parent[child] = part
            bound_word[child] = split_word[part]
            bound_head[child] = trees[tree_of[part], split_word[part] - 1]
        for h in range(size):
            for w in range(size):
                current[h, w] = arc[h, w]
        # all that was fixed (even numbers) or banned (odd ones) on the way to this part
        at = child
        while at > 0:
            w, head = bound_word[at], bound_head[at]
            for h in range(size):
                if (h == head) != (at % 2 == 0):
                    current[h, w] = -np.inf
            at = parent[at]
        score, loss, word = mst_best_and_next(current, heads)
        if score == -np.inf:
            continue
        old = tree_of[part] if with_arc else n_trees
        for w in range(1, size):
            if not with_arc:
                trees[n_trees, w - 1] = heads[w - 1]
            elif heads[w - 1] != trees[old, w - 1]:  # as good as the old one: this is the next
                loss, word = 0.0, w
        n_trees += not with_arc
        tree_of[child] = old
        split_word[child] = word
        promise[child] = score - loss
        if n_trees == k:
            break
    return n_trees
