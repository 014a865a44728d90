"""The files beside the code agree with each other: linters, versions, extras and pins."""

import hashlib
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

HERE = Path(__file__)
ROOT = HERE.parents[2]
# Of the sections of released versions, which are not edited any more; a release adds its own.
RELEASED = {"0.1.0": "b1dff9def152e89f7ac9d185d28be2648cca0acf1c33a5271e6b0c2ee6d2da0e"}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_hooks_before_a_commit_are_the_linters_of_make_lint():
    hooks = [hook for repo in yaml.safe_load(read(".pre-commit-config.yaml"))["repos"] for hook in repo["hooks"]]
    lint = read("Makefile").split("\nlint:")[1].split("\n\n")[0]
    # A hook gets the names of its files from pre-commit.
    commands = [
        re.sub(r" (\.|\.github/\S+|configuration/launch/.+)$", "", command)
        for command in re.findall(r"\$\(RUN\)/(.*)", lint)
    ]
    assert [hook["entry"].removeprefix(".venv/bin/") for hook in hooks] == commands


def test_versions_agree():
    version = PROJECT["version"]
    assert yaml.safe_load(read("CITATION.cff"))["version"] == version
    assert f"\n## {version}" in read("CHANGELOG.md") and "\n## Unreleased\n" in read("CHANGELOG.md")


def test_pins_are_within_what_the_project_allows():
    from packaging.requirements import Requirement

    pins = dict(line.split("==") for line in read("constraints.txt").splitlines() if line and line[0] != "#")
    wanted = [*PROJECT["dependencies"], *(one for extra in PROJECT["optional-dependencies"].values() for one in extra)]
    for requirement in map(Requirement, wanted):
        if requirement.name in pins:
            assert requirement.specifier.contains(pins[requirement.name]), requirement
    direct = {Requirement(one).name for one in PROJECT["optional-dependencies"]["docs"]}
    assert direct <= set(pins)


def test_a_released_section_of_the_changelog_is_not_edited():
    _, *parts = re.split(r"^## (\d+\.\d+\.\d+)", read("CHANGELOG.md"), flags=re.M)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    digests = {name: hashlib.sha256(f"## {name}{text}".encode()).hexdigest() for name, text in sections.items()}
    assert digests == RELEASED


def test_no_text_installs_the_package_of_another_project():
    assert PROJECT["name"] == "glossa-mt"
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    names = [name for name in listed.split("\0") if name.endswith((".py", ".md", ".yaml", ".yml", ".ipynb", ".toml"))]
    assert len(names) > 200
    foreign = re.compile(r"""(pip install|uv add)\b[^\n|;]*?['" ]glossa(?!-mt|[\w/.-])""")
    assert foreign.search("pip install glossa") and foreign.search('pip install -U "glossa[demo]"')
    assert not foreign.search("pip install glossa-mt")
    found = [name for name in names if Path(name) != HERE.relative_to(ROOT) and foreign.search(read(name))]
    assert not found


def test_extras_that_are_named_exist():
    listed = subprocess.run(
        ["git", "ls-files", "*.md", "*.py", "*.yaml"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    named = {
        extra: name
        for name in listed.stdout.split()
        for extras in re.findall(r"glossa-mt\[([\w,]+)\]", read(name))
        for extra in extras.split(",")
    }
    assert len(named) > 5
    assert {extra: name for extra, name in named.items() if extra not in PROJECT["optional-dependencies"]} == {}
