"""Names of the code are of the field's words, and docstrings of functions begin with a verb."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    *("netsim", "alloc", "workloads", "patterns", "queuesim", "cosim", "experiments", "netcosim"),
)
NAMES = {
    *("told", "tell", "tells", "said", "says", "asked", "asks", "ours", "theirs", "worth", "luck"),
    *("yardstick", "yardsticks", "desk", "twin", "twins", "nobody", "everybody", "somebody"),
    *("chance", "chances", "game", "arena"),
}
"""Words of names: `OldName`, `old_name` and `OLD_NAME` consist of "old" and "name"."""
NOT_VERBS = {
    *("a", "an", "the", "all", "any", "both", "each", "either", "every", "few", "its", "more"),
    *("most", "no", "one", "other", "several", "some", "such", "those", "two", "three", "five"),
    *("he", "it", "nothing", "everything", "there", "they", "this", "we", "you"),
    *("how", "that", "what", "when", "where", "whether", "which", "who", "why", "is", "does"),
    *("after", "as", "at", "before", "between", "by", "for", "from", "in", "inside", "of", "on"),
    *("only", "out", "over", "so", "than", "to", "toward", "up", "with", "within", "without"),
    *("bandwidth", "communication", "family", "fig", "figure", "half", "job", "makespan", "mean"),
    *("node", "percent", "ratio", "reduction", "rest", "slowdown", "utilisation"),
}
"""Words that no imperative sentence begins with; among nouns, those found in docstrings."""
WHOLE_NAMES = {"held_back", "at_work", "help_with", "whole", "Here", "Parts", "Named"}
"""Names that are wrong, of words that are not."""


def sources(package: str) -> list[Path]:
    """Files of a package, without the tests and scripts of studies."""
    found = sorted((ROOT / package).rglob("*.py"))
    return [path for path in found if not {"tests", "tables"} & set(path.parts)]


@lru_cache(maxsize=1)
def nodes_of(source: str) -> list[ast.AST]:
    return list(ast.walk(ast.parse(source)))


def defined_in(source: str) -> Iterator[str]:
    """Names of functions, classes, parameters, variables and attributes, where they are set."""
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def wrong_names(source: str) -> set[str]:
    words = re.compile("[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
    return {
        name
        for name in defined_in(source)
        if name in WHOLE_NAMES or {word.lower() for word in words.findall(name)} & NAMES
    }


@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_of_the_fields_words(package: str) -> None:
    wrong = {}
    for path in sources(package):
        if found := wrong_names(path.read_text(encoding="utf-8")):
            wrong[path.relative_to(ROOT).as_posix()] = found
    assert wrong == {}


def test_a_word_is_found_in_names() -> None:
    assert wrong_names("def told_s(): pass") == {"told_s"}
    assert wrong_names("behold = Named_tuple = file.tell()") == set()


def beginnings(source: str) -> Iterator[tuple[str, str]]:
    """Yield the name of each function, properties apart, and two words of its docstring."""
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef) and (text := ast.get_docstring(node)):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            if "property" not in decorators:
                yield node.name, " ".join(text.split()[:2])


def begins_with_verb(text: str) -> bool:
    """Return whether a sentence may be imperative, for all that its first two words show."""
    word, _, after = text.partition(" ")
    word = word.rstrip(",.:;")
    plain = re.fullmatch("[A-Z][a-z]+", word) is not None and after != "of"
    plural = word.endswith("s") and not word.endswith("ss")
    return plain and not plural and word.lower() not in NOT_VERBS


@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_of_functions_begin_with_a_verb(package: str) -> None:
    wrong = {}
    for path in sources(package):
        name = path.relative_to(ROOT).as_posix()
        begun = beginnings(path.read_text(encoding="utf-8"))
        if found := {function: text for function, text in begun if not begins_with_verb(text)}:
            wrong[name] = found
    assert wrong == {}


def test_a_docstring_that_begins_with_a_noun_is_found() -> None:
    nouns = ["The sum", "Each", "(n,) sums", "`nodes`", "Whether", "Rows", "SHA-256", "Time of"]
    assert not any(map(begins_with_verb, nouns))
    assert all(map(begins_with_verb, ["Return it", "See", "Process it", "Yield", "Time a run"]))
    source = '''
class A:
    @property
    def size(self):
        """Nodes."""
    def run(self):
        """Run it."""
def rows():
    """(n,) rows."""
'''
    assert sorted(beginnings(source)) == [("rows", "(n,) rows."), ("run", "Run it.")]
