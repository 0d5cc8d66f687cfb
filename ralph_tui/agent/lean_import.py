"""Import the SDK without the web server and the programs that its MCP library loads beside what the SDK uses.

`mcp` loads its whole self when any part of it is imported: uvicorn, starlette, httpx's command line with rich and
pygments. That is two fifths of the SDK's import, and it is before the start of the first session.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType

_FRAMEWORK = "mcp.server.fastmcp"
_COMMAND_LINE = "httpx._main"


def import_sdk() -> None:
    """Import the SDK with the parts of `mcp` that it uses; import all where these have other names now."""
    if "mcp" in sys.modules:
        return
    # httpx does without its command line where that cannot be imported.
    held_back = {_FRAMEWORK: _without_framework(), _COMMAND_LINE: None}
    sys.modules.update({n: m for n, m in held_back.items() if n not in sys.modules})  # type: ignore[misc]
    try:
        package, server = _hollow("mcp"), _hollow("mcp.server")
        vars(package)["server"] = server
        vars(server)["Server"] = import_module("mcp.server.lowlevel").Server
        import_module("claude_agent_sdk")
    except (ImportError, AttributeError):  # another version
        for name in [n for n in sys.modules if n.partition(".")[0] in ("mcp", "claude_agent_sdk")]:
            del sys.modules[name]
        import_module("claude_agent_sdk")
    finally:
        for name, module in held_back.items():
            if name in sys.modules and sys.modules[name] is module:
                del sys.modules[name]


def _hollow(name: str) -> ModuleType:
    """Make a package known whose own code runs when somebody asks for something that only it has.

    Raises:
        ImportError: There is no such package.
    """
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = module_from_spec(spec)
    loader = spec.loader

    def of_its_code(wanted: str) -> object:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        vars(module).pop("__getattr__", None)
        loader.exec_module(module)
        return getattr(module, wanted)

    vars(module)["__getattr__"] = of_its_code
    sys.modules[name] = module
    return module


def _without_framework() -> ModuleType:
    """Return what `mcp.shared.memory` imports, and compares with only in a helper that the SDK never calls."""
    module = ModuleType(_FRAMEWORK)
    vars(module)["FastMCP"] = type("FastMCP", (), {})
    return module
