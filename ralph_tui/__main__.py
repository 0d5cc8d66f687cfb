"""`python -m ralph_tui` is the same program as `ralph`."""

from ralph_tui.cli.main import main

if __name__ == "__main__":
    main()
