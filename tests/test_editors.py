"""What editors and shells get: the schema of configs, completion, and ``netcosim init``."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from experiments.judge.config import HEAD
from netcosim.cli import command_names, main
from netcosim.commands.completion import SHELLS
from netcosim.config.reference import config_keys
from netcosim.config.schema import config_schema, schema_text
from netcosim.demo_config import SCHEMA_FILE, SCHEMA_LINE, demo_config_text
from netsim.plugins import load_plugin, using

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = {*("machine", "workload", "queue", "communication", "run", "policies", "curve", "sweep")}


@cache
def validator() -> Any:
    from jsonschema import Draft7Validator  # which takes a second, in every worker

    schema = json.loads(schema_text())
    Draft7Validator.check_schema(schema)
    return Draft7Validator(schema)


def mistakes(content: dict[str, Any]) -> list[str]:
    return [f"{list(e.absolute_path)}: {e.message}" for e in validator().iter_errors(content)]


def configs_of_the_docs() -> dict[str, dict[str, Any]]:
    """TOML on pages with a section of a config, and the files beside them."""
    files = [*ROOT.glob("docs/**/*.toml"), *ROOT.glob("experiments/*/tables/*.toml")]
    texts = {str(p.relative_to(ROOT)): p.read_text() for p in files}
    for page in [*ROOT.glob("docs/**/*.md"), *ROOT.glob("experiments/**/*.md"), ROOT / "README.md"]:
        blocks = re.findall(r"```toml\n(.*?)```", page.read_text(), re.DOTALL)
        texts |= {f"{page.relative_to(ROOT)} {i}": text for i, text in enumerate(blocks)}
    found = {name: tomllib.loads(text) for name, text in texts.items()}
    return {name: content for name, content in found.items() if SECTIONS & set(content)}


OWN_NAMES = {
    "one-group",
    "by-turns",
    "least-work",
    "hub",
    "wide-jobs",
    "ladder",
    "few-leaves",
    "slip",
}
"""Of entries that pages on plug-ins define; a schema has them with ``--plugin`` alone."""


def test_configs_of_the_docs_are_valid() -> None:
    configs = configs_of_the_docs()
    assert len(configs) > 40
    wrong = {name: found for name, content in configs.items() if (found := mistakes(content))}
    assert {n: w for n, w in wrong.items() if not any(own in str(w) for own in OWN_NAMES)} == {}
    assert len(wrong) <= len(OWN_NAMES)


def test_the_example_of_every_key_is_valid() -> None:
    examples = {key.path: tomllib.loads("\n".join(key.lines)) for key in config_keys().values()}
    assert {path: found for path, one in examples.items() if (found := mistakes(one))} == {}


@pytest.mark.parametrize(
    "text",
    [
        'machine.presett = "cab"',
        'machine.preset = "cap"',
        'machine.p = "two"',
        "machine.packet.packetbytes = 2",
        'queue.policies = ["rdx"]',
        "queue.backfill = 3",
        "run.seed = -1",
        "queue.checkpoint.restart = 5",
        'queue.checkpoint.restart_s = "5"',
        "run.confidence = 2",
        'communication.mix = [{ pattern = "halo3d", message_bytes = "big" }]',
        "workload.synthetic.n_jobs = 0",
        'workload.synthetic.n_jobs = "x"',
        "curve.loads = [2.0]",
        "curve.load = [0.2]",
    ],
)
def test_mistakes_are_invalid(text: str) -> None:
    assert mistakes(tomllib.loads(text))


def test_values_may_be_lists_ranges_and_have_units() -> None:
    text = """
    machine = { family = "dragonfly", p = [2, 4], a = 4, g = 5, global_bandwidth = "8 Gbit/s" }
    workload.log = "a.swf"
    queue = { policies = [["rdn"], ["simple"]], order = ["fcfs", "wfp"] }
    queue.multifactor = { age = 1 }
    run.seed = { from = 1, to = 5, step = 1 }
    communication.mix = [{ pattern = "halo3d", message_bytes = ["1 KiB", "4 KiB"] }]
    """.replace("    queue.multifactor = { age = 1 }\n", "")
    assert mistakes(tomllib.loads(text)) == []


def test_a_plugin_adds_its_names(tmp_path: Path) -> None:
    plugin = tmp_path / "mine.py"
    source = (ROOT / "docs" / "extend.md").read_text(encoding="utf-8")
    block = next(b for b in re.findall(r"```python\n(.*?)```", source, re.DOTALL) if "PLUGIN" in b)
    plugin.write_text(block)
    with using([load_plugin(str(plugin))]):
        inside = json.dumps(config_schema())
    assert len(inside) > len(json.dumps(config_schema()))


def test_written_configs_name_the_schema(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A relative file, so that editors need no network; the same bytes each time."""
    demo = demo_config_text(None, None, ["rdn", "rdg"], 1)
    for text in (demo, HEAD):
        assert text.startswith(f"#:schema ./{SCHEMA_FILE}\n")
    assert mistakes(tomllib.loads(demo)) == []
    target = tmp_path / SCHEMA_FILE
    assert main(["schema", "--out", str(target)]) == 0
    capsys.readouterr()
    assert main(["schema"]) == 0
    assert capsys.readouterr().out == target.read_text(encoding="utf-8") == schema_text()


