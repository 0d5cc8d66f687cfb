"""What a person opens in the sandbox for one check."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

from ralph_tui.domain.model import Model

Port = Annotated[int, Field(ge=1, le=65_535)]
AbsolutePath = Annotated[str, Field(pattern=r"^[~/]")]


class SandboxException(Model):
    """What one command of the gate may use beyond the sandbox."""

    network: bool = False
    """The whole network, this machine's own ports included."""
    ports: tuple[Port, ...] = ()
    """Ports on this machine's loopback interface, reached under the same number."""
    writable: tuple[AbsolutePath, ...] = ()
    """Directories that the command may read and write."""
    sockets: tuple[AbsolutePath, ...] = ()
    """Unix sockets, such as a container engine's."""


SandboxExceptions = Mapping[str, SandboxException]
"""By the command, which must be exactly the same."""
