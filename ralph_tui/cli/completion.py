"""Completes command lines: words from the current project, and the scripts that shells load.

A completed word ends up on a command line, and zsh evaluates the description beside it. So an id that a shell
could read as anything but a plain word is not offered, and special characters are removed from descriptions.
"""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from typer import _completion_shared

from ralph_tui.domain.errors import ExitCode, RalphError, SetupError

if TYPE_CHECKING:
    from ralph_tui.domain.plan.plan import Task
    from ralph_tui.store.project import Documents


_WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@+/-]{0,99}", re.ASCII)
_NOT_PLAIN = re.compile(r"[^\w .,/-]+")

Offers = list[tuple[str, str]]


def _offered(found: Iterable[tuple[str, str]], incomplete: str) -> Offers:
    return [
        (word, " ".join(_NOT_PLAIN.sub(" ", description).split())[:60])
        for word, description in found
        if _WORD.fullmatch(word) and word.startswith(incomplete)
    ]


def _root(context: typer.Context) -> Path | None:
    from ralph_tui.cli.project_lookup import chosen_project, project_directory

    given = context.params.get("project_root")
    try:
        with chosen_project(Path(given) if given else None):
            return project_directory()
    except RalphError:
        return None


def _documents(context: typer.Context) -> "Documents":
    """Return the documents of the project; a file that cannot be read counts as empty."""
    from ralph_tui.store.project import Documents, Project

    root = _root(context)
    try:
        return Project(root).look() if root else Documents()
    except RalphError:
        return Documents()


def _tasks_that(belongs: "Callable[[Task], bool]") -> Callable[[typer.Context, str], Offers]:
    def complete(context: typer.Context, incomplete: str) -> Offers:
        found = ((task.id, task.title) for task in _documents(context).plan.tasks if belongs(task))
        return _offered(found, incomplete)

    return complete


every_task = _tasks_that(lambda _: True)
open_tasks = _tasks_that(lambda task: task.status != "complete")
blocked_tasks = _tasks_that(lambda task: task.status == "blocked")
held_tasks = _tasks_that(lambda task: task.is_held)


def open_questions(context: typer.Context, incomplete: str) -> Offers:
    asked = _documents(context).questions.open()
    return _offered(
        ((one.id, one.question.header or one.question.question) for one in asked), incomplete
    )


def features(context: typer.Context, incomplete: str) -> Offers:
    from ralph_tui.store.feature_choice import feature_names
    from ralph_tui.store.layout import Layout

    root = _root(context)
    found = feature_names(Layout(root)) if root else ()
    return _offered(((name, "") for name in found), incomplete)


def demos(incomplete: str) -> Offers:
    from ralph_tui.demo.scenario import shipped_scenarios

    return _offered(((name, "") for name in shipped_scenarios()), incomplete)


def setting_names(incomplete: str) -> Offers:
    from ralph_tui.config.setting_names import description, known_keys

    return _offered(((key, description(key)) for key in known_keys()), incomplete)


# --- the scripts that shells load ---


OPTIONS = ("--install-completion", "--show-completion")
SHELLS = ("bash", "zsh", "fish", "powershell", "pwsh")


def asked_shell(words: list[str]) -> tuple[str, str] | None:
    """Return the option and the shell of `ralph --install-completion fish`; Typer's option takes no shell."""
    option, equals, shell = (words[0] if words else "").partition("=")
    if option not in OPTIONS:
        return None
    if equals and len(words) == 1:
        return option, shell
    return (option, words[1]) if len(words) == 2 else None


def complete_for(option: str, shell: str) -> int:
    if shell not in SHELLS:
        raise SetupError(
            f"There is no completion for {shell!r}.", f"Name one of {', '.join(SHELLS)}."
        )
    if option == "--show-completion":
        script = _completion_shared.get_completion_script(
            prog_name="ralph", complete_var="_RALPH_COMPLETE", shell=shell
        )
        typer.echo(script)
    else:
        _, path = _completion_shared.install(shell=shell, prog_name="ralph")
        typer.echo(f"Installed completion for {shell} in {path}. Open a new terminal to use it.")
    return int(ExitCode.COMPLETE)


ANSWER_AT_ONCE = """
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  %(complete_func)s "$@"
fi
"""
"""Calls the completion function as soon as zsh loads the script, which happens at the first tab."""


def answer_first_tab() -> None:
    """Make zsh complete at the first tab; with Typer's own script, the first tab only loads the script."""
    scripts = _completion_shared._completion_scripts  # noqa: SLF001 - Typer has no public way
    if "loadautofunc" not in scripts["zsh"]:
        scripts["zsh"] += ANSWER_AT_ONCE
