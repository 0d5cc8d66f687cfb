"""Python code on a command line: the programs it starts, the packages it handles."""

import ast
from collections.abc import Iterator

from ralph_tui.guard.names import names
from ralph_tui.guard.packages import refuse_manager
from ralph_tui.guard.syntax import Word, anything, literal
from ralph_tui.guard.verdicts import DeniedError
from ralph_tui.guard.walk import Invocation, unreadable_part

_MANAGERS = names("pip venv virtualenv ensurepip conda poetry pipenv")
_SHELL_CALLS = names("system popen getoutput getstatusoutput create_subprocess_shell")
_LIST_CALLS = names(
    "run call check_call check_output Popen create_subprocess_exec spawn posix_spawn posix_spawnp"
    " execv execve execvp execvpe execl execle execlp execlpe spawnl spawnle spawnlp spawnlpe"
    " spawnv spawnve spawnvp spawnvpe subprocess_exec subprocess_shell"
)
_EVALUATORS = names("exec eval compile")
_MARKS = names("os subprocess pty asyncio sh popen2 commands")
_DEPTH = 4


def judge_python_code(code: str, given: Invocation, depth: int = 0) -> None:
    """Judge python code by what it would start.

    Raises:
        DeniedError: It starts what is refused, handles packages, or hides what it does.
    """
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        # Python would not run it either, but another version might.
        _judge_words(code, given)
        return
    starts = _mentions(tree, _MARKS)
    for node in ast.walk(tree):
        for module in _imports(node):
            if module.partition(".")[0] in _MANAGERS:
                refuse_manager(module.partition(".")[0], (), given.shown)
        if isinstance(node, ast.Call):
            _judge_call(node, given, starts=starts, depth=depth)


def _judge_words(code: str, given: Invocation) -> None:
    for line in code.splitlines():
        for quote in ("'", '"'):
            for part in line.split(quote)[1::2]:
                try:
                    given.walker.shell(literal(part), given)
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
        name = _name(node.func)
        module = node.args[0]
        if name in ("__import__", "import_module", "run_module") and isinstance(
            module, ast.Constant
        ):
            yield str(module.value)


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _judge_call(node: ast.Call, given: Invocation, *, starts: bool, depth: int) -> None:
    name = _name(node.func)
    if name in _EVALUATORS and isinstance(node.func, ast.Name):
        _judge_evaluation(node, given, depth)
    elif name in _SHELL_CALLS or (name in _LIST_CALLS and starts):
        _judge_start(node, name, given)
    elif name == "rmtree" and node.args:
        target = _text(node.args[0])
        given.places.check_removal(anything() if target is None else literal(target), given.shown)
    elif not name and starts:
        # `getattr(os, "sys" + "tem")(…)` and the like.
        for text in _constants(node):
            _judge_text(literal(text), given)


def _judge_evaluation(node: ast.Call, given: Invocation, depth: int) -> None:
    code = _text(node.args[0]) if node.args else ""
    if code is None:
        if isinstance(node.args[0], ast.Name | ast.Call | ast.BinOp | ast.JoinedStr):
            unreadable_part(given.shown, "Python would run code that cannot be read here")
        return
    if depth >= _DEPTH:
        unreadable_part(given.shown, "Code within code within code")
    judge_python_code(code, given, depth + 1)


def _judge_start(node: ast.Call, name: str, given: Invocation) -> None:
    if not node.args:
        return
    shell = name in _SHELL_CALLS or any(
        k.arg == "shell" and not (isinstance(k.value, ast.Constant) and not k.value.value)
        for k in node.keywords
    )
    first = node.args[0]
    if isinstance(first, ast.List | ast.Tuple):
        _judge_words_started([*first.elts], given)
    elif name.startswith(("exec", "spawn", "posix_spawn", "create_subprocess_exec")):
        arguments = node.args[1:] if name.startswith("spawn") and len(node.args) > 1 else node.args
        flat: list[ast.expr] = []
        for argument in arguments:
            is_list = isinstance(argument, ast.List | ast.Tuple)
            flat.extend(argument.elts if is_list else [argument])  # type: ignore[attr-defined]  # narrowed by is_list
        # `execv(path, [name, …])` repeats the name; judge from the path and from the name.
        _judge_words_started(flat, given)
        _judge_words_started(flat[1:], given)
    elif (text := _text(first)) is None:
        unreadable_part(given.shown, "Python would start a program that is not known")
    elif shell or " " not in text or name in _LIST_CALLS:
        _judge_text(literal(text), given)


def _judge_words_started(elements: list[ast.expr], given: Invocation) -> None:
    words = tuple(_word(element) for element in elements)
    if words:
        given.walker.run(words, given)


def _word(element: ast.expr) -> Word:
    text = _text(element)
    if text is not None:
        return literal(text)
    if isinstance(element, ast.Attribute) and element.attr == "executable":
        return literal("python")
    if isinstance(element, ast.Starred):
        return anything()
    source = ast.unparse(element)
    return literal("python") if "sys.executable" in source else Word("\0", "x", source)


def _judge_text(text: Word, given: Invocation) -> None:
    given.walker.shell(text, given)


def _text(node: ast.expr) -> str | None:
    """The value of a constant text, also one put together with `+`."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bytes):
            return node.value.decode("utf-8", "replace")
        return str(node.value) if isinstance(node.value, str | int) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = _text(node.left), _text(node.right)
        return None if left is None or right is None else left + right
    return None


def _constants(node: ast.AST) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str) and " " in child.value:
            yield child.value
