"""Redirects package management and the project's tools to uv, and refuses other package managers."""

import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from ralph_tui.guard.core.arguments import names, parse, read_data
from ralph_tui.guard.core.programs import listed_words, program_named
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.read_only import check_named_files, check_outputs
from ralph_tui.guard.rules.refusals import refuse_listed
from ralph_tui.guard.shell.nodes import Word, literal

RULE = "uv-only"
_COMMANDS = MappingProxyType(tomllib.loads(read_data("uv.toml")))


def is_manager(program: str) -> bool:
    return "*" in program_named(program).manages


def is_python(program: str) -> bool:
    return "python" in program_named(program).rules


def _is_own_manager(call: Invocation) -> bool:
    if call.program != call.policy.own_manager:
        return False
    operands = call.args.operands
    verb = operands[0].text if operands else "--version"
    if verb != "run":
        return not operands or verb in listed_words("manager-verbs")
    if words := operands[1:]:
        name = words[0].text.rpartition(":")[
            0
        ]  # hatch: `qa:pytest` runs pytest in the environment qa
        first = words[0].cut(len(name) + 1) if name and call.program == "hatch" else words[0]
        call.walker.run((first, *words[1:]), call, under_uv=True)
    return True


def judge_manager(call: Invocation) -> None:
    if _is_own_manager(call):
        return
    verb = next((w for w in call.arguments if not w.text.startswith("-")), literal(""))
    at = call.arguments.index(verb) if verb.text else 0
    if "*" in call.listed.manages or verb.text in call.listed.manages:
        refuse_manager(call.program, call.arguments[at:], call)
    if verb.text == "exec" and call.arguments[at + 1 :]:
        call.walker.run(call.arguments[at + 1 :], call)


def refuse_manager(name: str, arguments: Sequence[Word], call: Invocation) -> NoReturn:
    shown, own = call.shown, call.policy.own_manager
    if not call.policy.uses_uv:
        why = f"bypasses {own}, which manages" if own else "changes what is installed outside of"
        use = f"Use {own}." if own else _DECLARE
        if any(word.text in ("activate", "deactivate") for word in arguments):
            use = "Run the command without activating an environment."
        deny(RULE, shown, f"`{name}` {why} this project", use)
    verb = next((word.text for word in arguments if word.text in _COMMANDS), "")
    use = _COMMANDS.get(verb, "one of uv add, uv remove, uv lock, uv sync and uv run")
    if name.rpartition(".")[2] in listed_words("environment-makers"):
        use = "uv sync, which creates the environment"
    elif use.startswith("uv add") and (packages := _packages(arguments)):
        use = f"uv add {packages}"
    elif use.startswith("uv remove") and (packages := _packages(arguments)):
        use = f"uv remove {packages}"
    why = "bypasses the project's lock file" if name == "uv pip" else _OUTSIDE
    deny(RULE, shown, f"`{name}` {why}", f"Use {use}.")


_DECLARE = "Declare the package where this project lists its dependencies, and say what the person has to install."
_OUTSIDE = "bypasses uv, which manages this project"


def _packages(arguments: Sequence[Word]) -> str:
    plain = [
        w.text for w in arguments if w.known and re.fullmatch(r"[A-Za-z][\w.\[\],<>=~-]*", w.text)
    ]
    return " ".join(word for word in plain if word not in _COMMANDS)[:80]


def judge_module(module: Word, arguments: Sequence[Word], call: Invocation) -> None:
    if not module.known:
        deny("unreadable-command", call.shown, "The module is not known", "Name the module.")
    name = module.text.casefold().removesuffix(".__main__")
    if name in listed_words("manager-modules") or is_manager(name):
        refuse_manager(name, arguments, call)
    program = literal(name.partition(".")[0].replace("_", "-"))
    refuse_listed(replace(call, words=(program, *arguments)))
    if name in call.policy.python_tools:
        check_named_files(arguments, call)
    else:
        check_outputs(arguments, call)
    args = parse(arguments)
    if name == "json.tool":
        _check_files(args.operands[1:], call)
    elif name in ("zipfile", "tarfile") and not args.has("-l", "--list", "-t", "--test"):
        _check_files(args.operands, call)


def _check_files(words: Sequence[Word], call: Invocation) -> None:
    for word in words:
        call.dirs.check_guarded(word, call.shown)


def judge_uv(call: Invocation) -> None:
    args = call.args
    if not args.operands:
        return
    verb, rest = args.operands[0].text, args.operands[1:]
    if call.program == "uvx":
        call.walker.run(args.operands, call, under_uv=True)
        return
    if verb == "tool" and rest and rest[0].text in ("run", "install"):
        verb, rest = rest[0].text, rest[1:]
    if verb == "pip":
        _judge_uv_pip(rest, call)
    if verb != "run":
        check_named_files(rest, call)
        return
    inner = parse(rest, call.listed.spec, stop=True)
    if inner.has("-m", "--module") and inner.operands:
        judge_module(inner.operands[0], inner.operands[1:], call)
    elif inner.operands and inner.operands[0].text == "-":
        call.walker.run((literal("python"), *inner.operands), call, under_uv=True)
    elif inner.operands and not inner.has("-s", "--script", "--gui-script"):
        call.walker.run(inner.operands, call, under_uv=True)


def _judge_uv_pip(words: Sequence[Word], call: Invocation) -> None:
    verb = next((word.text for word in words if word.text in _UV_PIP_CHANGES), "")
    if verb or any(not word.known for word in words[:1]):
        refuse_manager("uv pip", words, call)


_UV_PIP_CHANGES = names("install uninstall sync")


def is_tool(call: Invocation) -> bool:
    return call.program in call.policy.python_tools and "/" not in call.words[0].text


class ThroughUv(NamedTuple):
    """A tool, and the words to insert before it."""

    run: str
    tool: str

    def __str__(self) -> str:
        return f"{self.run} {self.tool}"


def through_uv(call: Invocation) -> ThroughUv | None:
    """Return what to run through uv: a tool, or in a uv project a Python script or module.

    Code on the command line or from standard input rarely needs the project's packages, so it runs unchanged.
    So does a script that does not occur in the agent's text.
    """
    head, policy = call.words[0], call.policy
    python = is_python(call.program) and call.program != "py"
    if call.under_uv or "/" in head.text or not (python or is_tool(call)):
        return None
    words = [word.text for word in call.arguments[:_MAX_OPTIONS]]
    module = words[1] if python and words[0:1] == ["-m"] and words[1:] else ""
    if is_tool(call) or module in policy.python_tools:
        tool = f"{call.program} -m {module}" if module else call.program
        if head.start < 0:
            reason = "The project's tools run in uv's environment"
            deny("uv-run", call.shown, reason, f"Use uv run {tool}.")
        return ThroughUv(policy.tool_runs.get(module or tool, "uv run"), tool)
    plain = [word for word in words if word not in _FLAGS]
    names_module = plain[:1] == ["-m"] and len(plain) > 1
    names_file = bool(plain) and plain[0][:1] not in ("", "-", "<")
    if not policy.scripts_through_uv or head.start < 0 or not (names_module or names_file):
        return None
    return ThroughUv("uv run", " ".join([call.program, *plain[: 2 if names_module else 1]]))


_MAX_OPTIONS = 8
_FLAGS = frozenset({"-u", "-B", "-E", "-I", "-O", "-OO", "-s", "-S", "-v", "-q", "-b"})
