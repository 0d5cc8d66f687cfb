"""Typer's completion for zsh, mended: what zsh loads by itself answered the first tab with nothing."""

from typer import _completion_shared

ANSWER_AT_ONCE = """
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
  %(complete_func)s "$@"
fi
"""
"""The file that `--install-completion` writes is read at the first tab, and only told zsh what to call at the next."""


def mend() -> None:
    """From now on such a script is written and shown."""
    scripts = _completion_shared._completion_scripts  # noqa: SLF001 - Typer offers no other way
    if "loadautofunc" not in scripts["zsh"]:
        scripts["zsh"] += ANSWER_AT_ONCE
