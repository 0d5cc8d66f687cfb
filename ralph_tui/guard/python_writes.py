"""The files that python code writes or removes, as far as the code names them."""

import ast
from collections.abc import Iterator

from ralph_tui.guard.names import names
from ralph_tui.guard.python_values import name_of, text_of
from ralph_tui.guard.syntax import literal
from ralph_tui.guard.walk import Invocation

_OF_OS = names(
    "remove unlink rmdir removedirs truncate mkdir makedirs chmod chown symlink link mkfifo"
)
_MOVES = names("rename renames replace move copy copy2 copyfile copytree copymode")
_TAKES_AWAY = names("rename renames replace move")
_OF_PATH = names("write_text write_bytes unlink rmdir touch mkdir chmod symlink_to hardlink_to")
_PATHS = names("Path PosixPath")


def judge_python_write(node: ast.Call, name: str, given: Invocation) -> None:
    """Judge the files that a call writes or removes.

    Raises:
        DeniedError: One of them is guarded or outside the project.
    """
    for path in _written(node, name):
        if (text := text_of(path)) is not None:
            given.places.check_write(literal(text), given.shown, into=True)


def _written(node: ast.Call, name: str) -> Iterator[ast.expr]:
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    module = owner.id if isinstance(owner, ast.Name) else ""
    if name == "open":
        yield from _opened(node, owner)
    elif name in _OF_PATH and isinstance(owner, ast.Call) and name_of(owner.func) in _PATHS:
        yield from owner.args[:1]
    elif name in _OF_OS and module == "os":
        yield from node.args[1:2] if name in ("symlink", "link") else node.args[:1]
    elif name in _MOVES and module in ("os", "shutil"):
        yield from node.args[0 if name in _TAKES_AWAY else 1 : 2]


def _opened(node: ast.Call, owner: ast.expr | None) -> Iterator[ast.expr]:
    """The file of `open(path, mode)`, `io.open(…)` or `Path(path).open(mode)` that is opened for writing."""
    of_path = isinstance(owner, ast.Call) and name_of(owner.func) in _PATHS
    arguments = (
        [*owner.args[:1], *node.args] if of_path and isinstance(owner, ast.Call) else node.args
    )
    modes = [*arguments[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
    mode = text_of(modes[0]) if modes else "r"
    if arguments and set(mode or "") & set("wax+"):
        yield arguments[0]
