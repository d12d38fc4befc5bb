"""What the terms of a page mean, one hover, tap or focus away, and in a list at its end."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path

from markupsafe import Markup, escape

_ASSETS = Path(__file__).with_name("assets")
_TERM = Markup('<abbr class="term" tabindex="0" data-term="{}" title="{}">{}</abbr>')


@cache
def asset(name: str) -> str:
    """Return the text of a file in ``assets``."""
    return (_ASSETS / name).read_text(encoding="utf-8")


@cache
def glossary() -> dict[str, str]:
    """Return what each term means."""
    return {term: entry["text"] for term, entry in tomllib.loads(asset("glossary.toml")).items()}


@cache
def _terms() -> tuple[dict[str, str], re.Pattern[str]]:
    """Return terms by each of their words, and the pattern that finds the words."""
    entries = tomllib.loads(asset("glossary.toml")).items()
    by_word = {word: term for term, entry in entries for word in entry["words"]}
    by_word |= {word[0].upper() + word[1:]: term for word, term in by_word.items()}
    words = "|".join(re.escape(word) for word in sorted(by_word, key=len, reverse=True))
    return by_word, re.compile(rf"(?<![\w.&-])({words})(?![\w-]|\.\w)")


def marked(text: str) -> Markup:
    """Return a text as HTML, the first word of each term with its meaning."""
    by_word, pattern = _terms()
    seen: set[str] = set()

    def mark(found: re.Match[str]) -> str:
        term = by_word[found[0]]
        if term in seen:
            return found[0]
        seen.add(term)
        return _TERM.format(term, glossary()[term], found[0])

    kept = re.sub(r"(?<=\d) (?=%)", "\u00a0", escape(text))
    return Markup(pattern.sub(mark, kept))


def paragraphs(text: str) -> Markup:
    """Return `marked` text; an empty line starts a new paragraph."""
    parts = [part.strip() for part in re.split(r"\n\s*\n", marked(text)) if part.strip()]
    return Markup("".join(f"<p>{part}</p>" for part in parts))


def terms_in(body: str) -> list[tuple[str, str]]:
    """Return the terms that are marked in a page's body, and what they mean."""
    used = sorted(set(re.findall(r' data-term="([^"]+)"', body)), key=str.lower)
    return [(term, glossary()[term]) for term in used]
