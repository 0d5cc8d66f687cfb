"""Completion for a shell that is named: Typer's own options only know the one that runs now."""

import typer

from ralph_tui.domain.errors import ExitCode, SetupError

OPTIONS = ("--install-completion", "--show-completion")
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def asked_shell(words: list[str]) -> tuple[str, str] | None:
    """The option and the shell of a command line such as `ralph --install-completion fish`."""
    option, equals, shell = (words[0] if words else "").partition("=")
    if option not in OPTIONS:
        return None
    if equals and len(words) == 1:
        return option, shell
    return (option, words[1]) if len(words) == 2 else None


def complete_for(option: str, shell: str) -> int:
    """Install or show completion for `shell` and answer with the exit status.

    Raises:
        SetupError: There is no completion for this shell.
    """
    from typer import _completion_shared as typers

    if shell not in SHELLS:
        raise SetupError(
            f"There is no completion for {shell!r}.", f"Name one of {', '.join(SHELLS)}."
        )
    if option == "--show-completion":
        script = typers.get_completion_script(
            prog_name="ralph", complete_var="_RALPH_COMPLETE", shell=shell
        )
        typer.echo(script)
    else:
        _, path = typers.install(shell=shell, prog_name="ralph")
        typer.echo(f"Installed completion for {shell} in {path}. Open a new terminal to use it.")
    return int(ExitCode.COMPLETE)
