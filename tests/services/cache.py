"""The folder outside the repository that keeps what was built, so that it is built once.

Each artefact lies in a folder named by a hash of what it was built from: a changed `go.sum` gives a new folder
and an old check-out keeps finding its own. A build happens in a temporary folder and appears by a rename, so a
folder that is there is whole.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import platform
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

BUILDING = ".building-"


def cache_root() -> Path:
    """`$CTXSCORE_SERVICES_CACHE`, else `otel-ctxscore-services` in the XDG cache folder."""
    if own := os.environ.get("CTXSCORE_SERVICES_CACHE"):
        return Path(own).expanduser().absolute()
    xdg = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(xdg).expanduser().absolute() / "otel-ctxscore-services"


@contextlib.contextmanager
def locked() -> Iterator[None]:
    """Hold the one lock of the cache, over processes.

    One lock for all, not one an artefact: two Go builds at once need more memory than a small machine has, and
    apt takes one caller at a time anyway. The kernel drops it when its holder dies.
    """
    cache_root().mkdir(parents=True, exist_ok=True)
    with (cache_root() / ".lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Artefact:
    """Something built from files of the repository (or from a pinned version) into the cache.

    `build(folder)` fills a folder that holds copies of `inputs`; it must not write paths of that folder into its
    result, since the folder is renamed afterwards. `before()` installs what the build itself needs (it may take the
    lock, which `build` must not).
    """

    name: str
    recipe: str
    build: Callable[[Path], object]
    inputs: tuple[Path, ...] = ()
    before: Callable[[], object] = lambda: None

    @property
    def folder(self) -> Path:
        """Where it is, or will be."""
        return cache_root() / f"{self.name}-{self.fingerprint()}"

    def fingerprint(self) -> str:
        """Of the recipe, the processor and the inputs' names and bytes."""
        digest = hashlib.sha256(f"{self.recipe}\0{platform.machine()}".encode())
        for path in self.inputs:
            digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
        return digest.hexdigest()[:16]

    def installed(self) -> bool:
        """Whether it is there (and then whole)."""
        return self.folder.is_dir()

    def install(self) -> Path:
        """Build it unless it is there. The folder."""
        if not self.installed():
            self.before()
            with locked():
                if not self.installed():  # another process may have built it while this one waited
                    self._build()
        return self.folder

    def _build(self) -> None:
        remove_unfinished()
        folder = Path(tempfile.mkdtemp(prefix=f"{BUILDING}{self.name}-", dir=cache_root()))
        try:
            for path in self.inputs:
                shutil.copyfile(path, folder / path.name)
            self.build(folder)
            folder.chmod(0o755)
            folder.rename(self.folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def remove_unfinished() -> None:
    """Remove what a killed build left. Call it under the lock: then nobody is building there."""
    for folder in cache_root().glob(f"{BUILDING}*"):
        shutil.rmtree(folder, ignore_errors=True)
