"""``eigentext serve``: the service and its pages."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any free one.")] = 8000,
    dep_model: Annotated[
        str | None,
        typer.Option("--dep-model", help="A model of `dep train`: the page parses sentences too."),
    ] = None,
    lex_model: Annotated[
        str | None,
        typer.Option("--lex-model", help="A model of `lex train`: the page helps to read texts."),
    ] = None,
    lex_analyzer: Annotated[
        str | None,
        typer.Option("--lex-analyzer", help="Where that model's analyzer lies now, if elsewhere."),
    ] = None,
    annotations: Annotated[
        str | None,
        typer.Option(
            "--annotations",
            help="A file (SQLite, made if not there): the page is for annotating too, and keeps "
            "every decision there.",
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Serve the JSON API and the tree bench until interrupted.

    Example (runs until interrupted):

        # eigentext serve --port 8000

        # eigentext serve --dep-model english.dep

        # eigentext serve --lex-model arabic.ranker --annotations arabic.db
    """
    import socket

    from eigentext.errors import SettingsError
    from eigentext.web import serve as serve_app
    from eigentext.web.settings import ServiceSettings

    try:
        socket.create_server((host, port)).close()
    except OSError as error:
        raise SettingsError(f"cannot listen on {host}:{port}: {error.strerror}") from error

    settings = ServiceSettings(
        dep_model=dep_model,
        lex_model=lex_model,
        lex_analyzer=lex_analyzer,
        annotations=annotations,
    )
    serve_app(host, port, settings=settings, log_level="warning" if quiet else "info")
