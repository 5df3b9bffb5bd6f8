"""Sentences without trees beside trees: flags and figures of ``dep train`` and ``dep latent``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from eigentext.base.files.opening import OnError
    from eigentext.dependency.unlabelled import UnlabelledReport
    from eigentext.language.formats.conllu import ConlluBlock

__all__ = ["UnlabelledTrees", "UnlabelledWeight", "check_flags", "text_figures", "text_of"]

UnlabelledWeight = Annotated[
    float | None,
    typer.Option(
        "--unlabelled-weight",
        min=0,
        help="What a count in such a sentence is worth beside one in a tree; by default "
        "chosen on held-out trees.",
    ),
]
UnlabelledTrees = Annotated[
    Literal["all", "best"],
    typer.Option(
        "--unlabelled-trees",
        help="Count all trees of such a sentence by their posteriors, or its best alone.",
    ),
]


def check_flags(
    sources: list[str] | None,
    weight: float | None,
    trees: Literal["all", "best"],
    rounds: int | None = None,
) -> None:
    """Flags that are about the sentences, where there are none, are an error."""
    from eigentext.errors import SettingsError

    given = {
        "--unlabelled-weight": weight is not None,
        "--unlabelled-trees": trees != "all",
        "--unlabelled-rounds": rounds is not None,
    }
    for flag, is_given in given.items():
        if is_given and not sources:
            raise SettingsError(f"{flag} is about sentences without trees: give --unlabelled FILE")


def text_of(sources: list[str], on_error: OnError | None) -> list[ConlluBlock]:
    """The sentences of CoNLL-U files."""
    from eigentext.base.files.opening import expand
    from eigentext.language.formats.conllu import read_sentences

    return [one for source in expand(sources) for one in read_sentences(source, on_error=on_error)]


def text_figures(report: UnlabelledReport, held_out: str) -> dict[str, Any]:
    """Figures of what became of the sentences; ``held_out`` names what chose the weight."""
    figures: dict[str, Any] = {
        "unlabelled_used": report.n_used if report.weight else 0,
        "unlabelled_too_long": report.n_left_out,
        "unlabelled_weight": report.weight,
    }
    if report.held_out:
        by_weight = {f"{weight:g}": round(share, 2) for weight, share in report.held_out.items()}
        figures[held_out] = by_weight
    return figures
