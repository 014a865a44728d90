"""The commands and programs of the documentation, with the markers that tell how the test runs them.

A marker is an HTML comment before a block. Each of its lines is one of:

    small               smaller settings for each `glossa train` of the block (`SMALL`)
    + --name value      more options for each command of the block
    OLD => NEW          replaces text of the block
    before: CODE        Python that runs before the program
    arguments: WORDS    of the program
    stdin: TEXT         of the program
    server: COMMAND     starts a server that runs while the block does
"""

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("docs/*.md"))]
RECIPES = sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("configuration/**/*") if path.is_file())
SHELL, PYTHON = ("bash", "sh", "shell", "console"), ("python", "py")
COMMAND = re.compile(r"^(glossa|accelerate|python|torchrun|pip|make|pytest|docker|sky|sbatch|hf)\s")
SIZES = ("d_model 16, encoder_layers 1, decoder_layers 1, encoder_attention_heads 2, decoder_attention_heads 2, "
         "num_key_value_heads 2, encoder_ffn_dim 32, decoder_ffn_dim 32")  # fmt: skip
LENGTHS = ("max_steps 4, eval_strategy steps, eval_steps 4, save_strategy steps, save_steps 4, logging_steps 2, "
           "max_validation_samples 8, max_test_samples 8, max_new_tokens 8, num_beams 1, cpu_threads 1, "
           "vocab_size 320")  # fmt: skip
SMALL = [word for pair in f"{SIZES}, {LENGTHS}".split(", ") for word in f"--{pair}".split()]


@dataclass
class Block:
    """One fenced block: its `page` and `line`, `language`, `text` and the lines of its marker."""

    page: str
    line: int
    language: str
    text: str
    marker: list[str] = field(default_factory=list)

    def __str__(self):
        return f"{self.page}:{self.line}"

    def value(self, name):
        """What follows `name:` in the marker; "" if it is not there."""
        return next((line.removeprefix(f"{name}:").strip() for line in self.marker if line.startswith(f"{name}:")), "")

    @property
    def replaced(self):
        """The text after the replacements of the marker."""
        text = self.text
        for line in self.marker:
            if change := re.fullmatch(r"(.+?) =>(?: (.*))?", line):
                old, new = change[1], change[2] or ""
                assert old in text, f"{self}: the marker replaces {old!r}, which is not in the block"
                text = text.replace(old, new)
        return text

    @property
    def ran(self):
        """What the test runs: two blocks with the same are run once."""
        return tuple(self.commands) if self.language in SHELL else (self.replaced, *self.marker)

    @property
    def commands(self):
        """The commands of a block of a shell, each as one line, with the options of the marker."""
        more = [word for line in self.marker if line.startswith("+ ") for word in shlex.split(line[2:])]
        found = []
        for line in re.sub(r"\s*\\\n\s*", " ", self.replaced).splitlines():
            command = re.sub(r"(^|\s+)#.*$", "", line).strip()
            if command:
                trains = re.search(r"\btrain(\.py)?\s", command)
                options = [*(SMALL if "small" in self.marker and trains else []), *more]
                end = re.search(r"\s[<>|]", command)
                at = end.start() if end else len(command)
                own = [shlex.quote(word) for word in options]
                found.append(" ".join([command[:at], *own]) + command[at:])
        return found


def blocks(page):
    """All fenced blocks of a page that hold commands or Python."""
    text = (ROOT / page).read_text(encoding="utf-8")
    pattern = re.compile(
        r"(?:^ *<!-- test\n(?P<marker>.*?)-->\n)?^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^ *```", re.M | re.S
    )
    for found in pattern.finditer(text):
        if found["language"] in SHELL + PYTHON:
            own = "\n".join(line.removeprefix(found["indent"]) for line in found["text"].splitlines())
            marker = [line.strip() for line in (found["marker"] or "").splitlines() if line.strip()]
            line = text[: found.start("text")].count("\n") + 1
            yield Block(page, line, found["language"], own, marker)


def unfenced(page):
    """Commands that stand in an indented block, where no reader of this module would find them."""
    text = re.sub(r"^ *```.*?^ *```|<!--.*?-->", "", (ROOT / page).read_text(encoding="utf-8"), flags=re.M | re.S)
    return [line for line in text.splitlines() if re.match(r"^ {4,}\S", line) and COMMAND.match(line.strip())]


def help_examples():
    """Every `glossa ... --help` in the pages and the package."""
    files = [ROOT / page for page in PAGES]
    files += (ROOT / "modeling/glossa").rglob("*.py")
    pattern = re.compile(r"`(glossa \w+ --help(?: all)?)`")
    return sorted({match for file in files for match in pattern.findall(file.read_text(encoding="utf-8"))})


def comment_commands(file):
    """Commands in the comments at the start of a recipe or launch file."""
    lines = []
    for line in (ROOT / file).read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            break
        lines.append(line.lstrip("#!").strip())
    text = re.sub(r"\\ ", "", " ".join(lines))
    quoted = re.findall(r"`([^`]+)`", text)
    plain = [line for line in lines if COMMAND.match(line)]
    return [command for command in (*quoted, *plain) if COMMAND.match(command)]
