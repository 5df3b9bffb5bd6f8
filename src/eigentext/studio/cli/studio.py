"""``eigentext studio``: every page, with models to begin with."""

from __future__ import annotations

from functools import partial

from eigentext.cli.command import argument, flag, with_flags
from eigentext.cli.output import remark
from eigentext.studio.cli.serve import Service, run


@with_flags()
def studio(
    service: Service,
    models: list[str] | None = argument(
        "Models of any kind, files or names; none: small ones of the sample data, which "
        "are trained the first time."
    ),
    open_: bool = flag("Open the first page in the browser of this machine.", False),
) -> None:
    """See every model at work in a browser: parse, read, words, sequences, annotate.

    Example (runs until interrupted):
        # eigentext studio --open
        # eigentext studio english english.lpcfg words.clusters
        # eigentext studio --annotations decisions.db
    """
    from eigentext.studio.service import check_installed

    check_installed()
    settings = service.settings()  # what is wrong is told before models are trained
    if not models:
        from eigentext.recipes.samples import sample_models

        say = partial(remark, quiet=service.quiet)
        models = [str(path) for path in sample_models(say=lambda line: say(f"studio: {line}"))]
    settings = settings.model_copy(update={"models": tuple(models)})

    def listening(address: str) -> None:
        print(f"eigentext studio: {address}", flush=True)
        remark("studio: the models are being loaded; Ctrl C ends it", quiet=service.quiet)
        if open_:
            import webbrowser

            webbrowser.open(address)

    run(service.host, service.port, settings, log_level="warning", listening=listening)
