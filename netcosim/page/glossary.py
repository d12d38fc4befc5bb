"""What the terms of a page mean, one hover, tap or focus away, and in a list at its end."""

from __future__ import annotations

import html
import re
import tomllib
from functools import cache
from importlib.resources import files


def asset(name: str) -> str:
    """The text of a file beside this one."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@cache
def glossary() -> dict[str, str]:
    """What each term means."""
    return {term: entry["text"] for term, entry in tomllib.loads(asset("glossary.toml")).items()}


@cache
def _terms() -> tuple[dict[str, str], re.Pattern[str]]:
    """Terms by each of their words, and what finds the words."""
    entries = tomllib.loads(asset("glossary.toml")).items()
    by_word = {word: term for term, entry in entries for word in entry["words"]}
    by_word |= {word[0].upper() + word[1:]: term for word, term in by_word.items()}
    words = "|".join(re.escape(word) for word in sorted(by_word, key=len, reverse=True))
    return by_word, re.compile(rf"(?<![\w.&-])({words})(?![\w-]|\.\w)")


def marked(text: str) -> str:
    """A text as HTML, the first word of each term with its meaning."""
    by_word, pattern = _terms()
    seen: set[str] = set()

    def mark(found: re.Match[str]) -> str:
        term = by_word[found[0]]
        if term in seen:
            return found[0]
        seen.add(term)
        means = html.escape(glossary()[term], quote=True)
        return (
            f'<abbr class="term" tabindex="0" data-term="{term}" title="{means}">{found[0]}</abbr>'
        )

    kept = re.sub(r"(?<=\d) (?=%)", "\u00a0", html.escape(text))
    return pattern.sub(mark, kept)


def glossary_html(body: str) -> str:
    """The terms that are marked in a page's body, with their meanings."""
    used = sorted(set(re.findall(r' data-term="([^"]+)"', body)), key=str.lower)
    entries = "".join(f"<dt>{term}</dt><dd>{html.escape(glossary()[term])}</dd>" for term in used)
    return f'<dl class="glossary">{entries}</dl>' if used else ""
