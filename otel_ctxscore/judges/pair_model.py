"""A cross-encoder exported to ONNX: log odds that a text answers a query, from both read together.

It reads what sentence-transformers, Optimum and fastembed write: a folder with `tokenizer.json` and an ONNX graph from
`input_ids`, `attention_mask` and perhaps `token_type_ids` to one logit a pair, or two (no, yes).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from otel_ctxscore.core.errors import ConfigError

GRAPHS = (
    "model.onnx",
    "onnx/model.onnx",
    "model_quantized.onnx",
    "onnx/model_quantized.onnx",
    "model_int8.onnx",
    "onnx/model_int8.onnx",
)
"""Where the graph is looked for in the folder, in this order."""
WINDOW = 512
"""Tokens of a pair, at most: what such models are trained with."""
WINDOWS, OVERLAP = 4, 64
"""Windows of a long text, at most, and the tokens that neighbours share. The best window speaks for the text (MaxP,
arXiv:1905.09217)."""
BATCH_TOKENS = 2048
"""Of all windows of a batch, padding included: what attention takes grows with it, to 50 MB here for a small model."""
_INPUTS = {"input_ids", "attention_mask", "token_type_ids"}
_EXTRA = "pip install 'otel-ctxscore[cross-encoder]'"


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens of a query with a piece of a text. `pair` is the place of the text."""

    pair: int
    ids: list[int]
    types: list[int]


