"""The folder in which the documentation's commands run: the files and runs that a reader is supposed to have."""

import contextlib
import fcntl
import gzip
import io
import itertools
import json
import os
import re
import shutil
import socket
import subprocess
import time
import zipfile
from pathlib import Path

import pyarrow
import pyarrow.parquet
from blocks import ROOT, SMALL
from published_models import publish
from wide_corpus import write_wide_corpus

from glossa.model.configuration_glossa import PUBLISHED_2017
from glossa.readers.embedded import embedded_corpus

NOUNS = {"Hund": "dog", "Baum": "tree", "Tisch": "table", "Mann": "man", "Vogel": "bird", "Stuhl": "chair"}
WORDS = {"groß": "big", "klein": "small", "alt": "old", "schön": "beautiful", "grün": "green", "neu": "new"}
PLACES = {"im Garten": "in the garden", "vor dem Haus": "in front of the house", "auf der Straße": "in the street"}
FRENCH = {"dog": "chien", "tree": "arbre", "table": "tableau", "man": "homme", "bird": "oiseau", "chair": "fauteuil",
          "big": "grand", "small": "petit", "old": "vieux", "beautiful": "beau", "green": "vert", "new": "neuf",
          "in the garden": "dans le jardin", "in front of the house": "devant la maison",
          "in the street": "dans la rue"}  # fmt: skip
# A folder that CTranslate2 and Marian can take.
CLASSIC = PUBLISHED_2017 | {"num_key_value_heads": "null"}


def sentences():
    """108 sentences as German, English, French."""
    for (noun, english), (word, meaning), (place, where) in itertools.product(
        NOUNS.items(), WORDS.items(), PLACES.items()
    ):
        yield (
            f"Der {noun} {place} ist sehr {word}.", f"The {english} {where} is very {meaning}.",
            f"Le {FRENCH[english]} {FRENCH[where]} est très {FRENCH[meaning]}.",
        )  # fmt: skip


def splits():
    """Training, validation and test sentences."""
    rows = list(sentences())
    return {"train": rows[:88], "val": rows[88:98], "test": rows[98:]}


def write_files(folder):
    """The files that the documentation names."""
    for split, rows in splits().items():
        for number, code in enumerate(("de", "en", "fr")):
            text = "".join(f"{row[number]}\n" for row in rows)
            (folder / f"{split}.{code}").write_text(text, encoding="utf-8")
            for name in {split, "test_2016_flickr"} if split == "test" else {split}:
                with gzip.open(folder / f"{name}.{code}.gz", "wt", encoding="utf-8") as file:
                    file.write(text)
    rows = splits()["train"]
    for name, code in (("german.txt", 0), ("english.txt", 1), ("source.txt", 0), ("big.txt", 0)):
        (folder / name).write_text("".join(f"{row[code]}\n" for row in rows[:9]), encoding="utf-8")
    for code in ("en", "fr"):
        shutil.copy(folder / f"train.{code}", folder / f"news.{code}")
    mine = "".join(f"{row[1]}\t{row[2]}\n" for row in rows[40:60])
    (folder / "mine.tsv").write_text(mine, encoding="utf-8")
    general = "".join(f"{number} {row[0]}\t{number} {row[1]}\n" for number, row in enumerate(rows))
    (folder / "general.tsv").write_text(general, encoding="utf-8")
    for name, code in (("theirs.txt", 1), ("other.txt", 2)):  # as many as the runs have test pairs
        (folder / name).write_text("".join(f"{row[code]}\n" for row in splits()["test"][:8]), encoding="utf-8")
    for family, name in (("opus-mt", "opus-mt-en-fr"), ("nllb", "nllb-200")):  # of a few letters, and random
        publish(family, folder / name, [row[1] for row in rows], [row[2] for row in rows])
    write_documents(folder)
    (folder / "multi30k").mkdir()
    corpus = embedded_corpus()
    for split, name, count in (("train", "train", 3000), ("validation", "val", 20), ("test", "test_2016_flickr", 20)):
        pairs = [pair["translation"] for pair in corpus[split].select(range(count))]
        for code in ("en", "fr"):
            with gzip.open(folder / "multi30k" / f"{name}.{code}.gz", "wt", encoding="utf-8") as file:
                file.write("".join(f"{pair[code]}\n" for pair in pairs))
    write_wide_corpus(folder / "FOLDER")  # the name on the pages
    recipe = {"source_language": "de", "target_language": "en", "data_path": ["train.de", "train.en"],
              "validation_path": ["val.de", "val.en"], "test_path": ["test.de", "test.en"]}  # fmt: skip
    (folder / "my-recipe.yaml").write_text(json.dumps(recipe), encoding="utf-8")
    for name, code in (("deu", 0), ("fra", 2)):
        with zipfile.ZipFile(folder / f"{name}-eng.zip", "w") as archive:
            text = "".join(f"{row[1]}\t{row[code]}\tCC-BY\n" for row in sentences())
            archive.writestr(f"{name}.txt", text)
            archive.writestr("_about.txt", "Sentences of a test.")
    table = pyarrow.table({"translation": [{"en": row[1], "fr": row[2]} for row in rows]})
    pyarrow.parquet.write_table(table, folder / "rows.parquet")


