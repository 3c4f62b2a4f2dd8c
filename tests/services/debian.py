"""Programs that come whole from Debian's packages."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from tests.services.tools import apt_install, find


@dataclass(frozen=True)
class DebianPrograms:
    """Programs, libraries and the packages that bring them; each program may have several names."""

    programs: tuple[tuple[str, ...], ...]
    packages: tuple[str, ...]
    libraries: tuple[str, ...] = ()

    def installed(self) -> bool:
        """Whether all are to be found, wherever they came from."""
        return all(find(*names) for names in self.programs) and all(map(_loads, self.libraries))

    def install(self) -> None:
        """Install the packages unless all is there."""
        if not self.installed():
            apt_install(self.packages)


def _loads(library: str) -> bool:
    try:
        ctypes.CDLL(library)
    except OSError:
        return False
    return True
