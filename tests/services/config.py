"""Configurations as dictionaries: laid over defaults, written as YAML."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

Config = Mapping[str, Any]


def merged(base: Config, over: Config) -> dict[str, Any]:
    """`base` with the keys of `over` laid on it, mappings key by key, all else as a whole."""
    both = {
        key: merged(base[key], value) if isinstance(value, Mapping) and isinstance(base.get(key), Mapping) else value
        for key, value in over.items()
    }
    return {**base, **both}


def write(path: Path, config: Config) -> Path:
    """Write it as YAML. The path."""
    path.write_text(yaml.safe_dump(dict(config), sort_keys=False))
    return path
