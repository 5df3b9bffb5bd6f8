"""``POST /api/words/...``: what models of words know, in a worker.

The flow: a name -> its model, loaded once -> `WordBrowser` (the library's answers) -> JSON.  What
takes long and is asked again, the map and the words that moved, is remembered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.base.remembering import Remembered
from eigentext.drawing.words_map import COLOURED_BITS, map_points
from eigentext.drawing.words_tree import cluster_tree_svg
from eigentext.errors import SettingsError
from eigentext.studio.api import schemas_words as wire
from eigentext.studio.service.limits import TooMuchError
from eigentext.words.browsing import Near, WordBrowser, compared, moved_words
from eigentext.words.embeddings.vectors import not_known, parse_query

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pydantic import BaseModel

    from eigentext.drawing.words_tree import ClusterTree
    from eigentext.studio.service.models import Served
    from eigentext.studio.service.settings import ServiceSettings

_EXAMPLES = 8  # words of a branch
_ENDS = 30  # of a drawn tree
_FREQUENT = 20  # words that clusters must have to colour a map
_REMEMBERED = 32  # maps, and comparisons of two models


class WordsService:
    """The models of words of a service, ready to be browsed."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._browsers = {name: _browser(served, name) for name in served.names("words")}
        for browser in self._browsers.values():  # no request waits for what is made once
            browser.find("a", 1)
            if browser.tree is not None:
                browser.look(browser.words[0], 1)
        self._maps: Remembered[tuple[str, int, str | None], wire.MapAnswer] = Remembered(
            _REMEMBERED
        )
        self._moved: Remembered[tuple[str, str, int, int, int], wire.WordsCompareAnswer] = (
            Remembered(_REMEMBERED)
        )

    @property
    def jobs(self) -> dict[str, Callable[..., BaseModel]]:
        """The jobs by name."""
        return {
            "words/find": self.find,
            "words/look": self.look,
            "words/tree": self.tree,
            "words/neighbours": self.neighbours,
            "words/map": self.map,
            "words/compare": self.compare,
        }

    def find(self, request: wire.FindRequest, limits: ServiceSettings) -> wire.FindAnswer:
        """Words with a text in them."""
        name, browser = self._chosen(request.model)
        return wire.FindAnswer(model=name, words=browser.find(request.text, request.n))

    def look(self, request: wire.LookRequest, limits: ServiceSettings) -> wire.LookAnswer:
        """One word."""
        name, browser = self._chosen(request.model)
        n_words = len(browser.words)
        if request.word not in browser.rank_of:
            unknown, why = _unknown(browser, [request.word])
            return wire.LookAnswer(
                model=name, word=request.word, unknown=unknown[0], why=why, n_words=n_words
            )
        facts = dict(vars(browser.look(request.word, request.top)))
        members = [
            wire.CountedWord(word=word, count=count) for word, count in facts.pop("members")
        ]
        return wire.LookAnswer(model=name, n_words=n_words, members=members, **facts)

    def tree(self, request: wire.TreeRequest, limits: ServiceSettings) -> wire.TreeAnswer:
        """One prefix and what is around it."""
        name, browser = self._chosen(request.model)
        tree = browser.tree
        if tree is None:
            raise SettingsError(
                f"{name} has vectors, not clusters: there is no tree{self._hint()}"
            )
        at = tree.node_at(request.prefix)
        if at is None:
            raise SettingsError(
                f"no cluster begins with {request.prefix}: take a shorter prefix of bits"
            )
        nodes = tree.nodes
        node, above = nodes[at], [nodes[at].parent]
        while above[-1] >= 0:
            above.append(nodes[above[-1]].parent)
        beside = [k for k in tree.children[node.parent] if k != at] if node.parent >= 0 else []
        words = tree.examples(node, request.top)
        counts = [
            browser.counts[browser.rank_of[word]] if browser.counts else None for word in words
        ]
        clusters, n_words, n_tokens = tree.sizes(node)
        return wire.TreeAnswer(
            model=name,
            prefix=tree.prefix(node),
            n_clusters=clusters,
            n_words=n_words,
            n_tokens=n_tokens,
            total_tokens=tree.sizes(nodes[0])[2],
            words=[wire.CountedWord(word=w, count=n) for w, n in zip(words, counts, strict=True)],
            above=[tree.prefix(nodes[k]) for k in reversed(above) if k >= 0],
            beside=[_branch(tree, k, 0) for k in beside],
            below=_below(tree, at, request.depth),
            svg=cluster_tree_svg(tree, ends=_ENDS, root=at) if request.draw else None,
        )

    def neighbours(
        self, request: wire.NeighboursRequest, limits: ServiceSettings
    ) -> wire.NeighboursAnswer:
        """The nearest words, and analogies."""
        name, browser = self._chosen(request.model)
        _check("neighbours", request.k, limits.max_neighbours)
        answers = []
        for query in request.queries:
            words = parse_query(query, browser.rank_of)
            if len(words) > 1 and browser.space is None:
                raise SettingsError(
                    f"{name} has clusters, not vectors: analogies need vectors"
                    f"{self._hint(vectors=True)}"
                )
            missing = [word for word in dict.fromkeys(words) if word not in browser.rank_of]
            if missing:
                unknown, why = _unknown(browser, missing)
                answers.append(
                    wire.QueryAnswer(query=query, neighbours=[], unknown=unknown, why=why)
                )
                continue
            near: Near = (
                browser.neighbours(query, request.k)
                if browser.space is None
                else list(browser.space.nearest([query], request.k)[0])
            )
            answers.append(wire.QueryAnswer(query=query, neighbours=_near(near)))
        by = "clusters" if browser.space is None else "vectors"
        return wire.NeighboursAnswer(model=name, by=by, answers=answers)

    def map(self, request: wire.MapRequest, limits: ServiceSettings) -> wire.MapAnswer:
        """Frequent words in the plane."""
        name, browser = self._chosen(request.model)
        space, n_words = browser.space, min(request.n_words, limits.max_map_words)
        if space is None:
            raise SettingsError(
                f"{name} has clusters, not vectors: a map needs vectors{self._hint(vectors=True)}"
            )
        key = name, n_words, request.colours
        answer = self._maps.get(key)
        if answer is not None:
            return answer
        source, paths = self._paths(browser, request.colours)
        placed = map_points(space.words, space.unit, n_words=n_words, paths=paths)
        prefixes = (
            [] if paths is None else sorted({paths[w][:COLOURED_BITS] for w in placed.words})
        )
        answer = wire.MapAnswer(
            model=name,
            words=placed.words,
            points=[(round(x, 4), round(y, 4)) for x, y in placed.points.tolist()],
            colours=source,
            groups=placed.groups,
            prefixes=prefixes,
            n_words=len(browser.words),
        )
        return self._maps.put(key, answer)

    def _paths(
        self, browser: WordBrowser, colours: str | None
    ) -> tuple[str | None, dict[str, str] | None]:
        """The model that gives the groups of words, and the bits of each word."""
        if colours == "":
            return None, None
        if colours is not None:
            source, chosen = self._chosen(colours)
            if chosen.tree is None:
                raise SettingsError(f"{source} has no clusters: colours need some{self._hint()}")
            return source, chosen.tree.paths()
        for source, other in self._browsers.items():
            # one that lacks frequent words would leave holes in the map
            fits = all(word in other.rank_of for word in browser.words[:_FREQUENT])
            if other.tree is not None and fits:
                return source, other.tree.paths()
        return None, None

    def compare(
        self, request: wire.WordsCompareRequest, limits: ServiceSettings
    ) -> wire.WordsCompareAnswer:
        """Two models."""
        name, first = self._chosen(request.model)
        other_name, other = self._chosen(request.other or self._second(name))
        _check("neighbours", request.k, limits.max_neighbours)
        n_words = min(request.n_words, limits.max_map_words)
        key = name, other_name, n_words, request.k, request.top
        answer = self._moved.get(key)
        if answer is None:
            moved, mean, n_shared = moved_words(
                first, other, n_words=n_words, k=request.k, top=request.top
            )
            answer = wire.WordsCompareAnswer(
                model=name,
                other=other_name,
                word=None,
                unknown=[],
                why=None,
                moved=[
                    wire.MovedView(
                        word=each.word, overlap=each.overlap, first=each.first, other=each.second
                    )
                    for each in moved
                ],
                mean_overlap=mean,
                n_shared=n_shared,
            )
            self._moved.put(key, answer)
        return answer.model_copy(update=_compared(request, first, other, name, other_name))

    def _second(self, name: str) -> str:
        return next((other for other in self._browsers if other != name), name)

    def _chosen(self, name: str | None) -> tuple[str, WordBrowser]:
        chosen = self._served.chosen("words", name)
        return chosen, self._browsers[chosen]

    def _hint(self, *, vectors: bool = False) -> str:
        """The models that have what this one lacks."""
        there = [
            name
            for name, browser in self._browsers.items()
            if (browser.space if vectors else browser.tree) is not None
        ]
        verb = "has" if len(there) == 1 else "have"
        return f"; {', '.join(there)} {verb} them" if there else ""


