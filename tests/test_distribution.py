"""What is handed out: one version, packages with their data, a container, a citation, a paper."""

from __future__ import annotations

import configparser
import csv
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections import Counter
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path

import pytest

import netcosim
from netcosim.cli import command_names
from netcosim.papers import PAPERS

ROOT = Path(__file__).resolve().parent.parent
IGNORED = {
    *(".venv", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".hypothesis", "__pycache__"),
    *("build", "dist"),
}
"""Folders that tools leave in a tree without Git, other tests at the same time among them."""


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    return config


@pytest.fixture(scope="module")
def citation() -> str:
    return (ROOT / "CITATION.cff").read_text()


def rooms(setup: configparser.ConfigParser) -> set[str]:
    """The packages at the top."""
    return {name.partition(".")[0] for name in setup["options"]["packages"].split()}


def is_packaged(path: Path) -> bool:
    """Whether a file is not one of a study's tests, stored tables, pictures and pages."""
    kept = {"tests", "tables", "images"} & set(path.relative_to(ROOT).parts)
    return path.suffix not in (".pyc", ".nbi", ".nbc", ".md") and not kept


def test_there_is_one_version(setup: configparser.ConfigParser, citation: str) -> None:
    said = netcosim.__version__
    assert setup["metadata"]["version"] == "attr: netcosim.__version__"
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [said]
    assert version("netcosim") == said
    releases = re.findall(r"^## (\d+\.\d+\.\d+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert releases[0] == said
    done = subprocess.run(
        [sys.executable, "-m", "netcosim", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"netcosim {said}\n"


def test_every_file_of_a_package_is_handed_out(setup: configparser.ConfigParser) -> None:
    """Files that are no Python must be named as the package's data, or a wheel lacks them."""
    data = {
        key: value.replace(",", " ").split() for key, value in setup.items("options.package_data")
    }
    missing = []
    for package in setup["options"]["packages"].split():
        folder = ROOT / package.replace(".", "/")
        named = [*data["*"], *data.get(package, [])]
        deeper = {ROOT / p.replace(".", "/") for p in setup["options"]["packages"].split()}
        for path in folder.rglob("*"):
            inner = next(p for p in path.parents if p in deeper)
            if path.is_dir() or inner != folder or path.suffix == ".py" or not is_packaged(path):
                continue
            if not any(fnmatch(str(path.relative_to(folder)), pattern) for pattern in named):
                missing.append(str(path.relative_to(ROOT)))
    assert missing == []
    assert all((ROOT / name / "py.typed").exists() for name in rooms(setup))


def test_the_conda_recipe_asks_for_what_setup_cfg_asks_for(
    setup: configparser.ConfigParser,
) -> None:
    recipe = (ROOT / "conda/meta.yaml").read_text()
    asked = setup["options"]["install_requires"].split()
    run = re.findall(r"^    - (\S+) >=(\S+)$", recipe.partition("  run:")[2], re.MULTILINE)
    # conda's matplotlib would bring a window system
    renamed = [f"{name.removesuffix('-base')}>={least}" for name, least in run]
    assert renamed == [f"python{setup['options']['python_requires']}", *asked]


# The container


def instructions() -> list[tuple[str, list[str]]]:
    """Word and arguments of each instruction."""
    lines = [line for line in (ROOT / "Containerfile").read_text().splitlines() if line]
    return [(line.split()[0], line.split()[1:]) for line in lines if not line.startswith("#")]


def test_the_container_copies_what_there_is(setup: configparser.ConfigParser) -> None:
    copied = []
    for word, arguments in instructions():
        if word == "COPY" and not arguments[0].startswith("--from="):
            copied += arguments[:-1]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert rooms(setup) <= set(copied)
    # what the metadata read
    assert {"pyproject.toml", "setup.cfg", "LICENSE"} <= set(copied)
    assert setup["metadata"]["long_description"].removeprefix("file: ") in copied


def test_the_container_runs_what_there_is_and_not_as_root() -> None:
    found = instructions()
    words = [word for word, _ in found]
    assert words.count("FROM") == 2
    assert all(
        "python:3." in arguments[0] and "-slim" in arguments[0]
        for w, arguments in found
        if w == "FROM"
    )
    last = len(words) - 1 - words[::-1].index("FROM")
    known = {"python", "useradd", "install", "chmod", "rm", "netcosim"}
    for word, arguments in found:
        if word == "RUN":
            for part in " ".join(arguments).split("&&"):
                name, *given = part.split()
                assert name in known, part
                if name == "netcosim":
                    assert given[0] in command_names()
    user = dict(found[last:])["USER"]
    assert user == ["netcosim"]
    made = next(arguments for w, arguments in found if w == "RUN" and arguments[0] == "useradd")
    assert made[made.index("&&") - 1] == user[0]
    # kernels are compiled by the user who runs them, where everybody can read them
    assert words.index("USER") < words.index("RUN", words.index("USER"))
    assert dict(found)["ENTRYPOINT"] == ['["netcosim"]']


# The citation and the paper


def test_the_citation_names_the_papers_that_are_reproduced(citation: str) -> None:
    keys = re.findall(r"^([a-z-]+):", citation, re.MULTILINE)
    assert {"cff-version", "message", "title", "authors", "license", "date-released"} <= set(keys)
    assert len(keys) == len(set(keys))
    named = set(re.findall(r"netcosim reproduce ([a-z-]+)", citation))
    # the others of ours are no papers of somebody's
    assert named == {
        name
        for name in PAPERS
        if name
        not in (
            *("ai-clusters", "calibration", "isolation", "machines"),
            *("network-schedulers", "routers"),
        )
    }


def test_the_paper_cites_what_its_bibliography_has() -> None:
    text, bib = (ROOT / "paper.md").read_text(), (ROOT / "paper.bib").read_text()
    keys = re.findall(r"^@\w+\{(\w+),", bib, re.MULTILINE)
    assert len(keys) == len(set(keys))
    assert set(re.findall(r"@(\w+)", text)) == set(keys)
    for part in ("Summary", "Statement of need", "State of the field", "Acknowledgements"):
        assert f"\n# {part}\n" in text


def test_the_paper_s_counts_are_those_of_the_stored_tables() -> None:
    text = " ".join((ROOT / "paper.md").read_text().split())
    with (ROOT / "experiments/validation/tables/validation.csv").open(newline="") as file:
        verdicts = Counter(row["verdict"] for row in csv.DictReader(file))
    assert f"measures {verdicts.total()} rows" in text
    assert verdicts.keys() == {"holds"}
    assert "all of the recorded ones hold" in text
    peers = (ROOT / "docs/speed.md").read_text().partition("<!-- peers -->")[2]
    ratios = re.findall(r"\| (?:SST|BookSim2|CODES|ns-3).*\| (\d+)(?: to (\d+))? x \|", peers)
    found = [int(number) for pair in ratios for number in pair if number]
    assert len(ratios) == 4
    assert 10 <= min(found) <= max(found) < 1000, "one to two orders of magnitude"
    level_spread = (ROOT / "experiments/level_spread/README.md").read_text()
    assert "| 59 % | 46.2 |" in level_spread


# What is built from it, in an environment of its own (slow: pip downloads what it depends on)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("built")
    source = folder / "source"
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False
    ).stdout.decode()
    names = [name for name in tracked.split("\0") if name] or [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*")
        if not IGNORED.intersection(path.relative_to(ROOT).parts) and path.is_file()
    ]
    for name in names:
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes((ROOT / name).read_bytes())
    tools = folder / "tools"
    subprocess.run([sys.executable, "-m", "venv", tools], check=True)
    pip = [tools / "bin/python", "-m", "pip", "--disable-pip-version-check"]
    subprocess.run([*pip, "install", "--quiet", "build"], check=True)
    subprocess.run(
        [tools / "bin/python", "-m", "build", "--outdir", folder / "dist", source],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    [archive] = (folder / "dist").glob("*.tar.gz")
    [wheel] = (folder / "dist").glob("*.whl")
    return archive, wheel


@pytest.mark.slow
def test_the_wheel_has_the_packages_and_nothing_else(
    built: tuple[Path, Path], setup: configparser.ConfigParser
) -> None:
    with zipfile.ZipFile(built[1]) as wheel:
        names = wheel.namelist()
    tops = {name.partition("/")[0] for name in names}
    said = netcosim.__version__
    assert tops == rooms(setup) | {f"netcosim-{said}.dist-info"}
    ours = [
        str(path.relative_to(ROOT))
        for top in rooms(setup)
        for path in (ROOT / top).rglob("*")
        if path.is_file() and is_packaged(path)
    ]
    assert sorted(name for name in names if ".dist-info/" not in name) == sorted(ours)


@pytest.mark.slow
def test_the_source_distribution_has_tests_and_docs(built: tuple[Path, Path]) -> None:
    with tarfile.open(built[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = ["tests/test_distribution.py", "tests/mutation/mutants.toml", "docs/limits.md"]
    wanted += ["conftest.py", "experiments/routers/tables/isolation.csv"]
    wanted += ["CITATION.cff", "Containerfile", "Makefile", "paper.md", "paper.bib", ".ci/run"]
    assert [name for name in wanted if name not in names] == []
    assert not any(name.endswith((".pyc", ".nbi", ".nbc")) for name in names)


@pytest.mark.slow
def test_the_wheel_works_where_nothing_else_is(built: tuple[Path, Path], tmp_path: Path) -> None:
    """Installed with what it asks for into a bare environment, the checkout out of sight.

    Compiled kernels are shared, as by all environments; `.ci/release` compiles them anew.
    """
    place = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", place], check=True)
    pip = [place / "bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, built[1]], check=True)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    environment = {
        name: value
        for name, value in os.environ.items()
        if name not in ("PYTHONPATH", "VIRTUAL_ENV")
    }

    def netcosim(*command: str) -> str:
        done = subprocess.run(
            [place / "bin/netcosim", *command],
            cwd=elsewhere,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert netcosim("--version") == f"netcosim {version('netcosim')}\n"
    netcosim("trace", "generate", "--out", "few.swf", "--n-jobs", "30", "--mean-nodes", "4")
    out = netcosim("demo", "--log", "few.swf", "--policies", "rdn,simple", "--out", "demo")
    assert "communication_time is relative to rdn" in out
    again = netcosim("run", "demo/demo.toml", "--out", "again", "--jobs", "2")
    rows = [line for line in out.splitlines() if re.match(r"(rdn|simple) +-?\d", line)]
    assert len(rows) == 2
    assert [line for line in again.splitlines() if line in rows] == rows
    page = (elsewhere / "demo/report.html").read_text()
    assert "<style" in page
    where = "import netcosim; print(netcosim.__file__)"
    shown = subprocess.run(
        [place / "bin/python", "-c", where],
        cwd=elsewhere,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.startswith(str(place))
