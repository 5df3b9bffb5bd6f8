"""``eigentext convert``: between treebank formats."""

from __future__ import annotations

from eigentext.cli import options
from eigentext.cli.command import flag, with_flags
from eigentext.cli.verbs import Applying
from eigentext.language.formats.registry import CONVERTIBLE

_NAMES = f"{', '.join(CONVERTIBLE[:-1])} or {CONVERTIBLE[-1]}"


@with_flags()
def convert(
    source: options.Source,
    run: Applying,
    from_format: str | None = flag(f"{_NAMES}; else by name.", None, "--from"),
    to_format: str | None = flag(f"{_NAMES}; else by name.", None, "--to"),
    heads: str = flag("Head rules for ptb to dependencies: english, neutral.", "english"),
    strip: bool = flag(
        "Remove traces, function tags and indices from brackets.", True, "--strip/--no-strip"
    ),
) -> None:
    """Convert between PTB brackets, CoNLL-U, CoNLL-X and plain tokens.

    Brackets become dependencies by head rules.

    Example:
        $ eigentext convert sample/dev.mrg -o dev.conllu
        $ eigentext convert sample/dev.mrg --to tokens
    """
    from eigentext.language.formats.convert import convert as convert_file

    with run.reading() as (log, _):
        written = convert_file(
            source,
            run.output,
            source_format=from_format,
            target_format=to_format,
            heads=heads,
            strip=strip,
            on_error=log,
        )
    run.tell({"sentences": written, "skipped": run.skipped})
