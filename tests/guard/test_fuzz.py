"""What keeps a command's meaning keeps its verdict; and no text whatever makes the guard raise."""

import os
import shlex
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.guard.core.policy import Policy
from tests.guard.corpora import classes

POLICY = Policy(root=Path("/work/proj"))
THOROUGH = "RALPH_THOROUGH" in os.environ
FUZZ = settings(
    max_examples=3000 if THOROUGH else 100,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not THOROUGH,
)

DENIED_WORDS = [
    ["git", "push", "origin", "main"],
    ["git", "commit", "-m", "x y"],
    ["git", "-C", ".", "branch", "-D", "x"],
    ["pip", "install", "requests"],
    ["python", "-m", "pip", "install", "x"],
    ["rm", "-rf", "/etc"],
    ["docker", "rm", "web"],
    ["tee", ".ralph/state.json"],
    ["cp", "x", ".git/HEAD"],
]
ALLOWED_WORDS = [
    ["git", "status"],
    ["git", "log", "--grep", "git push"],
    ["echo", "git push; pip install x"],
    ["grep", "-rn", "git push", "."],
    ["rm", "-rf", "build"],
    ["uv", "run", "pytest", "-q"],
    ["ls", "-la"],
]


def quote_single(char: str) -> str:
    return f"'{char}'" if char != "'" else "\\'"


def plain(char: str) -> str:
    return char if char.isalnum() or char in "-_./=" else quote_single(char)


QUOTINGS: list[Callable[[str], str]] = [
    plain, plain, quote_single,
    lambda char: f'"\\{char}"' if char in '"$`\\' else f'"{char}"',
    lambda char: f"\\{char}" if char != "\n" else "'\n'",
    lambda char: f"$'\\x{ord(char):02x}'",
    lambda char: f"$'\\{ord(char):03o}'",
    lambda char: f"$'\\u{ord(char):04x}'",
    lambda char: f'$"\\{char}"' if char in '"$`\\' else f'$"{char}"',
    lambda char: "\\\n" + plain(char),
    lambda char: '""' + plain(char) + "''",
]  # fmt: skip
WRAPPERS = [
    "{}", "( {} )", "{{ {}; }}", "true && {}", "false || {}", "ls; {}", "{} | cat", "! {}",
    "if true; then {}; fi", "for i in 1; do {}; done", "while {}; do break; done", "{} &\nwait",
    "echo $( {})", 'echo "$( {})"', "echo `{}`", "x=$( {})", "cat <({})", "env A=1 {}", "time {}",
    "timeout 5 {}", "nohup {}", "nice -n 3 {}", "command {}", "f() {{ {}; }}; f",
    "case x in *) {};; esac", "A=1 {}", "2>/dev/null {}", "{} 2>/dev/null", "ls\n{}", "ls | {}",
    "until {}; do break; done", "select x in 1; do {}; done", "exec {}", "builtin command {}",
    "stdbuf -oL {}", "setsid {}", "ionice -c3 {}", "coproc P {{ {}; }}", "if ! {}; then :; fi",
    "((1)) && {}", "tee >({}) < x", "ls > >({})", ": ${{x:=$( {})}}", "a=(x $( {}))", "a[$( {})]=1",
    "echo $(( $( {}) ))", "for x in $( {}); do :; done", "function g {{ {}; }}; g", "g() ( {} ); g",
    "uv run {}", "{{ ls; {}; }} 2>&1", "(ls; {}) & wait", "echo \\\n a; {}", "case $( {}) in *) ;; esac",
    "x=1 y[2]=3 {}", "> x {}", "{} <<< text", "{{fd}}> x {}", '[ -n "$( {})" ]', "[[ a == b ]] || {}",
    "echo <<E\nx\nE\n{}", "[[ -n $( {}) ]]", "echo ${{x:-$( {})}}", "coproc {}", "sudo {}",
]  # fmt: skip
LAST_WRAPPERS = [
    "cat <<OUT\n$( {})\nOUT", "cat <<-OUT\n\t$( {})\n\tOUT", "cat <<OUT <<B\na\nOUT\n$( {})\nB", "{} # that is all",
    "{}\n# git status", "\n\n  {}  \n", "ls # git status\n{}", "cat <<'OUT'\n'\nOUT\n{}",
]  # fmt: skip
"""Nothing may stand behind these on their last line."""
DENIED_WRAPPERS = [
    "xargs {}", "xargs -I% {}", "watch {}", "find . -exec {} \\;", 'f() {{ {} "$@"; }}; f',
    "flock /tmp/l {}", "strace -f {}", "busybox {}", "unknown-launcher -- {}",
]  # fmt: skip
"""Not for allowed ones: what these add is not known."""
TEXT_WRAPPERS = [
    "bash -c {}", "sh -ec {}", "eval {}", "env -S {}", "echo {} | bash", "bash <<< {}",
    "trap {} EXIT", "printf '%s\\n' {} | sh", "uv run bash -c {}", "xargs sh -c {}",
    "find . -maxdepth 0 -exec sh -c {} \\;", "bash -xeuo pipefail -c {}", "su -c {}", "watch {}",
    "script -qc {} /dev/null", "flock /tmp/l -c {}", "source /dev/stdin <<< {}", "sh -s <<< {}",
    "bash /dev/stdin <<< {}", "bash 3<<< {} /dev/fd/3", "f() {{ sh; }}; f <<< {}", "{{ sh; }} <<< {}",
    "echo {} > >(bash)", "tee >(sh) <<< {}", "echo {} | tee x | bash", "eval eval {}",
    "while read -r x; do bash; done <<< {}",
]  # fmt: skip


