"""The SDK is imported without what it never uses, and whoever asks for the rest still gets it."""

import subprocess
import sys

import pytest

LEAN = """
import sys
from ralph_tui.agent.lean_import import import_sdk
import_sdk()
import claude_agent_sdk
assert not {"uvicorn", "starlette", "pygments"} & sys.modules.keys()
server = claude_agent_sdk.create_sdk_mcp_server("x", tools=[])["instance"]
import mcp
from mcp.server import FastMCP, Server
from mcp.server.fastmcp import FastMCP as Same
assert FastMCP is Same and FastMCP("x").name == "x"
assert isinstance(server, Server) and mcp.ClientSession.__name__ == "ClientSession"
"""

OTHER_VERSION = """
import sys
import ralph_tui.agent.lean_import as lean
found = lean._lazy_package
def renamed(name):
    found(name)
    raise ImportError(name)
lean._lazy_package = renamed
lean.import_sdk()
import claude_agent_sdk, mcp
from mcp.server import FastMCP
assert FastMCP("x").name == "x" and "uvicorn" in sys.modules
assert claude_agent_sdk.create_sdk_mcp_server("x", tools=[])["name"] == "x"
"""


@pytest.mark.parametrize("program", [LEAN, OTHER_VERSION], ids=["lean", "other-version"])
def test_the_sdk_works_and_the_rest_comes_when_it_is_asked_for(program: str) -> None:
    subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
