"""What a reader of a page reads: its words without tags, scripts and styles."""

from __future__ import annotations

import html
import re


def words(page: str) -> str:
    """The words of an HTML page, one space between them."""
    shown = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.S)
    text = html.unescape(re.sub(r"<[^>]+>", "", shown))
    return " ".join(text.replace("\u00a0", " ").split())
