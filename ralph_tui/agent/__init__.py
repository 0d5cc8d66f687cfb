"""Claude behind the engine's Agent port; the only importer of claude_agent_sdk.

May not: be imported at start-up (the SDK costs 1.5 s); decide what the loop does next.
Callers: demo, tui and cli.
"""
