"""Builds the command tree."""


def main() -> None:
    """Run ralph."""