class PairModel:
    """Raises ConfigError where `name` is neither a folder with such a model nor in the hub's local cache."""

    def __init__(self, name: str) -> None:
        onnxruntime, tokenizers, self._numpy = _installed()
        folder = _folder(name)
        self.name = folder.resolve().name if Path(name).is_dir() else name
        graph = next((folder / path for path in GRAPHS if (folder / path).is_file()), None)
        if graph is None:
            raise ConfigError(f"judge.model: {folder} has no ONNX graph; looked for {', '.join(GRAPHS)}")
        try:
            self._session = onnxruntime.InferenceSession(
                graph, _options(onnxruntime), providers=["CPUExecutionProvider"]
            )
            self._tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        except Exception as error:  # both libraries raise types of their own, and plain Exception
            raise ConfigError(f"judge.model: {folder} cannot be read: {' '.join(str(error).split())}") from error
        self._inputs = {one.name for one in self._session.get_inputs()}
        if not {"input_ids"} <= self._inputs <= _INPUTS:
            raise ConfigError(f"judge.model: {graph} wants {', '.join(sorted(self._inputs))}: not a cross-encoder")
        self._output = _logits(self._session.get_outputs(), graph)
        self._window = min(WINDOW, _longest(folder))
        self._pad = _padding(self._tokenizer, folder)
        self._tokenizer.no_padding()
        self.version = _fingerprint(graph, folder / "tokenizer.json")

    def log_odds(self, query: str, texts: Sequence[str]) -> tuple[list[float], int]:
        """For each text its log odds, and how many texts were too long to be read to their end."""
        windows, cut = self._windows(query, texts)
        best = [-float("inf")] * len(texts)
        for batch in _batches(sorted(windows, key=lambda window: len(window.ids))):
            for window, value in zip(batch, self._run(batch), strict=True):
                best[window.pair] = max(best[window.pair], value)
        return best, cut

    def _windows(self, query: str, texts: Sequence[str]) -> tuple[list[Window], int]:
        short = self._beginning(query, self._window // 2)
        self._tokenizer.enable_truncation(self._window, stride=min(OVERLAP, self._window // 8), strategy="only_second")
        found: list[Window] = []
        cut = 0
        for place, text in enumerate(texts):
            encoded = self._tokenizer.encode(short, _encodable(text))
            pieces = [encoded, *encoded.overflowing]
            cut += len(pieces) > WINDOWS
            found += [Window(place, piece.ids, piece.type_ids) for piece in pieces[:WINDOWS]]
        return found, cut

    def _beginning(self, text: str, most: int) -> str:
        """The first so many tokens of a text, as text."""
        self._tokenizer.no_truncation()
        text = _encodable(text)
        encoded = self._tokenizer.encode(text, add_special_tokens=False)
        return text if len(encoded.ids) <= most else text[: encoded.offsets[most - 1][1]]

    def _run(self, batch: Sequence[Window]) -> list[float]:
        np, width = self._numpy, max(len(window.ids) for window in batch)
        ids = np.full((len(batch), width), self._pad, dtype=np.int64)
        mask, types = np.zeros_like(ids), np.zeros_like(ids)
        for row, window in enumerate(batch):
            ids[row, : len(window.ids)] = window.ids
            mask[row, : len(window.ids)] = 1
            types[row, : len(window.ids)] = window.types
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": types}
        (logits,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        logits = logits.reshape(len(batch), -1).astype(np.float64)
        return [float(row[-1] - row[0]) if len(row) == 2 else float(row[0]) for row in logits]


def _batches(windows: Sequence[Window]) -> Iterator[Sequence[Window]]:
    """Neighbours in order of length, as many as fit."""
    start = 0
    for end in range(1, len(windows) + 1):
        if end == len(windows) or (end + 1 - start) * len(windows[end].ids) > BATCH_TOKENS:
            yield windows[start:end]
            start = end


def _encodable(text: str) -> str:
    """The text without halves of characters, which tokenizers refuse."""
    return text.encode("utf-8", "replace").decode()


def _installed() -> tuple[Any, Any, Any]:
    try:
        import numpy
        import onnxruntime
        import tokenizers
    except ImportError as error:
        raise ConfigError(f"judge.type: cross_encoder needs {error.name}: {_EXTRA}") from None
    return onnxruntime, tokenizers, numpy


def _options(onnxruntime: Any) -> Any:
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    # Idle workers sleep: a service waits for traces most of the time.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return options


def _folder(name: str) -> Path:
    """The folder itself, or where the hub's client keeps what it downloaded. Nothing is downloaded here."""
    if Path(name).is_dir():
        return Path(name)
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ConfigError(
            f"judge.model: {name} is no folder, and huggingface_hub is not installed to look it up"
        ) from None
    try:
        return Path(snapshot_download(name, local_files_only=True))
    except Exception as error:  # a family of exceptions: not found, not a name, no cache
        raise ConfigError(
            f"judge.model: {name} is no folder, and not in the hub's local cache ({type(error).__name__});"
            f" download it once with: hf download {name}"
        ) from None


def _logits(outputs: Sequence[Any], graph: Path) -> str:
    """The output that holds the logits."""
    chosen = next((one for one in outputs if one.name == "logits"), outputs[0])
    last = chosen.shape[-1] if chosen.shape else None
    if len(chosen.shape) > 2 or (isinstance(last, int) and len(chosen.shape) == 2 and last > 2):
        raise ConfigError(f"judge.model: {graph} gives {chosen.shape}, not one or two logits a pair")
    return str(chosen.name)


def _longest(folder: Path) -> int:
    """Tokens that the model takes, as its files say; WINDOW where they say nothing."""
    given = [_json(folder / name).get(key) for name, key in _LENGTHS]
    return int(min([length for length in given if isinstance(length, int | float) and length >= 16], default=WINDOW))


_LENGTHS = (("tokenizer_config.json", "model_max_length"), ("config.json", "max_position_embeddings"))


def _padding(tokenizer: Any, folder: Path) -> int:
    """The id of the padding token; models that count positions from it need the right one."""
    if tokenizer.padding is not None:
        return int(tokenizer.padding["pad_id"])
    named = _json(folder / "tokenizer_config.json").get("pad_token")
    named = named.get("content") if isinstance(named, dict) else named
    ids = (tokenizer.token_to_id(token) for token in (named, "[PAD]", "<pad>") if token)
    return int(next((found for found in ids if found is not None), 0))


def _json(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _fingerprint(*files: Path) -> str:
    digest = hashlib.sha256(f"{WINDOW} {WINDOWS} {OVERLAP}".encode())
    for path in files:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]
