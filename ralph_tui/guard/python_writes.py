"""The files that python code writes or removes, as far as the code names them."""

import ast
import re
from collections.abc import Iterator

from ralph_tui.guard.names import names
from ralph_tui.guard.python_paths import Assigned, path_of
from ralph_tui.guard.python_values import text_of
from ralph_tui.guard.syntax import literal
from ralph_tui.guard.walk import Invocation

_OF_OS = names(
    "remove unlink rmdir removedirs truncate mkdir makedirs chmod chown symlink link mkfifo"
)
_MOVES = names("rename renames replace move copy copy2 copyfile copytree copymode")
_TAKES_AWAY = names("rename renames replace move")
_OF_PATH = names("write_text write_bytes unlink rmdir touch mkdir chmod symlink_to hardlink_to")


def judge_python_write(node: ast.Call, name: str, given: Invocation, assigned: Assigned) -> None:
    """Judge the files that a call writes or removes.

    Raises:
        DeniedError: One of them is guarded or outside the project.
    """
    for path in _written(node, name, assigned):
        if (text := path_of(path, assigned)) is not None:
            given.places.check_write(literal(text), given.shown, into=True)


def _written(node: ast.Call, name: str, assigned: Assigned) -> Iterator[ast.expr]:
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    module = owner.id if isinstance(owner, ast.Name) else ""
    if name == "open":
        yield from _opened(node, owner, assigned)
    elif name in _OF_PATH and owner is not None and path_of(owner, assigned) is not None:
        yield owner
    elif name in _OF_OS and module == "os":
        yield from node.args[1:2] if name in ("symlink", "link") else node.args[:1]
    elif name in _MOVES and module in ("os", "shutil"):
        yield from node.args[0 if name in _TAKES_AWAY else 1 : 2]


def _opened(node: ast.Call, owner: ast.expr | None, assigned: Assigned) -> Iterator[ast.expr]:
    """The file of `open(path, mode)`, `io.open(…)` or `Path(path).open(mode)` that is opened for writing."""
    of_path = owner is not None and path_of(owner, assigned) is not None
    arguments = [owner, *node.args] if of_path and owner is not None else node.args
    modes = [*arguments[1:2], *(k.value for k in node.keywords if k.arg == "mode")]
    mode = text_of(modes[0]) if modes else "r"
    flags = ast.unparse(modes[0]) if modes and mode is None else ""
    if arguments and (set(mode or "") & set("wax+") or _WRITING_FLAGS.search(flags)):
        yield arguments[0]


_WRITING_FLAGS = re.compile(r"O_(?:WRONLY|RDWR|CREAT|APPEND|TRUNC)")
