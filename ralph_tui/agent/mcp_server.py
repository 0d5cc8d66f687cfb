"""Offers the engine's tools to the model, as the in-process MCP server `ralph`."""

from collections.abc import Awaitable, Callable
from typing import Any

from claude_agent_sdk import McpSdkServerConfig, SdkMcpTool, create_sdk_mcp_server
from mcp.types import ToolAnnotations
from pydantic import JsonValue

from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.core.ports import ToolSpec

SERVER_NAME = "ralph"

CallTool = Callable[[str, dict[str, JsonValue]], Awaitable[ToolAnswer]]


def tool_server(specs: tuple[ToolSpec, ...], call: CallTool) -> McpSdkServerConfig:
    return create_sdk_mcp_server(SERVER_NAME, tools=[_sdk_tool(spec, call) for spec in specs])


def _sdk_tool(spec: ToolSpec, call: CallTool) -> SdkMcpTool[Any]:
    async def handle(arguments: dict[str, JsonValue]) -> dict[str, Any]:
        try:
            answer = await call(spec.name, arguments)
        except Exception as error:  # noqa: BLE001 - the model needs an answer that it can act on
            text = f"{spec.name} failed: {one_line(str(error), 300)}"
            answer = ToolAnswer(text=text, is_error=True)
        return {"content": [{"type": "text", "text": answer.text}], "is_error": answer.is_error}

    return SdkMcpTool(
        name=spec.name,
        description=spec.description,
        input_schema=spec.input_schema,
        handler=handle,
        annotations=ToolAnnotations(readOnlyHint=spec.read_only),
    )
