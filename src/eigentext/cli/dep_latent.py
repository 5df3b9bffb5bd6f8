"""``eigentext dep latent``: a latent tree model from trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eigentext.cli import options
from eigentext.cli.command import Given, with_settings
from eigentext.cli.dep_eval import trees_of as sentences_of
from eigentext.cli.output import Clock, progress_bar, show_figures, skipped_count, skipping
from eigentext.dependency.settings import LatentTreeSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from eigentext.base.files.opening import OnError
    from eigentext.formats.conllu import Sentence
    from eigentext.trees.dependency import DependencyTree


def trees_of(
    sources: Iterable[str], *, on_error: OnError | None = None
) -> Iterator[tuple[Sentence, DependencyTree]]:
    """Sentences of CoNLL-U and CoNLL-X files with their trees; one without heads is an error.

    Tags are those of column UPOS, and of XPOS where that is empty.
    """
    from eigentext.base.files.opening import expand
    from eigentext.errors import DataError
    from eigentext.formats import conllu, conllx

    for source in expand(sources):
        for one in sentences_of(source, on_error):
            sentence = conllx.to_conllu(one) if isinstance(one, conllx.Sentence) else one
            if not isinstance(sentence, conllu.Sentence) or sentence.heads is None:
                why = "the sentence that begins here has no heads; expected a tree"
                found = DataError(one.source, one.first_line, why)
                if on_error is None:
                    raise found
                on_error(found)
                continue
            blank = set(sentence.column("upos")) == {"_"}
            yield sentence, conllu.to_dependency_tree(sentence, tags="xpos" if blank else "upos")


@with_settings(LatentTreeSettings)
def latent(
    trees: options.Sources,
    output: options.ModelOutput,
    given: Given,
    on_error: options.SkipErrors = options.OnError.stop,
    data_name: options.DataName = None,
    data_licence: options.DataLicence = None,
    quiet: options.Quiet = False,
    json: options.Json = False,
) -> None:
    """Learn a latent tree model: one hidden state per word, found by CCA and then EM.

    Its log p(words | tree) is shown by `dep score`, its states by `dep inspect`.

    Example:

        $ eigentext convert sample/train.mrg -o train.conllu

        $ eigentext dep latent train.conllu -o english.latent --n-states 50 --n-iter 5
    """
    from eigentext.base.files.opening import check_writable
    from eigentext.dependency import LatentTreeModel

    check_writable(output)
    clock = Clock()
    model = LatentTreeModel(**given.settings(LatentTreeSettings))
    model.check()
    with skipping(on_error, quiet=quiet) as log:
        bank = [tree for _, tree in trees_of(trees, on_error=log)]
    with progress_bar(quiet=quiet, unit="iterations") as update:
        model.fit(bank, progress=update)
    model.save(output, data=options.about_data(trees, data_name, data_licence))
    n_words = sum(map(len, bank))
    history = model.log_likelihoods_
    figures = {
        "trees": len(bank),
        "words": n_words,
        "observations": model.observations_.sizes[0],
        "states": model.n_states,
        "log_likelihood_per_word": history[-1] / n_words if history else None,
        "skipped": skipped_count(log),
        **clock.figures(),
    }
    if not quiet or json:
        show_figures(figures, as_json=json)
