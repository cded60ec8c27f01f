"""Makes ``import pyflink...`` return firesteel's modules, so that PyFlink programs run unchanged.

``firesteel run --pyflink`` installs the alias on the driver and, before any user code is unpickled, in each
worker process.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from types import ModuleType

_FROM = "pyflink"
_TO = "firesteel"


class _AliasLoader(importlib.abc.Loader):
    """Returns the firesteel module itself, so that a class is identical under both names."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(_TO + spec.name[len(_FROM) :])
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        alias = module.__spec__
        if alias is not None and alias.loader_state is not None:
            module.__spec__ = alias.loader_state  # the import system has set the alias's spec


class _AliasFinder(importlib.abc.MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != _FROM and not fullname.startswith(_FROM + "."):
            return None
        name = _TO + fullname[len(_FROM) :]
        try:
            found = importlib.util.find_spec(name)
        except ModuleNotFoundError:
            found = None
        if found is None:
            raise ModuleNotFoundError(
                f"firesteel offers nothing in the place of the module {fullname}", name=fullname
            )
        return importlib.machinery.ModuleSpec(
            fullname, _AliasLoader(), is_package=found.submodule_search_locations is not None
        )


def install() -> None:
    """Install the alias in this process. Idempotent."""
    if any(isinstance(finder, _AliasFinder) for finder in sys.meta_path):
        return
    loaded = sorted(m for m in sys.modules if m == _FROM or m.startswith(_FROM + "."))
    if loaded:
        raise ImportError(f"pyflink is already imported ({loaded[0]}): the alias must come before")
    sys.meta_path.insert(0, _AliasFinder())
