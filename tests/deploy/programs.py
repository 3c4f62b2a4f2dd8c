"""The loaders of Compose files and kustomizations: what `docker compose config` and `kubectl kustomize` do, as Go
libraries in one program, for a machine without either."""

from __future__ import annotations

from pathlib import Path

from tests.services import tools
from tests.services.cache import Artefact

HERE = Path(__file__).parent / "tools"

DEPLOY_TOOLS = Artefact(
    "deploy-tools",
    "go build -trimpath without cgo",
    lambda folder: tools.go_build(folder, ".", "deploy-tools"),
    (HERE / "go.mod", HERE / "go.sum", HERE / "main.go"),
    tools.go,
)


def loaded(kind: str, path: Path) -> str:
    """The YAML that `compose FILE` or `kustomize FOLDER` yields; ServiceError with what is wrong."""
    return tools.run([DEPLOY_TOOLS.folder / "deploy-tools", kind, path])