# init


def init(monkeypatch: pytest.MonkeyPatch, folder: Path, *options: str) -> int:
    monkeypatch.chdir(folder)
    return main(["init", *options])


def test_init_writes_a_config_that_is_valid_and_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    switches = "SwitchName=a Nodes=n[0-7]\nSwitchName=b Nodes=n[8-15]\nSwitchName=c Switches=a,b\n"
    (tmp_path / "topology.conf").write_text(switches)
    assert init(monkeypatch, tmp_path, "--machine", "topology.conf") == 0
    assert "16 nodes, policies random, slurm-tree" in capsys.readouterr().out
    text = (tmp_path / "netcosim.toml").read_text()
    assert text.startswith(f"{SCHEMA_LINE}\n# ")
    assert text.count("\n# ") >= 4
    assert mistakes(tomllib.loads(text)) == []
    assert (tmp_path / SCHEMA_FILE).read_text(encoding="utf-8") == schema_text()
    assert main(["run", "netcosim.toml", "--dry-run"]) == 0
    assert "snapshots" in capsys.readouterr().out
    # nothing is overwritten, and nothing wrong is written
    for options, expected in [
        ((), "netcosim.toml: exists already; give another name with --out"),
        (("--out", "b.toml", "--machine", "dragonfly-270"), "dragonfly-270: no such file"),
        (("--out", "b.toml", "--policies", "rdx"), "unknown allocation policy 'rdx'"),
        (("--out", "b.toml", "--log", "none.swf"), "none.swf"),
    ]:
        assert init(monkeypatch, tmp_path, *options) == 2
        [line] = capsys.readouterr().err.splitlines()
        assert expected in line
    assert not (tmp_path / "b.toml").exists()


def test_init_asks_on_a_terminal_what_options_do_not_give(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return {"machine": "fattree-1024", "policies": ""}[question.split()[0]]

    monkeypatch.setattr("builtins.input", answer)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    log = tmp_path / "jobs.swf"
    log.write_text("; MaxNodes: 64\n1 0 5 100 16 -1 -1 16 200 -1 1 1 1 -1 1 -1 -1 -1\n")
    assert init(monkeypatch, tmp_path, "--log", str(log)) == 0
    assert [question.split(" [")[-1] for question in asked] == [
        "dragonfly-272]: ",
        "random,slurm-tree]: ",
    ]
    content = tomllib.loads((tmp_path / "netcosim.toml").read_text())
    assert content["machine"]["preset"] == "fattree-1024"
    assert content["workload"] == {"log": str(log), "larger_jobs": "drop"}


# Completion


@pytest.fixture(scope="module")
def scripts() -> dict[str, str]:
    import contextlib
    import io

    found = {}
    for shell in SHELLS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            assert main(["completion", shell]) == 0
        found[shell] = printed.getvalue()
    return found


def test_scripts_have_every_command_and_names(scripts: dict[str, str]) -> None:
    for script in scripts.values():
        for name in [*command_names(), "jigsaw", "level-spread", "papers", "retry-failed"]:
            assert name in script


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shell_reads_its_script(scripts: dict[str, str], shell: str, tmp_path: Path) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "script").write_text(scripts[shell])
    subprocess.run([shell, "-n", str(tmp_path / "script")], check=True)


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["ju"], {"judge"}),
        (["sweep", "--re"], {"--retry-failed"}),
        (["list", "po"], {"policies"}),
        (["describe", "jigs"], {"jigsaw"}),
        (["report", "r.db", "--format", ""], {"png", "svg", "pdf"}),
        (["run", "mi"], {"mine.toml"}),
        (["trace", "gen"], {"generate"}),
    ],
)
def test_bash_completes(
    scripts: dict[str, str], tmp_path: Path, words: list[str], expected: set[str]
) -> None:
    (tmp_path / "script").write_text(scripts["bash"])
    (tmp_path / "mine.toml").touch()
    line = ["netcosim", *words]
    quoted = " ".join(f"'{word}'" for word in line)
    done = subprocess.run(
        [
            "bash",
            "-c",
            f"source ./script; COMP_WORDS=({quoted}); COMP_CWORD={len(words)}; "
            f"COMP_LINE='{' '.join(line)}'; "
            '_shtab_netcosim netcosim "${COMP_WORDS[COMP_CWORD]}" ""; echo "${COMPREPLY[@]}"',
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert set(done.stdout.split()) == expected