def write_documents(folder):
    """The documents that the documentation names, with a memory for them."""
    page = "<p>Der <b>Hund</b> im Garten ist sehr alt.</p>\n"
    (folder / "docs").mkdir()
    for name in ("seite.html", "report.html", "docs/page.html"):
        (folder / name).write_text(page, encoding="utf-8")
    (folder / "docs/page.md").write_text("# Der Hund\n\nDer *Baum* ist alt.\n", encoding="utf-8")
    (folder / "new.json").write_text('{"dog": "Der Hund", "tree": "Der Baum"}', encoding="utf-8")
    (folder / "old.json").write_text('{"dog": "The dog"}', encoding="utf-8")
    (folder / "app.po").write_text('msgid "Der Hund"\nmsgstr ""\n', encoding="utf-8")
    (folder / "shop.csv").write_text("id,title,text\n1,Der Hund,Der Baum ist alt.\n", encoding="utf-8")
    (folder / "post.yaml").write_text("title: Der Hund\npost: {description: Der Baum, id: x}\n", encoding="utf-8")
    rows = [{"source": f"Der {noun} ist neu.", "correction": f"The {word} is new."} for noun, word in NOUNS.items()]
    (folder / "corrections.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    sides = "".join(
        f'<tuv xml:lang="{code}"><seg>{text}</seg></tuv>' for code, text in (("de", "Der Hund"), ("en", "The dog"))
    )
    header = 'creationtool="x" creationtoolversion="1" segtype="sentence" o-tmf="x" adminlang="en" srclang="de"'
    header = f'<header {header} datatype="plaintext"/>'
    memory = f'<tmx version="1.4">{header}<body><tu>{sides}</tu></body></tmx>\n'
    (folder / "memory.tmx").write_text(memory, encoding="utf-8")
    (folder / "tour").mkdir()
    tour = re.findall(r"^`(tour\S+)`:\n\n```\w+\n(.*?)^```", (ROOT / "docs/desk.md").read_text("utf-8"), re.M | re.S)
    assert len(tour) == 5
    for name, text in tour:
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "terms.tsv").write_text("Mann\tman\nHund\tdog\n", encoding="utf-8")


def hub_data():
    """Files of the data sets that the recipes name, by repository."""
    names = {"train": "train", "val": "validation", "test": "test"}
    multi30k = {
        f"{'val' if split == 'val' else split}.jsonl": "".join(
            json.dumps({"de": row[0], "en": row[1]}) + "\n" for row in rows
        ).encode()
        for split, rows in splits().items()
    }
    wmt = {}
    for split, rows in splits().items():
        buffer = io.BytesIO()
        translation = [{"de": row[0], "en": row[1]} for row in rows]
        pyarrow.parquet.write_table(pyarrow.table({"translation": translation}), buffer)
        wmt[f"de-en/{names[split]}-00000-of-00001.parquet"] = buffer.getvalue()
    return {"bentrevett/multi30k": multi30k, "wmt/wmt14": wmt}


