"""The history of a repository's texts, followed by `glossa translate --pseudo --update`, commit by commit.

Of the last commits that changed the file of texts, the first starts with the repository's translation before it. Each
of them translates the new texts with the last result as `--update` and the texts before as `--previous`. Another
reader of the format then compares keys, values, order and comments: a translation stays where the text did, changed
and new texts are translated, and other keys go. At the end the result is compared with the repository's translation.
"""

import argparse
import contextlib
import io
import json
import re
import subprocess
import xml.etree.ElementTree as etree
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from glossa.apps.documents.formats.format import LanguagePair
from glossa.apps.documents.job import DocumentJob
from glossa.base.errors import GlossaError
from glossa.translate.build import pseudo_translator
from glossa.translate.engines.pseudo import undo

Values = dict[str, str]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("repository", type=Path, help="a local git directory")
    parser.add_argument("--source", required=True, help="the file of texts in it: JSON, YAML or strings.xml")
    parser.add_argument("--translation", required=True, help="its translation by people")
    parser.add_argument("--languages", nargs=2, default=("en", "fr"), metavar=("SOURCE", "TARGET"))
    parser.add_argument("--commits", type=int, default=10, help="commits that changed the file of texts (10)")
    parser.add_argument("--until", default="HEAD", help="the last commit (HEAD)")
    parser.add_argument("--shown", type=int, default=3, help="faults of each kind that are printed (3)")


def run(arguments: argparse.Namespace) -> None:
    history = History(arguments.repository, arguments.source, arguments.translation)
    commits = history.commits(arguments.until, arguments.commits)
    found = Followed(arguments.shown)
    with TemporaryDirectory() as folder:
        name = Path(arguments.source).name
        paths = {each: Path(folder, each, name) for each in ("texts", "before", "old", "new")}
        for path in paths.values():
            path.parent.mkdir()
        start = f"{commits[0]}^"
        paths["texts"].write_bytes(history.file(start, arguments.source))
        paths["new"].write_bytes(history.file(start, arguments.translation))
        people = {key: value for key, value in values(paths["new"]).items() if value}
        for commit in commits:
            paths["texts"].replace(paths["before"])
            paths["new"].replace(paths["old"])
            paths["texts"].write_bytes(history.file(commit, arguments.source))
            job = DocumentJob(
                paths["texts"], paths["new"], languages=LanguagePair(*arguments.languages), old=paths["old"],
                previous=paths["before"],
            )  # fmt: skip
            with contextlib.redirect_stderr(io.StringIO()):
                job.run(pseudo_translator())
            found.compare(commit, paths)
        last, texts = values(paths["new"]), values(paths["texts"])
        paths["old"].write_bytes(history.file(commits[-1], arguments.translation))
        found.with_people(people, values(paths["old"]), last, texts)
    print(f"{len(commits)} commits, {commits[0]} to {commits[-1]}: {len(texts):,} keys at the end")
    print("by commit: " + ", ".join(f"{count:,} {kind}" for kind, count in found.counts.items()))
    print("faults: " + (", ".join(f"{count:,} {kind}" for kind, count in found.faults.items()) or "none"))
    print("at the end: " + ", ".join(f"{count:,} {kind}" for kind, count in found.people.items()))


@dataclass
class History:
    """The versions of two files of a repository."""

    folder: Path
    source: str
    translation: str

    def git(self, *words: str) -> bytes:
        done = subprocess.run(["git", "-C", str(self.folder), *words], capture_output=True, check=False)
        if done.returncode:
            raise GlossaError(f"{self.folder}: git {words[0]}: {done.stderr.decode(errors='replace').strip()}")
        return done.stdout

    def commits(self, until: str, count: int) -> list[str]:
        """The last commits of the branch that changed the texts, oldest first."""
        found = self.git("log", "--first-parent", f"-{count}", "--format=%h", until, "--", self.source)
        return found.decode().split()[::-1]

    def file(self, commit: str, name: str) -> bytes:
        return self.git("show", f"{commit}:{name}")


