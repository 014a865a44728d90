"""Every command and program of the documentation runs as it stands, each in a process of its own.

Commands run with the built wheel in a fresh environment, programs that do not import Glossa in one without it, and
commands of scripts and benchmarks in a copy of the repository. In the README, the first of each of the commands in
`STARTED` starts as a reader starts it, and programs import transformers themselves. Most of the others are forked from
a process that has imported the libraries: see `zygote`. A marker before a block names smaller settings: see `blocks`.
"""

import contextlib
import re
import shutil
import sys
from copy import copy
from pathlib import Path

import pytest
from environments import once, with_wheel, without_glossa
from hub_server import Hub
from zygote import BARE, EARLY, LIBRARIES, Zygote

sys.path.append(str(Path(__file__).parent))  # of the two modules below

from blocks import PAGES, RECIPES, ROOT, SHELL, SMALL, blocks, comment_commands, help_examples, unfenced
from workspace import Workspace, copy_repository, hub_data, train_runs, write_files

PAGES_WITH_BLOCKS = [page for page in PAGES if any(True for _ in blocks(page))]
# What starts a machine or a program that is not here; the files that they start are checked in test_launch_files.py.
ELSEWHERE = ("docker", "sky", "sbatch", "pip install deepspeed")
# Commands that a reader is likely to begin with.
STARTED = ("train", "translate", "serve")
IN_FULL = ("make quickstart",)  # takes minutes; `small` in the README


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A workspace with files and runs, which each page gets a copy of; made once for all processes."""
    with Hub({"hf_user": "user"}) as hub:
        for name, files in hub_data().items():
            hub.add(name, files, kind="datasets")

        def space_in(folder):
            own, bare = with_wheel(tmp_path_factory), without_glossa(tmp_path_factory)
            return Workspace(folder, [own], [bare], hub, folder / "data")

        def build(folder):
            space = space_in(folder)
            space.work.mkdir()
            write_files(space.work)
            train_runs(space)
            copy_repository(space.clone)

        yield space_in(once(tmp_path_factory, "documentation", build))


@pytest.fixture(scope="module")
def page_space(prepared, tmp_path_factory):
    """The workspace of one page after the other, since the variables of a zygote's commands name its folder."""
    own = copy(prepared)
    own.place(tmp_path_factory.mktemp("page"))
    ended = []
    for name, libraries in (("binaries", LIBRARIES), ("bare", BARE)):
        (usual,) = getattr(own, name)
        first = Zygote(usual, own.variables([usual]), EARLY)
        second = Zygote(usual, own.variables([usual]), libraries, first.path)
        setattr(own, name, [second.path, first.path, usual])
        ended += [second, first]
    yield own
    for process in ended:
        process.end()


@pytest.fixture
def space(prepared, page_space):
    """A fresh workspace; only the Hub keeps what earlier pages have pushed."""
    shutil.rmtree(page_space.folder)
    shutil.copytree(prepared.work, page_space.work)
    shutil.copytree(prepared.clone, page_space.clone, symlinks=True)
    own = copy(page_space)
    own.exported = {}
    return own


def make_room(space, command, made):
    """Remove the prepared run in whose place `command` trains its own; those that the page has `made` stay."""
    found = re.match(r"glossa train (?P<recipe>[\w-]*)", command)
    if found and "--resume_from_checkpoint" not in command:
        named = re.search(r"--output_dir (\S+)", command)
        output = named[1] if named else f"runs/{found['recipe']}"
        if output not in made:
            shutil.rmtree(space.work / output, ignore_errors=True)
        made.add(output)


