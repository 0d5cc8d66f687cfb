"""What a start leaves out: pydantic's search for plugins, and garbage collection that finds nothing."""

import gc
import sys
from importlib import import_module
from types import ModuleType

LOADER = "pydantic.plugin._loader"
"""It reads the metadata of every installed distribution when the first model is built."""

START_OBJECTS = 300_000
"""More than the imports and the first screen make. They all stay: a look at 100,000 finds nothing and takes 20 ms."""


def start_lean() -> None:
    """Begin a process of which most never makes garbage; call it before pydantic is imported."""
    gc.set_threshold(START_OBJECTS)
    _load_no_plugins()


def end_lean() -> None:
    """Spare the interpreter its last look for garbage: the system takes back everything at once."""
    gc.freeze()


def _load_no_plugins() -> None:
    """Answer for pydantic's loader: none of ralph's models wants a plugin, and the search is an eighth of a status."""
    loader = ModuleType(LOADER)
    vars(loader).update(get_plugins=tuple, __getattr__=_of_the_real_loader)
    sys.modules.setdefault(LOADER, loader)


def _of_the_real_loader(name: str) -> object:
    """Whatever else is asked for, in another version of pydantic, is what pydantic has."""
    if name.startswith("__"):
        raise AttributeError(name)
    sys.modules.pop(LOADER, None)
    return getattr(import_module(LOADER), name)
