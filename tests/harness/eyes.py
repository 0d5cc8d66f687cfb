"""A small MCP server with a picture to show, for tests: `python -m tests.harness.eyes`."""

import base64
import os

from mcp.server.fastmcp import FastMCP, Image

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

server = FastMCP("eyes")


@server.tool()
def look_at(what: str) -> str:
    return f"a {what}; the door is {'open' if os.environ.get('EYES_TOKEN') == 'sesame-7-41' else 'shut'}"


@server.tool()
def screenshot() -> Image:
    return Image(data=base64.b64decode(PIXEL), format="png")


@server.tool()
def save_picture(path: str) -> str:
    return f"saved {path}"


if __name__ == "__main__":
    server.run()
