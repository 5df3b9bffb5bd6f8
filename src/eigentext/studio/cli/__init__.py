"""Commands of the studio, which the command line finds by the entry point of this mapping."""

COMMANDS = {
    "annotate": (
        "eigentext.studio.cli.annotate:app",
        "Projects of annotators: texts, decisions, users, backups.",
    ),
    "serve": (
        "eigentext.studio.cli.serve:serve",
        "Serve the JSON API and the pages until interrupted; `studio` has models to begin with.",
    ),
    "studio": (
        "eigentext.studio.cli.serve:studio",
        "See every model at work in a browser: parse, read, words, sequences, annotate.",
    ),
}
