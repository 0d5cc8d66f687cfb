"""The vocabulary of ralph: frozen models and pure functions.

What lives here: tasks, plans, state, budgets, costs, breaker, events and the view built from them.
May not: do I/O, read a clock, use asyncio, or import anything but the standard library and pydantic.
Callers: every room.
"""
