"""Code of the user's own: named in the configuration, or installed under an entry point.

Entry-point groups: `otel_ctxscore.judges`, `.scorers`, `.conventions`, `.sinks`. Whatever is wrong with such code
before the service runs is one ConfigError line that begins with the key of the configuration it belongs to.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from otel_ctxscore import config as configuration
from otel_ctxscore.core.errors import ConfigError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["judges", "scorers", "conventions", "sinks"]

_FAULTS = (Exception, SystemExit)
"""What code may raise while it is imported or called, `sys.exit()` of a script included."""


def plugins(group: Group, key: str) -> dict[str, Callable[..., Any]]:
    """All installed plug-ins of a group by name, loaded. `key` is the key of the configuration they belong to."""
    return {name: _loaded(entry, key) for name, entry in _installed(group).items()}


def named(text: str, group: Group, key: str) -> Callable[..., Any]:
    """The factory that the configuration names under `key`: `package.module:factory`, or an entry point of the group.
    Other plug-ins of the group are not loaded."""
    if ":" in text:
        return imported(text, key)
    found = _installed(group)
    if text not in found:
        known = f"installed: {', '.join(sorted(found))}" if found else "none is installed"
        raise ConfigError(f"{key}: {text} is no entry point of otel_ctxscore.{group} ({known})")
    return _loaded(found[text], key)


def imported(code: str, key: str) -> Callable[..., Any]:
    """The function that `package.module:function` names under `key`."""
    module, _, name = code.partition(":")
    try:
        found = importlib.import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{key}: {code} cannot be imported: {_line(error)}") from None
    except _FAULTS as error:
        raise ConfigError(f"{key}: {code} cannot be imported: {_told(error)}") from error
    if not callable(found):
        raise ConfigError(f"{key}: {code} is not a function")
    return found


def made(
    word: str,
    factory: Callable[..., Any],
    protocols: tuple[type, ...],
    *,
    key: str,
    name: str,
    needs: str,
    methods: Mapping[str, int],
    options: Mapping[str, Any] | None = None,
) -> Any:
    """What the factory called `name` makes of `options`: a judge, scorer or sink (`word`). It is of one of the
    `protocols`, which ask for what `needs` says, and its async `methods` take so many arguments. Secrets among the
    options are in no line."""
    what = f"{key}: {name} gives no {word}"
    try:
        found = factory(**configuration.revealed(options or {}))
        fits = isinstance(found, protocols)
        faults = [fault for method, count in methods.items() if fits and (fault := _fault(found, method, count))]
    except _FAULTS as error:
        said = _told(error)
        for secret in filter(None, configuration.secrets(options or {})):
            said = said.replace(secret, "***")
        raise ConfigError(f"{what}: {said}") from error
    if inspect.iscoroutine(found):
        found.close()
        raise ConfigError(f"{what}: it is async, and must not be")
    if not fits:
        raise ConfigError(f"{what}: it needs {needs}")
    if faults:
        raise ConfigError(*(f"{what}: {fault}" for fault in faults))
    return found


def _installed(group: Group) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points  # slow to import, and most programs never look

    return {entry.name: entry for entry in entry_points(group=f"otel_ctxscore.{group}")}


def _loaded(entry: EntryPoint, key: str) -> Callable[..., Any]:
    package = f" of {entry.dist.name} {entry.dist.version}" if entry.dist is not None else ""
    what = f"{key}: the installed {entry.name}{package}"
    try:
        found = entry.load()
    except _FAULTS as error:
        raise ConfigError(f"{what} cannot be imported: {_told(error)}") from error
    if not callable(found):
        raise ConfigError(f"{what} is not a function")
    loaded: Callable[..., Any] = found
    return loaded


def _fault(found: object, method: str, count: int) -> str | None:
    """Why a method cannot be awaited with so many arguments; None where it can."""
    call = getattr(found, method)
    if not any(map(inspect.iscoroutinefunction, (call, getattr(call, "__call__", None)))):  # noqa: B004 -- its async-ness
        return f"{method} is not an async function"
    try:
        inspect.signature(call).bind(*[None] * count)
    except TypeError:
        return f"{method} must take {count} argument{'' if count == 1 else 's'}, and takes {inspect.signature(call)}"
    return None


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {_line(error)}"


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())
