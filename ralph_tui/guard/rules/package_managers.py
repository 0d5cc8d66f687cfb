"""Sends packages, environments and the project's tools to uv, and refuses other managers."""

import re
from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import NamedTuple, NoReturn

from ralph_tui.guard.core.arguments import Spec, names, parse
from ralph_tui.guard.core.rule_context import Invocation, Rules
from ralph_tui.guard.core.verdicts import deny
from ralph_tui.guard.rules.ralph_cli import MODULE, judge_ralph
from ralph_tui.guard.rules.read_only import check_named, check_outputs
from ralph_tui.guard.rules.repository_tools import refuse_committer
from ralph_tui.guard.shell.nodes import Word, literal

RULE = "uv-only"
_PIP = re.compile(r"pip[\d.]*")
PYTHON = re.compile(r"(?:python|pypy)[\d.]*t?w?|py")
_MANAGERS = names(
    "pip virtualenv pyvenv conda mamba micromamba conda-env poetry pipenv pipx pdm"
    " easy_install ensurepip rye pixi pip-compile pip-sync flit"
)
_MODULES = names(
    "pip pip._internal ensurepip venv virtualenv conda poetry pipenv pipx pdm easy_install"
    " piptools installer flit setuptools.command.easy_install"
)
_MAKES_ENVIRONMENT = names("venv virtualenv pyvenv")
_UV_RUN = Spec(
    "wifPCp",
    long=names(
        "--extra --no-extra --group --no-group --only-group --no-editable-package --env-file"
        " --with --with-editable --with-requirements --package --python-platform --index"
        " --default-index --index-url --extra-index-url --find-links --index-strategy"
        " --keyring-provider --upgrade-package --upgrade-group --resolution --prerelease"
        " --fork-strategy --exclude-newer --exclude-newer-package --no-sources-package"
        " --reinstall-package --link-mode --config-setting --config-settings-package"
        " --no-build-isolation-package --no-build-package --no-binary-package --cache-dir"
        " --refresh-package --python --color --allow-insecure-host --directory --project"
        " --config-file --from --prerelease-package --constraints --overrides --build-constraints"
    ),
)
_COMMANDS = MappingProxyType(
    {
        "install": "uv add PACKAGE, or uv sync for what the project names",
        "add": "uv add PACKAGE",
        "uninstall": "uv remove PACKAGE",
        "remove": "uv remove PACKAGE",
        "freeze": "uv lock, or uv export",
        "list": "uv tree",
        "show": "uv tree",
        "lock": "uv lock",
        "compile": "uv lock",
        "update": "uv lock --upgrade and uv sync",
        "upgrade": "uv lock --upgrade and uv sync",
        "sync": "uv sync",
        "run": "uv run COMMAND",
        "shell": "uv run COMMAND",
        "create": "uv sync, which makes the environment",
        "env": "uv sync, which makes the environment",
        "build": "uv build",
        "publish": "uv publish, when the person asks for it",
        "init": "uv init",
        "new": "uv init",
    }
)


def is_manager(program: str) -> bool:
    """Tell whether a program installs packages or makes environments outside uv."""
    return program in _MANAGERS or bool(_PIP.fullmatch(program))


_OWN_VERBS = names(
    "add remove install update lock sync show list outdated check version env fmt test"
)


def judge_own_manager(given: Invocation) -> bool:
    """Judge the manager that owns a project which is not uv's: its `run` and its everyday work are welcome.

    Returns:
        Whether it is that manager, with a verb that is judged here.
    """
    if given.program != given.policy.own_manager:
        return False
    operands = parse(given.arguments, _OWN_OPTIONS, stop=True).operands
    verb = operands[0].text if operands else "--version"
    if verb != "run":
        return not operands or verb in _OWN_VERBS
    if words := operands[1:]:
        name = words[0].text.rpartition(":")[
            0
        ]  # hatch: `qa:pytest` runs pytest in the environment qa
        first = words[0].cut(len(name) + 1) if name and given.program == "hatch" else words[0]
        given.walker.run((first, *words[1:]), given, under_uv=True)
    return True


