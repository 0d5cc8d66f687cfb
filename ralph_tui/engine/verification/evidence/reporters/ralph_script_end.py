"""Run a Python script as `python SCRIPT` does, and report whether it reached its end or what ended it."""

from __future__ import annotations

import builtins
import json
import os
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIRECTORY = "RALPH_TEST_REPORT"
_HERE = __file__
_CWD = os.getcwd()  # noqa: PTH109
_EXITS = ("exit", "quit", "SystemExit")
_INLINE, _INLINE_FILE = "-c", "<string>"
_texts: dict[str, bytes] = {}
"""The code of `-c`, by the name that Python gives it."""


class _Report:
    """Reports the start and the end of the script; the first reported end counts."""

    def __init__(self, script: str) -> None:
        directory = os.environ.get(_DIRECTORY, "")
        self._file, self._pid = -1, os.getpid()
        if os.path.isdir(directory):  # noqa: PTH112 - pathlib would be one more import
            name = f"{self._pid}-{os.urandom(4).hex()}.script"
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
            self._file = os.open(os.path.join(directory, name), flags, 0o600)  # noqa: PTH118
            named = script if script == _INLINE else os.path.abspath(script)  # noqa: PTH100
            self._write(kind="start", script=named)

    def _write(self, **line: object) -> None:
        os.write(self._file, (json.dumps(line) + "\n").encode())

    def end(self, how: str, status: int, frames: list[tuple[str, bool]]) -> None:
        """Report how the script ends, unless this is a forked child."""
        if self._file >= 0 and os.getpid() == self._pid:
            self._write(kind="end", how=how, status=status, frames=frames)


def main() -> None:
    """Run the script named by the first argument, or the code after `-c`."""
    del sys.argv[0]
    script = sys.argv[0]
    inline = script == _INLINE
    if inline:
        _texts[_INLINE_FILE] = os.fsencode(sys.argv.pop(1))
    report = _Report(script)
    if not (sys.flags.isolated or getattr(sys.flags, "safe_path", False)):
        sys.path[0] = "" if inline else os.path.dirname(os.path.realpath(script))  # noqa: PTH120
    _watch_exits(report)
    module = types.ModuleType("__main__")
    module.__dict__.update(__builtins__=builtins)
    if not inline:
        loader = type(globals()["__loader__"])("__main__", script)
        module.__dict__.update(__file__=os.path.abspath(script), __loader__=loader)  # noqa: PTH100
    sys.modules["__main__"] = module
    try:
        name = _INLINE_FILE if inline else script
        code = compile(_source(name), name, "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - as Python runs a script
    except SystemExit as error:
        report.end("exit", _status(error.code), list(_trace(error.__traceback__)))
        raise
    except BaseException as error:  # noqa: BLE001 - printed as Python prints it
        report.end("raised", 1, [])
        trace = error.__traceback__
        shown = error.with_traceback(trace.tb_next if trace else None)
        sys.excepthook(type(shown), shown, shown.__traceback__)
        raise SystemExit(1) from None
    report.end("reached", 0, [])


def _source(path: str) -> bytes:
    if path in _texts:
        return _texts[path]
    with open(path, "rb") as file:  # noqa: PTH123
        return file.read()


def _status(code: object) -> int:
    if code is None:
        return 0
    return code if isinstance(code, int) else 1


def _watch_exits(report: _Report) -> None:
    def watched(function: Any, how: str) -> Any:
        def leave(*args: Any, **named: Any) -> Any:
            status = args[0] if how == "left" and args and isinstance(args[0], int) else 0
            report.end(how, status, _stack())
            return function(*args, **named)

        return leave

    os._exit = watched(os._exit, "left")
    for name in ("execv", "execve"):
        if hasattr(os, name):
            setattr(os, name, watched(getattr(os, name), "replaced"))


def _trace(trace: types.TracebackType | None) -> Iterator[tuple[str, bool]]:
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename != _HERE:
            yield _frame(code, trace.tb_lineno)
        trace = trace.tb_next


def _stack() -> list[tuple[str, bool]]:
    frame: Any = sys._getframe()  # noqa: SLF001 - there is no other way
    found, in_main = [], False
    while frame is not None:
        if frame.f_code.co_filename == _HERE:
            in_main = in_main or frame.f_code.co_name == "main"
        else:
            found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    last = [_frame(code, line) for code, line in reversed(found)]
    return last if in_main else [("", False), *last]


def _frame(code: types.CodeType, line: int) -> tuple[str, bool]:
    name = code.co_filename
    inline = name in _texts
    path = _INLINE if inline else os.path.join(_CWD, name)  # noqa: PTH118
    try:
        return path, _at_end(name if inline else path, code, line)
    except (OSError, SyntaxError, ValueError):
        return path, False


def _at_end(path: str, code: types.CodeType, line: int) -> bool:
    import ast

    tree = ast.parse(_source(path))
    if code.co_name == "<module>":
        return _is_last(tree.body, line)
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name == code.co_name:
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            if first == code.co_firstlineno:
                return _is_last(node.body, line)
    return False


def _is_last(body: list[Any], line: int) -> bool:
    import ast

    last = body[-1] if body else None
    if last is None or not last.lineno <= line <= (last.end_lineno or last.lineno):
        return False
    if isinstance(last, ast.If):
        calls = any(isinstance(node, ast.Call) for node in ast.walk(last.test))
        return not calls and (_is_last(last.body, line) or _is_last(last.orelse, line))
    if isinstance(last, ast.Try):
        return not last.orelse and not last.finalbody and _is_last(last.body, line)
    if isinstance(last, (ast.Expr, ast.Return)):
        return _is_call(last.value)
    if isinstance(last, ast.Raise):
        return _is_call(last.exc)
    return isinstance(last, (ast.Import, ast.ImportFrom))


def _is_call(value: Any) -> bool:
    import ast

    if isinstance(value, ast.Await):
        return _is_call(value.value)
    if not isinstance(value, ast.Call):
        return False
    name = getattr(value.func, "attr", None) or getattr(value.func, "id", "")
    if name in _EXITS or (name == "run" and getattr(value.func, "value", None) is not None):
        inner = value.args[:1]
        return all(_is_call(one) or not _calls(one) for one in inner)
    return not _calls(value, but=value)


def _calls(node: Any, but: Any = None) -> bool:
    import ast

    return any(isinstance(one, ast.Call) and one is not but for one in ast.walk(node))


if __name__ == "__main__":
    main()
