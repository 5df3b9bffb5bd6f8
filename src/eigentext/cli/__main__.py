"""``python -m eigentext.cli`` is the same as ``eigentext``."""

from eigentext.cli.main import main

if __name__ == "__main__":
    main()