@st.composite
def disguised(draw: st.DrawFn, words: list[list[str]], others: list[str] | None = None) -> str:
    """One of the commands with every character quoted in some way, wrapped in other commands."""
    quoted = [
        "".join(draw(st.sampled_from(QUOTINGS))(char) for char in word)
        for word in draw(st.sampled_from(words))
    ]
    blank = draw(st.sampled_from([" ", "  ", "\t", " \\\n "]))
    command = blank.join(quoted)
    for wrapper in draw(st.lists(st.sampled_from(WRAPPERS), max_size=3)):
        inner = command if "`" not in wrapper else command.replace("\\", "\\\\")
        if "`" in wrapper and ("`" in command or '"' in wrapper):
            continue
        if wrapper.split()[0] in _NEEDS_SIMPLE and not _is_simple(command, blank.join(quoted)):
            continue
        command = wrapper.format(inner)
    if others and draw(st.booleans()) and _is_simple(command, blank.join(quoted)):
        command = draw(st.sampled_from(others)).format(command)
    if draw(st.booleans()) and "`" not in command:
        command = draw(st.sampled_from(LAST_WRAPPERS)).format(command)
    if draw(st.booleans()):
        command = draw(st.sampled_from(TEXT_WRAPPERS)).format(shlex.quote(command))
    return command


_NEEDS_SIMPLE = {
    "env", "timeout", "nohup", "nice", "command", "sudo", "A=1", "2>/dev/null", "time", "exec",
    "builtin", "coproc", "stdbuf", "setsid", "ionice", "uv", "x=1", ">", "{{fd}}>",
}  # fmt: skip


def _is_simple(command: str, first: str) -> bool:
    return command == first


@FUZZ
@given(disguised(DENIED_WORDS, DENIED_WRAPPERS))
def test_a_denied_command_stays_denied_in_any_disguise(command: str) -> None:
    verdict = judge_command(command, POLICY)
    assert verdict.decision == "deny"


@FUZZ
@given(disguised(ALLOWED_WORDS))
def test_an_allowed_command_stays_allowed_where_its_meaning_stays(command: str) -> None:
    if command.startswith(("env -S", "eval eval")):
        return  # these read the quotes in another way, or once more
    verdict = judge_command(command, POLICY)
    assert verdict.decision == "allow", verdict.message


SHELL_TEXT = st.lists(
    st.one_of(
        st.sampled_from(
            ["git", "push", "$(", ")", "`", "'", '"', "\\", "\n", ";", "&&", "|", "<<E", "<<<", ">",
             "${", "}", "{", "a,b", "$((", "))", "[[", "]]", "if", "then", "fi", "case", "in", "esac",
             "do", "done", "for", "while", "#", " ", " ", "x=", "(", "*", "~", "$'", "\\x67", "&", "!",
             "echo", "bash -c", "eval", "xargs", "rm -rf", "\u2c7c6", "\U0002c7c6", "é", "\r", "<(",
             "time", "function f", "coproc", "-exec", "E", "\t", "python -c", "sed", "awk", "find"]
        ),
        st.text(max_size=4),
    ),
    max_size=30,
)  # fmt: skip


@settings(FUZZ, max_examples=6000 if THOROUGH else 250)
@given(SHELL_TEXT, st.sampled_from(["", " "]))
def test_no_text_makes_it_fail(pieces: list[str], glue: str) -> None:
    verdict = judge_command(glue.join(pieces), POLICY)
    assert verdict.rule != "guard-failed", verdict.reason


BEYOND = [row for row in classes() if row[0].startswith("beyond")]
COMMANDS = [command for _, _, command, _ in BEYOND]
REWRITES = {command: becomes for _, _, command, becomes in BEYOND if becomes}


@settings(FUZZ, max_examples=4000 if THOROUGH else 150)
@given(st.sampled_from(COMMANDS), st.data())
def test_a_broken_command_never_makes_it_fail(command: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(command)))
    end = data.draw(st.integers(start, len(command)))
    for broken in (command[:start] + command[end:], command[start:end] * 3):
        verdict = judge_command(broken, POLICY)
        assert verdict.rule != "guard-failed", verdict.reason


@settings(FUZZ, max_examples=100)
@given(st.sampled_from(sorted(REWRITES)), st.sampled_from(["ls; {}", "( {} )", "{} || true"]))
def test_a_rewritten_command_is_stable(command: str, wrapper: str) -> None:
    if "<<" in command:
        wrapper = "ls; {}"
    verdict = judge_command(wrapper.format(command), POLICY)
    assert verdict.decision == "rewrite"
    assert verdict.command == wrapper.format(REWRITES[command])
    assert judge_command(verdict.command, POLICY).decision == "allow"


@pytest.mark.long
def test_deep_nesting_and_length_end_quickly() -> None:
    for text in (
        "$(" * 3000, "(" * 20_000, "{ " * 20_000, "`" * 5000, "$((" * 3000, "${x:-" * 3000,
        "a" * 60_000, "a " * 30_000, "a;" * 30_000, "'" * 60_001, "{a,b}" * 40, "[[ " * 9000,
        "if " * 9000, "eval " * 5000, "bash -c " * 3000, "echo <<E\n" * 500, "\\\n" * 30_000,
        "sudo " * 8000 + "ls", "f() " * 5000, "! " * 20_000,
    ):  # fmt: skip
        assert judge_command(text, POLICY).rule != "guard-failed"
