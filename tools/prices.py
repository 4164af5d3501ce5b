"""Take prices and context windows from a release of genai-prices: `make prices`.

The package is installed into a folder that is thrown away, read there by an interpreter of its own,
and never by a running process. What is kept is one file, reviewable line by line.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

PLACE = Path(__file__).resolve().parents[1] / "dataplane/core/prices/_prices"
FILE, LICENCE = PLACE / "genai-prices.json", PLACE / "LICENSE"
VERSION = "0.2.3"
# Read by the interpreter that has the package: prints its data, most of it left behind.
READ = """
import json
from datetime import date
from genai_prices import data, types

ONE = {types.ClauseEquals: "equals", types.ClauseStartsWith: "starts_with",
       types.ClauseEndsWith: "ends_with", types.ClauseContains: "contains",
       types.ClauseRegex: "regex"}
SEVERAL = {types.ClauseOr: "or", types.ClauseAnd: "and"}
TIERS = {"input": "input_mtok", "output": "output_mtok", "cache_read": "cache_read_mtok",
         "cache_write": "cache_write_mtok", "cache_write_1h": "cache_write_1h_mtok"}

def clause(found):
    if found is None:
        return None
    if type(found) in SEVERAL:
        inner = getattr(found, SEVERAL[type(found)] + "_")
        return {SEVERAL[type(found)]: [clause(each) for each in inner]}
    return {ONE[type(found)]: getattr(found, ONE[type(found)])}

def price_above(price, start):
    if not isinstance(price, types.TieredPrices):
        return price
    reached = [tier.price for tier in price.tiers if start and tier.start <= start]
    return reached[-1] if reached else price.base

def text_of(price):
    # Some were floats once (0.13999999999999999); what is kept is exact in a Decimal.
    return f"{round(price, 12).normalize():f}"

def lines_of(price, since):
    stated = {name: getattr(price, field) for name, field in TIERS.items()}
    stated = {name: found for name, found in stated.items() if found is not None}
    starts = {tier.start for found in stated.values() if isinstance(found, types.TieredPrices)
              for tier in found.tiers}
    for start in sorted({0, *starts}):
        line = {name: text_of(price_above(found, start)) for name, found in stated.items()}
        yield ({"since": since} if since else {}) | ({"above": start} if start else {}) | line

def prices_of(model):
    if isinstance(model.prices, types.ModelPrice):
        return list(lines_of(model.prices, ""))
    found = []
    for each in model.prices:
        if not isinstance(each.constraint, types.StartDateConstraint | None):
            return []  # by the time of day
        since = each.constraint.start_date.isoformat() if each.constraint else ""
        if since and since <= date.today().isoformat():
            found, since = [], ""  # what came before is history
        found += lines_of(each.prices, since)
    return found

def model_of(model):
    prices = [line for line in prices_of(model) if "input" in line and "output" in line]
    window = {"window": model.context_window} if model.context_window else {}
    return {"id": model.id, "match": clause(model.match), **window, "prices": prices}

print(json.dumps([
    {"id": each.id, "api": each.api_pattern, "makes": clause(each.model_match),
     "asks": list(each.fallback_model_providers or ()),
     "models": [kept for kept in map(model_of, each.models) if kept["prices"] or "window" in kept]}
    for each in data.providers
]))
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", default=VERSION)
    version = parser.parse_args().version
    with tempfile.TemporaryDirectory() as folder:
        providers, licence = taken(version, Path(folder))
    FILE.write_text(written(version, providers), encoding="utf-8")
    LICENCE.write_text(licence, encoding="utf-8")
    models = sum(len(provider["models"]) for provider in providers)
    sys.stdout.write(f"genai-prices {version}: {models} models of {len(providers)} providers\n")
    return 0


def taken(version: str, folder: Path) -> tuple[list[dict[str, Any]], str]:
    """The data of a release, and its licence."""
    install = [sys.executable, "-m", "pip", "install", "-q", "--target", str(folder)]
    subprocess.run([*install, f"genai-prices=={version}"], check=True)  # noqa: S603
    read = subprocess.run(  # noqa: S603
        [sys.executable, "-c", READ], env={"PYTHONPATH": str(folder)}, check=True, stdout=-1
    )
    licence = folder / f"genai_prices-{version}.dist-info/licenses/LICENSE"
    return json.loads(read.stdout), licence.read_text(encoding="utf-8")


def written(version: str, providers: list[dict[str, Any]]) -> str:
    """One model a line, so that a new release reads as a diff."""
    blocks = []
    for provider in providers:
        models = provider.pop("models")
        head = json.dumps(provider, ensure_ascii=False)[:-1]
        lines = ",\n".join(json.dumps(model, ensure_ascii=False) for model in models)
        provider["models"] = models
        blocks.append(f'{head}, "models": [\n{lines}\n]}}')
    body = "[\n" + ",\n".join(blocks) + "\n]"
    about = {
        "source": "genai-prices",
        "version": version,
        "licence": "MIT, in the file LICENSE beside this one",
        "sha256": hashlib.sha256(body.encode()).hexdigest(),
    }
    return json.dumps(about)[:-1] + f', "providers": {body}}}\n'


if __name__ == "__main__":
    sys.exit(main())
