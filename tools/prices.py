"""Writes `otel_ctxscore/judges/prices.json` anew from the list prices that the installed litellm carries.

    python -m tools.prices

Only models that are billed by the token at one rate, of providers whose names are unambiguous.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PROVIDERS = {
    "openai": "openai", "anthropic": "anthropic", "gemini": "gemini", "mistral": "mistral", "deepseek": "deepseek",
    "xai": "xai", "groq": "groq", "cohere_chat": "cohere", "moonshot": "moonshot",
}  # fmt: skip
NOT_A_JUDGE = ("audio", "search", "image", "lyria", "live", "realtime", "guard", "robotics", "ft:", "container", "exp")
TABLE = Path(__file__).parent.parent / "otel_ctxscore" / "judges" / "prices.json"


def main() -> None:
    spec = find_spec("litellm")
    if spec is None or spec.origin is None:
        raise SystemExit("litellm is not installed")
    listed = json.loads(Path(spec.origin).with_name("model_prices_and_context_window_backup.json").read_text())
    models = dict(sorted(row for name, entry in listed.items() if (row := _row(name, entry)) is not None))
    source = f"provider list prices, as collected by litellm {version('litellm')}"
    head = {"as_of": datetime.now(UTC).date().isoformat(), "source": source, "unit": "USD per million tokens"}
    lines = ",\n".join(f"    {json.dumps(name)}: {json.dumps(price)}" for name, price in models.items())
    TABLE.write_text(f'{json.dumps(head)[:-1]}, "models": {{\n{lines}\n}}}}\n')


def _row(name: str, entry: dict[str, Any]) -> tuple[str, dict[str, float]] | None:
    provider = PROVIDERS.get(entry.get("litellm_provider", ""))
    rates = [entry.get(key) for key in ("input_cost_per_token", "output_cost_per_token")]
    if provider is None or entry.get("mode") != "chat" or not all(rates) or any(w in name for w in NOT_A_JUDGE):
        return None
    prices = {"input": rates[0], "output": rates[1], "cached_input": entry.get("cache_read_input_token_cost")}
    bare = name.split("/", 1)[1] if name.startswith(f"{provider}/") else name
    return f"{provider}/{bare}", {kind: round(rate * 1e6, 6) for kind, rate in prices.items() if rate is not None}


if __name__ == "__main__":
    main()
