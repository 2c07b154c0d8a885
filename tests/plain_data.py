"""The type of decoded data whose shape a file decides: a JSON object, or a dict of a pickle."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
