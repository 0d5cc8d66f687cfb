"""Leaves out what a start does not need: pydantic's search for plugins, and garbage collection that finds nothing."""

import gc
import sys
from importlib import import_module
from types import ModuleType

LOADER = "pydantic.plugin._loader"
"""It reads the metadata of every installed distribution when the first model is built."""

START_OBJECTS = 300_000
"""More than the imports and the first screen make. They all stay: a look at 100,000 finds nothing and takes 20 ms."""


def start_lean() -> None:
    """Raise the collector's threshold and skip the plugin search; call it before pydantic is imported."""
    gc.set_threshold(START_OBJECTS)
    _load_no_plugins()


def end_lean() -> None:
    """Skip the interpreter's last collection: the system takes back everything at once."""
    gc.freeze()


def _load_no_plugins() -> None:
    """Replace pydantic's plugin loader: ralph's models use no plugin, and the search takes an eighth of a status."""
    loader = ModuleType(LOADER)
    vars(loader).update(get_plugins=tuple, __getattr__=_of_the_real_loader)
    sys.modules.setdefault(LOADER, loader)


def _of_the_real_loader(name: str) -> object:
    """Load the real module for any other name, which another version of pydantic may ask for."""
    if name.startswith("__"):
        raise AttributeError(name)
    sys.modules.pop(LOADER, None)
    return getattr(import_module(LOADER), name)
