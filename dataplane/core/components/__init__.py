"""Every component is one module of this package that exports COMPONENT: Declaration."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping
from types import MappingProxyType

from dataplane.core.declaration import Declaration


@functools.cache
def components() -> Mapping[str, Declaration]:
    """The declarations of this build by name, in the order of their module names.

    Two modules that declare the same name raise ValueError: the process must not start.
    """
    found: dict[str, Declaration] = {}
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda module: module.name):
        declaration = importlib.import_module(f"{__name__}.{module.name}").COMPONENT
        if declaration.name in found:
            raise ValueError(f"two components are named {declaration.name}")
        found[declaration.name] = declaration
    return MappingProxyType(found)
