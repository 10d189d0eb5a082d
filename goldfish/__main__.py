"""``python -m goldfish``: the command."""

from goldfish.cli import main

main()