_OWN_OPTIONS = Spec("ePpC", long=names("--env --project --directory"))


def refuse_manager(name: str, arguments: Sequence[Word], shown: str) -> NoReturn:
    """Refuse a package manager and name the uv command instead.

    Raises:
        DeniedError: Always.
    """
    verbs = (word.text for word in arguments if word.text in _COMMANDS)
    use = _COMMANDS.get(next(verbs, ""), "uv add, uv remove, uv lock, uv sync or uv run")
    if name.rpartition(".")[2] in _MAKES_ENVIRONMENT:
        use = "uv sync, which makes the environment"
    elif use.startswith("uv add") and (packages := _packages(arguments)):
        use = f"uv add {packages}"
    elif use.startswith("uv remove") and (packages := _packages(arguments)):
        use = f"uv remove {packages}"
    why = "bypasses the project's lock file" if name == "uv pip" else _OUTSIDE
    deny(RULE, shown, f"`{name}` {why}", f"Use {use}.")


_OUTSIDE = "works outside uv, which owns this project"


def _packages(arguments: Sequence[Word]) -> str:
    """List the packages named on the command line, if they are named plainly."""
    plain = [
        w.text for w in arguments if w.known and re.fullmatch(r"[A-Za-z][\w.\[\],<>=~-]*", w.text)
    ]
    return " ".join(word for word in plain if word not in _COMMANDS)[:80]


def judge_module(module: Word, arguments: Sequence[Word], given: Invocation) -> None:
    """Judge `python -m MODULE`.

    Raises:
        DeniedError: The module is a package manager, or unknown.
    """
    if not module.known:
        deny("unreadable-command", given.shown, "Which module runs is not known", "Name it.")
    name = module.text.casefold().removesuffix(".__main__")
    if name in _MODULES or _PIP.fullmatch(name):
        refuse_manager(name, arguments, given.shown)
    if name.partition(".")[0] == MODULE:
        judge_ralph(replace(given, words=(module, *arguments)))
    refuse_committer(replace(given, words=(literal(name.replace("_", "-")), *arguments)))
    if name in given.policy.python_tools:
        check_named(arguments, given)
    else:
        check_outputs(arguments, given)
    read = parse(arguments)
    if name == "json.tool":
        _check_files(read.operands[1:], given)
    elif name in ("zipfile", "tarfile") and not read.has("-l", "--list", "-t", "--test"):
        _check_files(read.operands, given)


def _check_files(words: Sequence[Word], given: Invocation) -> None:
    for word in words:
        given.places.check_guarded(word, given.shown)


_SOMETIMES = MappingProxyType(
    {
        "pyenv": names("install uninstall virtualenv virtualenv-delete"),
        "hatch": names("env run shell test fmt dep"),
        "asdf": names("install"),
    }
)


def _judge_sometimes(given: Invocation) -> None:
    """Refuse those verbs of a tool that install or make environments; its others do no harm.

    Raises:
        DeniedError: It is one of them.
    """
    operands = parse(given.arguments).operands
    if judge_own_manager(given):
        return
    if operands and operands[0].text == "exec":
        at = given.arguments.index(operands[0]) + 1
        if given.arguments[at:]:
            given.walker.run(given.arguments[at:], given)
    if operands and operands[0].text in _SOMETIMES[given.program]:
        reason = f"`{given.program}` works outside uv, which owns this project"
        deny(RULE, given.shown, reason, "Use uv sync, uv run or uv python install.")


