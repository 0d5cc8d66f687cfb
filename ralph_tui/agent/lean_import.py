"""Imports the SDK without the unused parts of its MCP library, such as a web server.

Importing any part of `mcp` loads all of it, with uvicorn, starlette, and httpx's command line with rich and
pygments. That takes two fifths of the SDK's import time and delays the first session.
"""

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType

_FRAMEWORK = "mcp.server.fastmcp"
_COMMAND_LINE = "httpx._main"


def import_sdk() -> None:
    """Import the SDK with only the parts of `mcp` that it uses, or with all if a new version renamed them."""
    if "mcp" in sys.modules:
        return
    # Without its command line, httpx still works.
    stub = ModuleType(_FRAMEWORK)  # for `mcp.shared.memory`, in a helper that the SDK never calls
    vars(stub)["FastMCP"] = type("FastMCP", (), {})
    stubs = {_FRAMEWORK: stub, _COMMAND_LINE: None}
    sys.modules.update({n: m for n, m in stubs.items() if n not in sys.modules})  # type: ignore[misc]
    try:
        package, server = _lazy_package("mcp"), _lazy_package("mcp.server")
        _lazy_package("httpx")  # used only for a status code after a timeout
        vars(package)["server"] = server
        vars(server)["Server"] = import_module("mcp.server.lowlevel").Server
        import_module("claude_agent_sdk")
    except (ImportError, AttributeError):  # another version
        for name in [n for n in sys.modules if n.partition(".")[0] in ("mcp", "claude_agent_sdk")]:
            del sys.modules[name]
        import_module("claude_agent_sdk")
    finally:
        for name, module in stubs.items():
            if name in sys.modules and sys.modules[name] is module:
                del sys.modules[name]


def _lazy_package(name: str) -> ModuleType:
    """Register a package whose code runs only when an attribute of it is needed."""
    spec = find_spec(name)
    if spec is None or spec.loader is None:
        raise ImportError(name)
    module = module_from_spec(spec)
    loader = spec.loader

    def load_attribute(wanted: str) -> object:
        if wanted.startswith("__"):
            raise AttributeError(wanted)
        vars(module).pop("__getattr__", None)
        loader.exec_module(module)
        return getattr(module, wanted)

    vars(module)["__getattr__"] = load_attribute
    sys.modules[name] = module
    return module
