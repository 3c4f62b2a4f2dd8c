"""Programs that come whole from Debian's packages."""

from __future__ import annotations

from dataclasses import dataclass

from tests.services.tools import apt_install, find


@dataclass(frozen=True)
class DebianPrograms:
    """Programs and the packages that bring them; each program may have several names."""

    programs: tuple[tuple[str, ...], ...]
    packages: tuple[str, ...]

    def installed(self) -> bool:
        """Whether all are on PATH, wherever they came from."""
        return all(find(*names) for names in self.programs)

    def install(self) -> None:
        """Install the packages unless all programs are there."""
        if not self.installed():
            apt_install(self.packages)
