"""``eigentext serve`` and ``studio``: the service and its pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from eigentext.cli import options
from eigentext.cli.command import Flags, argument, flag, with_flags
from eigentext.cli.output import remark
from eigentext.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable

    from eigentext.studio.service.settings import ServiceSettings


@dataclass(kw_only=True)
class Service(Flags):
    """Where a service listens, what it keeps, and who may use it."""

    host: str = flag("Address to listen on.", "127.0.0.1")
    port: int = flag("0: any free one.", 8000, min=0, max=65535)
    annotations: str | None = flag(
        "A file (made if not there), or postgresql://USER@HOST/DATABASE: the page "
        "Annotate is there, and keeps every decision in it."
    )
    accounts: bool | None = flag(
        "Annotators log in with a password; without, they give a name. By default so "
        "unless --host is this machine alone, where there need not be accounts.",
        None,
        "--accounts/--no-accounts",
    )
    annotation_models: str | None = flag(
        "A folder for models that learn from decisions; by default beside the file of "
        "--annotations."
    )
    workers: int = flag("Processes; each has the models in its memory.", 2, min=1)
    seconds: float = flag("A request may take so long, and is then stopped.", 30.0, min=0.1)
    allow_host: list[str] | None = flag(
        "A name under which the service is reached (may be given again); other names are "
        "refused. Without it: the names of this machine if --host is one of them, else any."
    )
    quiet: options.Quiet = False

    def settings(self, **models: Any) -> ServiceSettings:
        """What the service is made with, when its address can be had."""
        from eigentext.studio.service.settings import ServiceSettings

        self._check_address()
        return ServiceSettings(
            **models,
            annotations=self.annotations,
            accounts=self.with_accounts(models.get("inception")),
            annotation_models=self.annotation_models,
            workers=self.workers,
            seconds=self.seconds,
            allowed_hosts=tuple(self.allow_host or ["*"]),
        )

    def _check_address(self) -> None:
        """Say it before anything is loaded or trained when the address cannot be had."""
        import socket

        try:
            family = socket.AF_INET6 if ":" in self.host else socket.AF_INET
            socket.create_server((self.host, self.port), family=family).close()
        except OSError as error:
            why = f"cannot listen on {self.host}:{self.port}: {error.strerror}"
            raise SettingsError(why) from error

    def with_accounts(self, inception: str | None = None) -> bool:
        """Whether annotators log in: they must where others reach the service, if anybody can.

        And so must INCEpTION where it makes models, since they replace those that are there.
        With an --allow-host that is not of this machine, a server in front lets others in.
        """
        from eigentext.studio.service import is_loopback

        names = (self.host, *(self.allow_host or ()))
        reached = [name for name in names if not is_loopback(name.strip("[]"))]
        alone = not reached
        if self.annotations is None:
            if inception is not None and not alone:
                raise SettingsError(
                    f"on {reached[0]} others could replace the models in {inception}, so accounts "
                    "are needed: give --annotations STORE, in which INCEpTION's token is"
                )
            return False
        if not alone and self.accounts is False:
            raise SettingsError(
                f"on {reached[0]} others can reach the annotations, so accounts are needed: leave "
                "--no-accounts out, or use --host 127.0.0.1"
            )
        accounts = not alone if self.accounts is None else self.accounts
        if accounts:
            from eigentext.studio.cli.annotate_admin import opened_accounts

            with opened_accounts(self.annotations, create=True) as users:
                if not users.any_passwords():
                    raise SettingsError(
                        "nobody can log in to these annotations yet: make a user with `eigentext "
                        f"annotate user {users.store.name} NAME --new --role admin`"
                    )
        return accounts

    def run(
        self, settings: ServiceSettings, *, log_level: str, **hooks: Callable[[str], object]
    ) -> None:
        """Serve until interrupted, with a warning where others can reach it."""
        from eigentext.studio import service as web

        if not web.is_loopback(self.host):
            risk = (
                "everyone who reaches this machine can use the service: there is no password and"
            )
            if settings.accounts:
                risk = (
                    "what is sent can be read on the way, passwords too, without a proxy: there is"
                )
            remark(
                f"eigentext: warning: on {self.host} {risk} no encryption. --host 127.0.0.1 is "
                "for this machine alone"
            )
        web.serve(self.host, self.port, settings=settings, log_level=log_level, **hooks)


@with_flags()
def serve(
    service: Service,
    model: list[str] | None = flag(
        "A model of any kind, a file or its name (may be given again): the pages that "
        "can use it are there."
    ),
    pipe: list[str] | None = flag(
        "A pipeline of `pipe train`, or its name (may be given again): everything from "
        "raw text, on the page, over our API and over UDPipe's."
    ),
    dep_model: str | None = flag("A model of `dep train`: the page parses sentences too."),
    lex_model: str | None = flag("A model of `lex train`: the page helps to read texts."),
    lex_analyzer: str | None = flag("Where that model's analyzer lies now, if elsewhere."),
    inception: str | None = flag(
        "A folder for models that INCEpTION has trained by /api/inception; without one "
        "it is answered with those of the pipelines alone."
    ),
) -> None:
    """Serve the JSON API and the pages until interrupted; `studio` has models to begin with.

    Example (runs until interrupted):
        # eigentext serve --port 8000
        # eigentext serve --model english.pipe --model english.lpcfg --model words.clusters
        # eigentext serve --pipe english.pipe --pipe hungarian.pipe
        # eigentext serve --lex-model arabic.ranker --annotations arabic.db
        # eigentext serve --host 0.0.0.0 --model english.pipe --annotations team.db
    """
    settings = service.settings(
        models=tuple(model or ()),
        pipes=tuple(pipe or ()),
        dep_model=dep_model,
        lex_model=lex_model,
        lex_analyzer=lex_analyzer,
        inception=inception,
    )
    service.run(settings, log_level="warning" if service.quiet else "info")


@with_flags()
def studio(
    service: Service,
    models: list[str] | None = argument(
        "Models of any kind, files or names; none: small ones of the sample data, which "
        "are trained the first time, while pages are there already."
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
    samples: list[str] = []
    if not models:
        from eigentext.recipes.samples import is_ready, sample_files

        models = []
        for files in sample_files():
            (models if all(map(is_ready, files)) else samples).extend(map(str, files))
    settings = service.settings(models=tuple(models), samples=tuple(samples))

    def say(line: str) -> None:
        remark(f"studio: {line}", quiet=service.quiet)

    def listening(address: str) -> None:
        print(f"eigentext studio: {address}", flush=True)
        say("the models are being loaded; Ctrl C ends it")
        if open_:
            import webbrowser

            webbrowser.open(address)

    service.run(settings, log_level="warning", listening=listening, say=say)
