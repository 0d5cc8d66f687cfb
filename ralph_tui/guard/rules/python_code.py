"""Judges Python code on the command line: the programs it starts, its writes, and its package management."""

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from ralph_tui.guard.core.arguments import names
from ralph_tui.guard.core.rule_context import Invocation, in_directories, refuse_unreadable
from ralph_tui.guard.core.verdicts import DeniedError, deny
from ralph_tui.guard.rules.git import RULE as GIT_RULE
from ralph_tui.guard.rules.package_managers import refuse_manager
from ralph_tui.guard.rules.python_constants import (
    Assigned,
    Bindings,
    assigned_once,
    bindings,
    constants,
    fstring_word,
    name_of,
    path_of,
    possible_values,
    text_of,
    word_of,
)
from ralph_tui.guard.shell.nodes import Word, anything, literal

_OS_WRITES = names(
    "remove unlink rmdir removedirs truncate mkdir makedirs chmod chown symlink link mkfifo"
)
_MOVES = names("rename renames replace move copy copy2 copyfile copytree copymode")
_REMOVES_SOURCE = names("rename renames replace move")
_PATH_WRITES = names("write_text write_bytes unlink rmdir touch mkdir chmod symlink_to hardlink_to")


def _judge_python_write(node: ast.Call, name: str, call: Invocation, assigned: Assigned) -> None:
    for path in _written_files(node, name, assigned):
        if (text := path_of(path, assigned)) is not None:
            call.dirs.check_write(literal(text), call.shown, into=True)


def _written_files(node: ast.Call, name: str, assigned: Assigned) -> Iterator[ast.expr]:
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    module = owner.id if isinstance(owner, ast.Name) else ""
    if name == "open":
        yield from _opened_file(node, owner, assigned)
    elif name in _PATH_WRITES and owner is not None and path_of(owner, assigned) is not None:
        yield owner
    elif name in _OS_WRITES and module == "os":
        yield from node.args[1:2] if name in ("symlink", "link") else node.args[:1]
    elif name in _MOVES and module in ("os", "shutil"):
        yield from node.args[0 if name in _REMOVES_SOURCE else 1 : 2]