@dataclass
class Followed:
    """What was counted."""

    shown: int
    counts: Counter[str] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    people: Counter[str] = field(default_factory=Counter)

    def compare(self, commit: str, paths: Mapping[str, Path]) -> None:
        """Compare the result of a commit with the files that it was made of."""
        texts, before, old, new = (values(paths[name]) for name in ("texts", "before", "old", "new"))
        old = {key: value for key, value in old.items() if value}  # empty ones are not translated yet
        for key, text in texts.items():
            if key not in new:
                self._fault("lost", commit, key)
            elif key in old and (key not in before or before[key].split() == text.split()):
                self._kept("stayed", new[key] == old[key], commit, f"{key}: {old[key]!r} became {new[key]!r}")
            else:
                kind = "changed" if key in old else "new"
                right = letters(undo(new[key])) == letters(text)
                self._kept(kind, right, commit, f"{key}: {text!r} became {new[key]!r}")
        self.counts["gone"] += len(old.keys() - texts.keys() - new.keys())
        for key in new.keys() - texts.keys():
            if not is_form(key, texts):
                self._fault("not gone", commit, key)
        order = [key for key in new if key in texts]
        if order != [key for key in texts if key in new]:
            self._fault("order", commit, "")
        if comments(paths["texts"]) != comments(paths["new"]):
            self._fault("comments", commit, "")

    def with_people(self, start: Values, people: Values, last: Values, texts: Values) -> None:
        """Compare the last result with the repository's translation then."""
        for key, own in start.items():
            if key in last and last[key] == own:
                kind = "as people have it" if people.get(key) == own else "people have changed or removed"
                self.people[f"approved texts kept, {kind}"] += 1
            elif key in last:
                same = people.get(key) == own
                self.people["translated again, " + ("people kept theirs" if same else "people changed theirs")] += 1
            else:
                self.people["gone, " + ("people still have them" if key in people else "as with people")] += 1
        later = texts.keys() - start.keys()
        self.people["new, of which people translated"] += sum(key in people for key in later)
        self.people["new, of which people have none"] += sum(key not in people for key in later)

    def _kept(self, kind: str, right: bool, commit: str, detail: str) -> None:
        self.counts[kind] += 1
        if not right:
            self._fault(f"{kind} wrongly", commit, detail)

    def _fault(self, kind: str, commit: str, detail: str) -> None:
        self.faults[kind] += 1
        if self.faults[kind] <= self.shown:
            print(f"{commit}: {kind}: {detail[:300]}")


def letters(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def is_form(key: str, texts: Values) -> bool:
    """Whether a key is a plural form of another one that only the translation has."""
    return any(f"{re.sub(r'[._][a-z]+$', '', key)}{mark}other" in texts for mark in "._")


def values(path: Path) -> Values:
    """The values of a file by key, without the language at the root of a YAML file, by another reader."""
    content = path.read_bytes()
    if path.suffix == ".xml":
        return dict(_of_xml(etree.fromstring(content)))
    if path.suffix == ".json":
        return dict(_flat(json.loads(content), ""))
    (root,) = yaml.load(content, yaml.BaseLoader).values()
    return dict(_flat(root, ""))


def _flat(node: Any, path: str) -> Any:
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, each in inner:
        yield from _flat(each, f"{path}.{key}" if path else str(key))
    if isinstance(node, str):
        yield path, node


def _of_xml(root: etree.Element) -> Any:
    for number, each in enumerate(root):
        if each.get("translatable") == "false":
            continue
        name = each.get("name", str(number))
        for index, item in enumerate(each) if each.tag in ("plurals", "string-array") else ():
            yield f"{name}.{item.get('quantity', index)}", _xml_text(item)
        if each.tag == "string":
            yield name, _xml_text(each)


def _xml_text(element: etree.Element) -> str:
    return (element.text or "") + "".join(etree.tostring(each, encoding="unicode") for each in element)


def comments(path: Path) -> list[str]:
    """The comments of a file outside of its values, in order."""
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".xml":
        return re.findall(r"<!--.*?-->", re.sub(r"<(string|item)\b[^>]*>.*?</\1>", "", text, flags=re.S), re.S)
    return re.findall(r"^\s*#.*", text, re.M) if path.suffix in (".yml", ".yaml") else []