def _browser(served: Served, name: str) -> WordBrowser:
    try:
        return WordBrowser.of(served.get("words", name))
    except SettingsError as error:  # the service does not start: say which model it is
        raise SettingsError(f"{name}: {error}") from error


def _check(what: str, n: int, most: int) -> None:
    if n > most:
        raise TooMuchError(f"{n:,} {what}; at most {most:,} are given at once")


def _unknown(browser: WordBrowser, words: Sequence[str]) -> tuple[list[wire.UnknownWord], str]:
    """Words that the model does not know, and what is said of the first."""
    unknown = [wire.UnknownWord(word=word, near=browser.near_spellings(word)) for word in words]
    return unknown, not_known(unknown[0].word, unknown[0].near)


def _near(neighbours: Near) -> list[wire.NearWord]:
    return [
        wire.NearWord(word=word, cosine=None if cosine is None else round(cosine, 4))
        for word, cosine in neighbours
    ]


def _compared(
    request: wire.WordsCompareRequest, first: WordBrowser, other: WordBrowser, *names: str
) -> dict[str, object]:
    """What is said of the word of the request."""
    word = request.word
    if word is None:
        return {}
    lacking = [
        (name, browser)
        for name, browser in zip(names, (first, other), strict=True)
        if word not in browser.rank_of
    ]
    if lacking:
        unknown = [_unknown(browser, [word])[0][0] for _, browser in lacking]
        why = f"{' and '.join(name for name, _ in lacking)}: {not_known(word, unknown[0].near)}"
        return {"unknown": unknown, "why": why}
    fields = compared(first, other, word, request.k)._asdict()
    fields |= {"first": _near(fields["first"]), "other": _near(fields.pop("second"))}
    return {"word": wire.ComparedWord(**fields)}


def _branch(tree: ClusterTree, k: int, depth: int) -> wire.Branch:
    node = tree.nodes[k]
    clusters, words, tokens = tree.sizes(node)
    return wire.Branch(
        prefix=tree.prefix(node),
        parent=None if node.parent < 0 else tree.prefix(tree.nodes[node.parent]),
        depth=depth,
        leaf=k not in tree.children,
        n_clusters=clusters,
        n_words=words,
        n_tokens=tokens,
        words=tree.examples(node, _EXAMPLES),
    )


def _below(tree: ClusterTree, at: int, depth: int) -> list[wire.Branch]:
    """The node and so many generations below it, parents first."""
    branches, row = [_branch(tree, at, 0)], [at]
    for generation in range(1, depth + 1):
        row = [child for k in row for child in tree.children.get(k, ())]
        branches += [_branch(tree, k, generation) for k in row]
    return branches
