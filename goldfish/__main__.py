"""``python -m goldfish``: the command."""

from goldfish.interrupt import leave_at_once


def main() -> None:
    """Run the command."""
    leave_at_once()  # importing takes a moment
    from goldfish.cli import main as command

    command()


if __name__ == "__main__":
    main()
