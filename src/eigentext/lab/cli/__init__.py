"""Commands of the laboratory, which the command line finds by the entry point of this mapping."""

COMMANDS = {
    "lab": (
        "eigentext.lab.cli.group:app",
        "The laboratory: automata of strings, trees without a treebank.",
    )
}
