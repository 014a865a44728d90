"""The files beside the code agree with each other: linters, versions, extras and pins."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def test_the_hooks_before_a_commit_are_the_linters_of_make_lint():
    hooks = [hook for repo in yaml.safe_load(read(".pre-commit-config.yaml"))["repos"] for hook in repo["hooks"]]
    lint = read("Makefile").split("\nlint:")[1].split("\n\n")[0]
    commands = [command.removesuffix(" .") for command in re.findall(r"\$\(RUN\)/(.*)", lint)]
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


def test_issue_and_pull_request_templates_are_there():
    for name in ("bug", "feature"):
        template = yaml.safe_load(read(f".github/ISSUE_TEMPLATE/{name}.yml"))
        assert template["name"] and template["description"] and template["body"]
    assert "CONTRIBUTING.md" in read(".github/pull_request_template.md")
