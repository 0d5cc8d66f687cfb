"""A small MCP server with a picture to show, for tests: `python -m tests.harness.eyes`."""

import base64
import os

from mcp.server.fastmcp import FastMCP, Image

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

server = FastMCP("eyes")


@server.tool()
def look_at(what: str) -> str:
    """Say what is there, and whether the secret arrived."""
    return f"a {what}; the door is {'open' if os.environ.get('EYES_TOKEN') == 'sesame-7-41' else 'shut'}"


@server.tool()
def screenshot() -> Image:
    """Show a picture."""
    return Image(data=base64.b64decode(PIXEL), format="png")


@server.tool()
def save_picture(path: str) -> str:
    """Pretend to write a file."""
    return f"saved {path}"


if __name__ == "__main__":
    server.run()