class Workspace:
    """Two folders: `work`, empty but for the reader's files, and `clone`, a copy of the repository.

    Commands of scripts and benchmarks run in the copy, all others in `work`; runs are the same folder in both.

    Args:
        folder: Of both folders.
        binaries: Folders of commands, first those that start faster than the usual ones, such as a zygote's.
        bare: The same, of an environment without Glossa.
        hub: The Hub that the commands use.
        data: The folder in which data sets that commands have read are kept for all pages.
    """

    def __init__(self, folder: Path, binaries: list[Path], bare: list[Path], hub, data: Path):
        self.binaries, self.bare, self.hub, self.data = binaries, bare, hub, data
        self.exported: dict[str, str] = {}
        self.place(folder)

    def place(self, folder: Path):
        """Have the two folders in `folder`."""
        self.folder, self.work, self.clone = folder, folder / "work", folder / "clone"

    def variables(self, binaries):
        kept = self.hub.environment(self.folder / "home", "hf_user") | {"HF_DATASETS_CACHE": str(self.data)}
        kept = {name: value for name, value in kept.items() if not name.startswith(("PYTEST_", "PYTHON"))}
        path = os.pathsep.join([*map(str, binaries), kept["PATH"]])
        return kept | {"PATH": path, "OMP_NUM_THREADS": "1"} | self.exported

    def run(self, command, binaries=None, stdin=None, timeout=300):
        """Run a command as it stands in a process of its own; what it printed. Fails with its errors."""
        if command.startswith("export "):
            self.exported |= dict(pair.split("=", 1) for pair in command.split()[1:])
            return ""
        if command.startswith(("glossa demo", "glossa serve")) and "--new_key" not in command:
            with self.server(command, binaries) as line:
                return line
        in_clone = ("accelerate", "python -m benchmarks", "python scripts", "torchrun", "pip", "python -m venv")
        cwd = self.clone if command.startswith(in_clone) else self.work
        if cwd == self.clone:
            for path in self.work.iterdir():
                if not (self.clone / path.name).exists():
                    (self.clone / path.name).symlink_to(path)
        variables = self.variables(binaries or self.binaries)
        if command.startswith("pip install") and not command.endswith(" ."):
            variables["PIP_NO_DEPS"] = "1"  # they are there, in versions that were compared
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", command], cwd=cwd, env=variables,
            **({"input": stdin} if stdin is not None else {"stdin": subprocess.DEVNULL}), capture_output=True,
            text=True, timeout=timeout, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\nended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    @contextlib.contextmanager
    def server(self, command, binaries=None):
        """A server that `command` starts; the line with its address. One at a time, since all have the same port."""
        with self.data.with_suffix(".lock").open("w") as one:
            fcntl.flock(one, fcntl.LOCK_EX)
            with self.started(command, binaries) as line:
                yield line

    @contextlib.contextmanager
    def started(self, command, binaries):
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command}"], cwd=self.work,
            env=self.variables(binaries or self.binaries) | {"PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        try:
            line = next(line for line in iter(process.stdout.readline, "") if "http://127.0.0.1" in line)
            port = int(line.strip().rsplit(":", 1)[1])
            for _ in range(300):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.1)
            yield line
        finally:
            process.terminate()
            process.communicate(timeout=60)

    def python(self, program, binaries, arguments="", stdin=None):
        """Run a program in a process of its own."""
        (self.work / "program.py").write_text(program, encoding="utf-8")
        return self.run(f"python program.py {arguments}", binaries, stdin)


def copy_repository(target):
    """The files of the repository that git knows, as a clone has them, uncommitted changes included."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).exists() or (ROOT / name).is_symlink():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target / name, follow_symlinks=False)


def train_runs(space):
    """The runs that the documentation names, of a few steps, by one process, since an import takes seconds."""
    small = " ".join(SMALL)
    german = "--source_language de --target_language en --data_path train.de train.en --validation_path val.de val.en "
    german += "--test_path test.de test.en --trust_data true"
    classic = " ".join(f"--{name} {value}" for name, value in CLASSIC.items())
    english = german.replace("language de", "language xx").replace("language en", "language de")
    english = english.replace("language xx", "language en")
    ways = [("de", "en"), ("en", "fr"), ("en", "de")]
    sources = [
        {"name": f"{source}-{target}", "data_path": [f"train.{source}", f"train.{target}"],
         "source_language": source, "target_language": target}
        for source, target in ways
    ]  # fmt: skip
    (space.work / "many.yaml").write_text(json.dumps({"sources": sources, "trust_data": "true"}))
    runs = {
        "de-en": f"{german} {small}",
        "my-marian": f"{german} {small.replace('--num_key_value_heads 2', '')} {classic}",
        # Long enough that it writes words, which a teacher must.
        "en-de": f"{english} {small.replace('--vocab_size 320', '--tokenizer runs/de-en')} --max_steps 60 "
                 "--learning_rate 0.02 --eval_steps 60 --save_steps 60",
        "quickstart": f"quickstart {small} --max_train_samples 2000", "many": f"many.yaml {small}",
    }  # fmt: skip
    commands = [[*options.split(), "--output_dir", f"runs/{name}"] for name, options in runs.items()]
    space.python(f"from glossa.cli.train import main\nfor argv in {commands!r}:\n    main(argv)\n", space.binaries)
    for copy, of in (("de-en-2", "de-en"), ("one", "de-en"), ("other", "en-de"), ("anki-en-fr", "quickstart"),
                     ("a", "en-de"), ("b", "en-de"), ("back", "de-en"), ("en-de-2", "en-de")):  # fmt: skip
        shutil.copytree(space.work / "runs" / of, space.work / "runs" / copy)
