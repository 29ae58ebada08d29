"""How values of callers are shown in messages."""

from __future__ import annotations

from typing import Any


def shown(value: Any, most: int = 80) -> str:
    """A value for a message: its `repr`, cut short, and its type where it has none that can be printed."""
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 1024:
        return f"{'-' if value < 0 else ''}2**{value.bit_length() - 1} or more"
    try:
        text = repr(value[: most + 1] if isinstance(value, str | bytes) else value)
    except Exception:
        return f"an object of type {type(value).__name__}"
    return text if len(text) <= most else f"{text[:most]}…"
