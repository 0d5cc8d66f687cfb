"""Claude behind the engine's `Agent` port.

May not: decide anything about the loop. Nobody else may import `claude_agent_sdk`.
Callers: `cli`, which hands it to the engine, and the tests.
"""