def _judge_uv(given: Invocation) -> None:
    """Judge `uv`: its own work is welcome, what it runs is judged as if run directly."""
    read = parse(given.arguments, _UV_RUN, stop=True)
    if not read.operands:
        return
    verb, rest = read.operands[0].text, read.operands[1:]
    if not read.operands[0].known:
        deny("unreadable-command", given.shown, "Which uv command runs is not known", "Name it.")
    if verb == "tool" and rest and rest[0].text in ("run", "install"):
        verb, rest = rest[0].text, rest[1:]
    if verb == "pip":
        _judge_uv_pip(rest, given)
    if verb != "run":
        check_named(rest, given)
        return
    inner = parse(rest, _UV_RUN, stop=True)
    if inner.has("-m", "--module") and inner.operands:
        judge_module(inner.operands[0], inner.operands[1:], given)
    elif inner.operands and inner.operands[0].text == "-":
        given.walker.run((literal("python"), *inner.operands), given, under_uv=True)
    elif inner.operands and not inner.has("-s", "--script", "--gui-script"):
        given.walker.run(inner.operands, given, under_uv=True)


def _judge_uv_pip(words: Sequence[Word], given: Invocation) -> None:
    """Judge `uv pip`, which may show what is installed; what it installs is in no lock file."""
    verb = next((word.text for word in words if word.text in _UV_PIP_CHANGES), "")
    if verb or any(not word.known for word in words[:1]):
        refuse_manager("uv pip", words, given.shown)


_UV_PIP_CHANGES = names("install uninstall sync")


def _judge_uvx(given: Invocation) -> None:
    """Judge `uvx`, which is `uv tool run`."""
    inner = parse(given.arguments, _UV_RUN, stop=True)
    if inner.operands:
        given.walker.run(inner.operands, given, under_uv=True)


RULES: Rules = MappingProxyType(
    {"uv": _judge_uv, "uvx": _judge_uvx, **dict.fromkeys(_SOMETIMES, _judge_sometimes)}
)
"""By program: what is welcome in part."""


def is_tool(given: Invocation) -> bool:
    """Tell whether the program itself is one, by its name and not by a path."""
    return given.program in given.policy.python_tools and "/" not in given.words[0].text


def tool_of(given: Invocation) -> str:
    """Return the tool that is to run through uv, also as `python -m pytest`; empty if there is none."""
    words = given.arguments
    if given.under_uv or "/" in given.words[0].text:
        return ""
    if is_tool(given):
        return given.program
    python = PYTHON.fullmatch(given.program) and given.program != "py"
    if python and len(words) > 1 and words[0].text == "-m":
        module = words[1].text
        return f"{given.program} -m {module}" if module in given.policy.python_tools else ""
    return ""


def script_of(given: Invocation) -> str:
    """Return the Python script or module that is to run through uv; empty if there is none.

    Code on the command line or from standard input needs nothing of the project more often than not. What
    is nowhere in the text runs as it is.
    """
    head = given.words[0]
    python = PYTHON.fullmatch(given.program) and given.program != "py" and "/" not in head.text
    if not (python and given.policy.scripts_through_uv) or given.under_uv or head.start < 0:
        return ""
    words = [word for word in given.arguments[:_MOST_OPTIONS] if word.text not in _PLAIN_OPTIONS]
    first = words[0].text if words else ""
    if first == "-m" and len(words) > 1:
        return f"{given.program} -m {words[1].text}"
    return f"{given.program} {first}" if first and first[0] not in "-<" else ""


_MOST_OPTIONS = 8
_PLAIN_OPTIONS = frozenset({"-u", "-B", "-E", "-I", "-O", "-OO", "-s", "-S", "-v", "-q", "-b"})
"""Options of python that take no value."""


class ThroughUv(NamedTuple):
    """A tool with the words that are put before it."""

    run: str
    tool: str

    def __str__(self) -> str:
        """Return both, as the agent could have said it."""
        return f"{self.run} {self.tool}"


def through_uv(tool: str, given: Invocation) -> ThroughUv:
    """Return a tool with what runs it in this project."""
    return ThroughUv(given.policy.tool_runs.get(tool.rpartition(" ")[2], "uv run"), tool)


def place_of(tool: str, given: Invocation) -> int:
    """Return the index of the tool in the text that the agent sent.

    Raises:
        DeniedError: It is nowhere in it, so nothing can be put before it.
    """
    start = given.words[0].start
    if start < 0:
        reason = "The project's tools run in uv's environment"
        deny("uv-run", given.shown, reason, f"Use uv run {tool}.")
    return start
