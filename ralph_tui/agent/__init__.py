"""Implements the engine's `Agent` port with Claude, and serves tools over MCP.

May not: decide anything about the loop. Nobody else may import `claude_agent_sdk` or `mcp`.
Callers: `cli`, which hands it to the engine, and the tests.
"""

import sys
from types import ModuleType

# `import mcp` would load a web server and a command line with them, and nothing here uses those.
for _name, _part in (("mcp.server.fastmcp", "FastMCP"), ("httpx._main", "main")):
    vars(sys.modules.setdefault(_name, ModuleType(_name))).setdefault(_part, ModuleType(_part))
