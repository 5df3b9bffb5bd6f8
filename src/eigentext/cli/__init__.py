"""The command line: flags in, one call, text out."""
