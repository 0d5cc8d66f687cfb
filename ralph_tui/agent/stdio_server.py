"""Runs an MCP server on standard input and output, for a program that a person uses."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import redirect_stdout

import anyio
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import JsonValue

from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.core.ports import ToolSpec

Answer = Callable[[str, dict[str, JsonValue]], ToolAnswer]
"""Runs a tool with its arguments; called in a thread, as it may take a while."""


def serve_tools(
    name: str, version: str, instructions: str, specs: tuple[ToolSpec, ...], answer: Answer
) -> None:
    """Offer tools until the client closes standard input; print other output to standard error."""
    # The default action, because a thread that waits for input cannot be woken. Nothing is left half done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    with redirect_stdout(sys.stderr):  # standard output is for the protocol only
        asyncio.run(_serve(Server(name, version, instructions), specs, answer))


async def _serve(
    server: Server[object, object], specs: tuple[ToolSpec, ...], answer: Answer
) -> None:
    async def list_tools() -> list[Tool]:
        return [
            Tool(
                name=spec.name,
                description=spec.description,
                inputSchema=spec.input_schema,
                annotations=ToolAnnotations(readOnlyHint=spec.read_only, openWorldHint=False),
            )
            for spec in specs
        ]

    async def call_tool(called: str, arguments: dict[str, JsonValue]) -> CallToolResult:
        given = await asyncio.to_thread(answer, called, arguments)
        text = TextContent(type="text", text=given.text)
        return CallToolResult(content=[text], isError=given.is_error)

    server.list_tools()(list_tools)  # type: ignore[no-untyped-call]
    server.call_tool(validate_input=False)(call_tool)
    # Duplicated, because the library closes the files at the end.
    with (
        os.fdopen(os.dup(0), encoding="utf-8", errors="replace") as stdin,
        os.fdopen(os.dup(1), "w", encoding="utf-8") as stdout,
    ):
        streams = stdio_server(anyio.wrap_file(stdin), anyio.wrap_file(stdout))
        async with streams as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
