"""``eigentext serve``: the service and its pages."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options


def serve(
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="0: any free one.")] = 8000,
    pipe: Annotated[
        list[str] | None,
        typer.Option(
            "--pipe",
            help="A pipeline of `pipe train`, or its name (may be given again): everything from "
            "raw text, on the page, over our API and over UDPipe's.",
        ),
    ] = None,
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
    workers: Annotated[
        int,
        typer.Option("--workers", min=1, help="Processes; each has the models in its memory."),
    ] = 2,
    seconds: Annotated[
        float,
        typer.Option(
            "--seconds", min=0.1, help="A request may take so long, and is then stopped."
        ),
    ] = 30.0,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-host",
            help="A name under which the service is reached (may be given again); other names are "
            "refused. Without it: the names of this machine if --host is one of them, else any.",
        ),
    ] = None,
    quiet: options.Quiet = False,
) -> None:
    """Serve the JSON API and the tree bench until interrupted.

    Example (runs until interrupted):

        # eigentext serve --port 8000

        # eigentext serve --pipe english.pipe --pipe hungarian.pipe

        # eigentext serve --dep-model english.dep

        # eigentext serve --lex-model arabic.ranker --annotations arabic.db
    """
    import socket

    from eigentext.cli.output import remark
    from eigentext.errors import SettingsError
    from eigentext.web import is_loopback
    from eigentext.web import serve as serve_app
    from eigentext.web.settings import ServiceSettings

    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        socket.create_server((host, port), family=family).close()
    except OSError as error:
        raise SettingsError(f"cannot listen on {host}:{port}: {error.strerror}") from error

    settings = ServiceSettings(
        pipes=tuple(pipe or ()),
        dep_model=dep_model,
        lex_model=lex_model,
        lex_analyzer=lex_analyzer,
        annotations=annotations,
        workers=workers,
        seconds=seconds,
        allowed_hosts=tuple(allow_host or ["*"]),
    )
    if not is_loopback(host):
        reach = "read and change the annotations" if annotations else "use the service"
        remark(
            f"eigentext: warning: on {host} everyone who reaches this machine can {reach}: there "
            "is no password and no encryption. --host 127.0.0.1 is for this machine alone"
        )
    serve_app(host, port, settings=settings, log_level="warning" if quiet else "info")
