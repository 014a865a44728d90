"""The public modules of each room: those that other rooms import. A new one is a decision, so it is listed here."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "modeling" / "glossa"
# `model` and `base` are for everyone, and only the command imports `cli`.
PUBLIC = {
    "readers": (
        "anki columns corrections downloads embedded files formats hub manifest parquet po reading rows segments "
        "teachers "
    ),
    "translate": (
        "attention build confidence engines.forced families interface languages loading plausibility review "
        "search.constraints search.terms translator "
    ),
    "translate.corpora": ("distillation servers shards "),
    "translate.texts": ("alignment labels recall spans stand_ins tags text "),
    "translate.memory": ("building exporting index repair store terms "),
    "translate.export": ("argos ctranslate2_model decoding families onnx_model other_families transformers_js "),
    "train": ("blending building corrections replay run translating "),
    "train.data": (
        "arguments augmentation.augmentation augmentation.items augmentation.joining augmentation.shares "
        "augmentation.typing_errors augmentation.typography cleaning.cleaning cleaning.report "
        "cleaning.report_page cleaning.splitting cleaning.statistics encoding.augmented encoding.corruption "
        "encoding.encoding encoding.extension encoding.links encoding.vocabulary filters matching mixture "
        "pairs prepared preparing.prepare sources streaming.streams streaming.windows texts "
    ),
    "train.plan": (
        "arguments catalog devices explain precision preflight processes resume settings sizing start starts table "
    ),
    "train.stages": ("chain last names table "),
    "train.evaluation": (
        "blends calibration comet curves further_metrics robustness samples scoring systems "
        "translation_metric verdict "
    ),
    "train.hub": ("push space "),
    "apps.documents": ("analysis checks formats formats.format formats.keys formats.opening glossary job places "),
    "apps.server": ("app corrections keys limits memories models refusals service "),
    "apps.web": ("site "),
}
MODULES = {
    ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in PACKAGE.rglob("*.py")
}


def room_of(name):
    rooms = [room for room in PUBLIC if name == room or name.startswith(f"{room}.")]
    return max(rooms, key=len, default=name.split(".")[0])


def imported(name, path):
    """The modules that a module imports, anywhere in its file."""
    folder = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.level:
            base = [*folder[: len(folder) - node.level + 1], *(node.module.split(".") if node.module else [])]
            for alias in node.names:
                whole = ".".join([*base, alias.name])
                yield whole if whole in MODULES else ".".join(base)


@pytest.fixture(scope="module")
def imports():
    """The modules that each module imports."""
    return {name: set(imported(name, path)) for name, path in MODULES.items()}


@pytest.mark.parametrize("room", PUBLIC)
def test_other_rooms_import_the_public_modules_of_a_room(room, imports):
    found = {
        target.removeprefix(f"{room}.")
        for name, targets in imports.items()
        for target in targets
        if room_of(target) == room != room_of(name) and target != room
    }
    assert sorted(found) == "".join(PUBLIC[room]).split()


def test_every_room_says_what_it_is_for():
    for path in PACKAGE.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))), path