def _opened_file(node: ast.Call, owner: ast.expr | None, assigned: Assigned) -> Iterator[ast.expr]:
    of_path = owner is not None and path_of(owner, assigned) is not None
    arguments = [owner, *node.args] if of_path and owner is not None else node.args
    modes = [*arguments[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
    mode = text_of(modes[0]) if modes else "r"
    flags = ast.unparse(modes[0]) if modes and mode is None else ""
    if arguments and (set(mode or "") & set("wax+") or _WRITING_FLAGS.search(flags)):
        yield arguments[0]


_WRITING_FLAGS = re.compile(r"O_(?:WRONLY|RDWR|CREAT|APPEND|TRUNC)")


_MANAGERS = names("pip venv virtualenv ensurepip conda poetry pipenv")
_SHELL_CALLS = names("system popen getoutput getstatusoutput create_subprocess_shell")
_LIST_CALLS = names(
    "run call check_call check_output Popen create_subprocess_exec spawn posix_spawn posix_spawnp"
    " execv execve execvp execvpe execl execle execlp execlpe spawnl spawnle spawnlp spawnlpe"
    " spawnv spawnve spawnvp spawnvpe subprocess_exec subprocess_shell"
)
_STARTERS = _SHELL_CALLS | _LIST_CALLS
_EVALUATORS = names("exec eval compile")
_EVALUATING_METHODS = names("runsource runcode run_string run_code")
_COMMAND_ARGUMENTS = names("args cmd command")
_GIT_LIBRARIES = names("git pygit2 dulwich")
_STARTING_MODULES = names(
    "os subprocess pty asyncio sh popen2 commands pexpect invoke fabric plumbum"
)
_LIBRARY_VERBS = names(
    "push pull fetch commit create_commit checkout switch restore reset merge rebase revert stash"
    " cherry_pick add rm mv clean clone clone_from init create_head create_tag create_branch"
    " create_remote create_reference delete_head delete_tag set_target set_head"
)
"""Methods of Python's git libraries that write."""
_READ_GIT = "To read, use git status, git diff or git log."
_MAX_DEPTH = 4


def judge_python_code(code: str, call: Invocation, depth: int = 0) -> None:
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Another version of Python might accept it.
        _judge_quoted_parts(code, call)
        return
    starts = _mentions(tree, _STARTING_MODULES)
    renamed = _renamed(tree)
    known, assigned = bindings(tree, _STARTERS), assigned_once(tree)
    if starts and _passes_on_starter(tree):
        for text in constants(tree):
            _judge_possible(text, call)
    library = _mentions(tree, _GIT_LIBRARIES)
    call = _after_chdir(tree, call, assigned) if "chdir" in code else call
    for node in ast.walk(tree):
        for module in _imports(node):
            if module.partition(".")[0] in _MANAGERS:
                refuse_manager(module.partition(".")[0], (), call)
        if isinstance(node, ast.Call):
            name = name_of(node.func)
            name = renamed.get(name, name)
            if library and name in _LIBRARY_VERBS:
                deny(GIT_RULE, call.shown, f"`{name}` changes the repository", _READ_GIT)
            _judge_python_write(node, name, call, assigned)
            for variant in _with_each_value(node, known):
                _judge_call(variant, name, call, starts=starts, depth=depth)


def _after_chdir(tree: ast.AST, call: Invocation, assigned: Assigned) -> Invocation:
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and name_of(n.func) == "chdir"]
    named = [path_of(node.args[0], assigned) for node in calls if node.args]
    return in_directories(call, [anything() if path is None else literal(path) for path in named])


def _renamed(tree: ast.AST) -> dict[str, str]:
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {a.asname: a.name for a in node.names if a.asname}
        elif (
            isinstance(node, ast.Assign) and (of := name_of(node.value)) in _STARTERS | _EVALUATORS
        ):
            found |= {target.id: of for target in node.targets if isinstance(target, ast.Name)}
    return found


def _passes_on_starter(tree: ast.AST) -> bool:
    called = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return any(
        isinstance(node, ast.Attribute)
        and node.attr in _STARTERS
        and isinstance(node.value, ast.Name)
        and node.value.id in _STARTING_MODULES
        and id(node) not in called
        for node in ast.walk(tree)
    )


def _judge_quoted_parts(code: str, call: Invocation) -> None:
    for line in code.splitlines():
        for quote in ("'", '"'):
            for part in line.split(quote)[1::2]:
                _judge_possible(part, call)


def _judge_possible(text: str, call: Invocation) -> None:
    try:
        call.walker.shell(literal(text), call)
    except DeniedError as error:
        if error.verdict.rule != "unreadable-command":
            raise


def _mentions(tree: ast.AST, wanted: frozenset[str]) -> bool:
    return any(
        module.partition(".")[0] in wanted for node in ast.walk(tree) for module in _imports(node)
    )


def _imports(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.name
    elif isinstance(node, ast.ImportFrom) and node.module:
        yield node.module
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and node.args:
        name = name_of(node.func)
        module = node.args[0]
        if not isinstance(module, ast.Constant):
            return
        if name in ("__import__", "import_module", "run_module"):
            yield str(module.value)
        elif name == "run_path":
            yield str(module.value).rpartition("/")[2]


def _judge_call(node: ast.Call, name: str, call: Invocation, *, starts: bool, depth: int) -> None:
    plain = isinstance(node.func, ast.Name)
    if (name in _EVALUATORS and plain) or name in _EVALUATING_METHODS:
        _judge_evaluation(node, call, depth)
    elif name in _SHELL_CALLS or (
        name in _LIST_CALLS and starts and not _is_asyncio_run(node.func)
    ):
        _judge_start(node, name, call)
    elif name == "rmtree" and node.args:
        target = text_of(node.args[0])
        call.dirs.check_removal(anything() if target is None else literal(target), call.shown)
    elif not name and starts:
        # `getattr(os, "sys" + "tem")(…)` and the like.
        for text in constants(node):
            call.walker.shell(literal(text), call)


def _judge_evaluation(node: ast.Call, call: Invocation, depth: int) -> None:
    code = text_of(node.args[0]) if node.args else ""
    if code is None:
        if isinstance(node.args[0], ast.Name | ast.Call | ast.BinOp | ast.JoinedStr):
            refuse_unreadable(call.shown, "Python would run code that the guard cannot read")
        return
    if depth >= _MAX_DEPTH:
        refuse_unreadable(call.shown, "The code is nested too deeply")
    judge_python_code(code, call, depth + 1)


def _judge_start(node: ast.Call, name: str, call: Invocation) -> None:
    first = _command_argument(node)
    if first is None:
        return
    call = replace(call, feed=_stdin_of(node))
    shell = name in _SHELL_CALLS or any(
        k.arg == "shell" and not (isinstance(k.value, ast.Constant) and not k.value.value)
        for k in node.keywords
    )
    if isinstance(first, ast.List | ast.Tuple):
        _judge_started_words([*first.elts], call)
    elif name.startswith(("exec", "spawn", "posix_spawn", "create_subprocess_exec")):
        arguments = node.args[1:] if name.startswith("spawn") and len(node.args) > 1 else node.args
        flat: list[ast.expr] = []
        for argument in arguments:
            is_list = isinstance(argument, ast.List | ast.Tuple)
            flat.extend(argument.elts if is_list else [argument])  # type: ignore[attr-defined]  # narrowed by is_list
        # `execv(path, [name, …])` repeats the name, so judge the words from either one.
        _judge_started_words(flat, call)
        _judge_started_words(flat[1:], call)
    elif (with_gaps := fstring_word(first)) is not None:
        call.walker.shell(with_gaps, call)
    elif (text := text_of(first)) is None:
        refuse_unreadable(call.shown, "Python would start an unknown program")
    elif shell or " " not in text or name in _LIST_CALLS:
        call.walker.shell(literal(text), call)


def _with_each_value(node: ast.Call, known: Bindings) -> Iterator[ast.Call]:
    at = [k.value for k in node.keywords if k.arg in _COMMAND_ARGUMENTS]
    first = node.args[0] if node.args else next(iter(at), None)
    for value in possible_values(first, known) if first is not None else ():
        arguments = [value, *node.args[1:]] if node.args else []
        keywords = [
            ast.keyword(k.arg, value) if k.value is first and not node.args else k
            for k in node.keywords
        ]
        yield ast.Call(node.func, arguments, keywords)
    if first is None:
        yield node


def _stdin_of(node: ast.Call) -> Word | None:
    for keyword in node.keywords:
        if keyword.arg == "input":
            text = text_of(keyword.value)
            return anything() if text is None else literal(text)
        if keyword.arg == "stdin" and "DEVNULL" not in ast.unparse(keyword.value):
            return anything()
    return None


def _is_asyncio_run(function: ast.expr) -> bool:
    return isinstance(function, ast.Attribute) and ast.unparse(function) == "asyncio.run"


def _command_argument(node: ast.Call) -> ast.expr | None:
    named = (k.value for k in node.keywords if k.arg in _COMMAND_ARGUMENTS)
    return node.args[0] if node.args else next(named, None)


def _judge_started_words(elements: list[ast.expr], call: Invocation) -> None:
    words = tuple(word_of(element) for element in elements)
    if words:
        call.walker.run(words, call)