def run_block(space, block, made, started):
    reads_first = block.page == "README.md"
    if block.language in SHELL:
        assert block.commands, f"{block} holds no command"
        for command in block.commands:
            make_room(space, command, made)
            name = tuple(command.split()[:2])
            as_usual = reads_first and name[-1] in STARTED and name not in started
            started.add(name)
            space.run(command, space.binaries[-1:] if as_usual else space.binaries)
    else:
        program = f"{block.value('before')}\n{block.replaced}"
        imports_glossa = re.search(r"^(from|import) glossa", program, re.M)
        binaries = space.binaries if imports_glossa else space.bare
        used = binaries[1:] if reads_first else binaries
        space.python(program, used, block.value("arguments"), block.value("stdin") or None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=() if page == "README.md" else pytest.mark.examples) for page in PAGES_WITH_BLOCKS],
)
def test_the_blocks_of_a_page_run_in_their_order(space, page):
    made, started = set(), set()
    earlier = {seen.ran for other in PAGES[: PAGES.index(page)] for seen in blocks(other)}
    for block in blocks(page):
        if block.ran in earlier:
            continue
        server = block.value("server")
        with space.server(server) if server else contextlib.nullcontext():
            run_block(space, block, made, started)


def test_no_command_stands_where_it_is_not_run():
    assert {page: lines for page in PAGES if (lines := unfenced(page))} == {}


@pytest.mark.slow
def test_the_help_that_is_named_is_there(space):
    examples = help_examples()
    assert "glossa train --help all" in examples
    for example in examples:
        assert len(space.run(example.replace("COMMAND", "translate"))) > 200


@pytest.mark.slow
def test_the_commands_in_comments_of_recipes(space):
    found = {command for file in RECIPES for command in comment_commands(file)}
    launched = (ROOT / "tests/integration/test_launch_files.py").read_text(encoding="utf-8")
    ran = 0
    for command in sorted(found):
        if command.startswith(ELSEWHERE):
            assert command.split()[0] in launched or "deepspeed" in launched
        elif command.startswith("accelerate") and "single.yaml" not in command:
            assert "test_accelerate_accepts_the_file" in launched
        elif command not in IN_FULL:
            ran += 1
            small = " ".join(SMALL) if "train" in command else ""
            command = command.replace("RECIPE.yaml", "my-recipe.yaml --trust_data true --output_dir runs/launched")
            space.run(f"{command} {small}")
    assert ran >= 3


@pytest.mark.slow
def test_what_programs_print_can_be_run(space):
    small = " ".join(SMALL)
    recipe = f"glossa train my-recipe.yaml --trust_data true {small} --output_dir runs/new"
    printed = space.run(recipe)
    tried = re.search(r"Try it: (.+)", printed)[1]
    # One line for one line; warnings of a model that has learned nothing go to the other stream.
    assert space.run(f"{tried} 2>/dev/null").count("\n") == 1
    again = space.run(recipe.replace("--max_steps 4", "--max_steps 6") + " --resume_from_checkpoint true")
    assert "step 6/6" in again and "step 2/6" not in again
    short = "--trust_data true --cpu_threads 1 --num_beams 1 --max_new_tokens 8 "
    short += "--max_validation_samples 8 --max_test_samples 8"
    chosen = space.run(f"glossa train my-recipe.yaml {short} --hours 0.001 --output_dir runs/chosen")
    flags = re.search(r"Chosen for .*?: (--.+)", chosen)[1]
    space.run(f"glossa train my-recipe.yaml {short} {flags} --max_steps 1 --output_dir runs/flags")
    distilled = space.run("glossa distill runs/de-en --num_beams 1 --with_original --output 'more pairs.jsonl'")
    further = re.search(r"Train on them: (.+)", distilled)[1]
    # The teacher has learned nothing, so its translations look like those of another language.
    space.run(f"{further} --trust_data true {small} --output_dir runs/student")


def test_a_marker_changes_what_it_says_and_nothing_else():
    page = "docs/data.md"
    own = type(next(blocks(page)))(page, 1, "bash", "glossa train r.yaml \\\n  --a 1  # why\nglossa score RUN < x")
    assert own.commands == ["glossa train r.yaml --a 1", "glossa score RUN < x"]
    own.marker = ["small", "+ --b 'c d'", "RUN => runs/a"]
    assert own.commands == [" ".join(["glossa train r.yaml --a 1", *SMALL, "--b", "'c d'"]),
                            "glossa score runs/a --b 'c d' < x"]  # fmt: skip
    own.marker = ["NOT => THERE"]
    with pytest.raises(AssertionError, match="which is not in the block"):
        own.commands  # noqa: B018
