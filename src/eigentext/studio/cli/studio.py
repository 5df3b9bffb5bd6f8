"""``eigentext studio``: every page, with models to begin with."""

from __future__ import annotations

from typing import Annotated

import typer

from eigentext.cli import options
from eigentext.cli.output import remark
from eigentext.studio.cli.serve import (
    AllowHost,
    AnnotationModels,
    Annotations,
    Host,
    Port,
    Processes,
    Seconds,
    WithAccounts,
    check_address,
    run,
    with_accounts,
)


def studio(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            help="Models of any kind, files or names; none: small ones of the sample data, which "
            "are trained the first time.",
        ),
    ] = None,
    open_: Annotated[
        bool, typer.Option("--open", help="Open the first page in the browser of this machine.")
    ] = False,
    host: Host = "127.0.0.1",
    port: Port = 8000,
    annotations: Annotations = None,
    accounts: WithAccounts = None,
    annotation_models: AnnotationModels = None,
    workers: Processes = 2,
    seconds: Seconds = 30.0,
    allow_host: AllowHost = None,
    quiet: options.Quiet = False,
) -> None:
    """See every model at work in a browser: parse, read, words, sequences, annotate.

    Example (runs until interrupted):

        # eigentext studio --open

        # eigentext studio english english.lpcfg words.clusters

        # eigentext studio --annotations decisions.db
    """
    from eigentext.studio.service import check_installed

    check_installed()
    check_address(host, port)
    logged_in = with_accounts(host, annotations, accounts)
    if not models:
        from eigentext.recipes.samples import sample_models

        files = sample_models(say=lambda line: remark(f"studio: {line}", quiet=quiet))
        models = [str(path) for path in files]
    from eigentext.studio.service.settings import ServiceSettings

    settings = ServiceSettings(
        models=tuple(models),
        annotations=annotations,
        accounts=logged_in,
        annotation_models=annotation_models,
        workers=workers,
        seconds=seconds,
        allowed_hosts=tuple(allow_host or ["*"]),
    )

    def listening(address: str) -> None:
        print(f"eigentext studio: {address}", flush=True)
        remark("studio: the models are being loaded; Ctrl C ends it", quiet=quiet)
        if open_:
            import webbrowser

            webbrowser.open(address)

    run(host, port, settings, log_level="warning", listening=listening)
