"""Every component is one module of this package that exports COMPONENT: Declaration."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from dataplane.core.port.declaration import Declaration


@functools.cache
def components() -> Mapping[str, Declaration]:
    """The declarations of this build by name, in the order of their module names."""
    modules = sorted(module.name for module in pkgutil.iter_modules(__path__))
    return by_name(importlib.import_module(f"{__name__}.{name}").COMPONENT for name in modules)


def by_name(declarations: Iterable[Declaration]) -> Mapping[str, Declaration]:
    """ValueError when two have the same name: the process must not start."""
    found: dict[str, Declaration] = {}
    for declaration in declarations:
        if declaration.name in found:
            raise ValueError(f"two components are named {declaration.name}")
        found[declaration.name] = declaration
    return MappingProxyType(found)
