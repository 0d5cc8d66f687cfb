"""What keeps a run's commands within bounds: the operating system's sandbox and its way to the network.

What lives here: the parts of a run that hold commands. Policies about what is held are in `guard`.
May not: read shell grammar; import the SDK, Textual or Typer.
Callers: a run, its gate and its later steps.
"""
