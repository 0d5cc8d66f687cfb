"""Implements the engine's `Agent` port with Claude, and serves tools over MCP.

May not: decide anything about the loop. Nobody else may import `claude_agent_sdk` or `mcp`.
Callers: `cli`, which hands it to the engine, and the tests.
"""
