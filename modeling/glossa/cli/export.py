"""Write a trained model for other programs: `glossa export MODEL --to FORMAT --output FOLDER`.

FORMAT is one of:

    bart, marian, mbart, pegasus   a model of transformers without custom code, for hosted inference and converters
    ctranslate2                    a fast inference engine
    argos                          a package for Argos Translate and LibreTranslate (--output FILE.argosmodel)
    onnx                           ONNX Runtime
    web                            static files: a page that translates in the browser
    transformers.js                the JavaScript library

If a format does not support an architecture, the error names the settings.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import GlossaError, require
from ..translate.loading import check_name, load_config, load_model, load_tokenizer, read_config
from .options import option, read
from .shared_options import ModelOptions

FAMILIES = ("bart", "marian", "mbart", "pegasus")
FORMATS = [*FAMILIES, "ctranslate2", "argos", "onnx", "web", "transformers.js"]
# Packages of the extra `engine` that a format needs.
NEEDED = {
    "ctranslate2": ["ctranslate2"],
    "argos": ["ctranslate2", "sentencepiece"],
    "onnx": ["onnx", "onnxscript"],
    "web": ["onnx", "onnxscript", "onnxruntime"],
    "transformers.js": ["onnx", "onnxscript"],
}
# Weight types of CTranslate2.
TYPES = ("int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32")


@dataclass(frozen=True)
class ExportOptions(ModelOptions):
    """The options of `glossa export`."""

    to: str = option("the format", required=True, choices=FORMATS)
    output: str = option("folder to write; for argos, the file", required=True)
    precision: str = option(
        "weights of web: float32, float16 or int8 (default: the smallest that hardly changes translations)",
        default="auto",
        choices=["auto", "float32", "float16", "int8"],
    )
    runtime: Path | None = option("for web: folder with the npm archives of its libraries (default: download them)")
    quantization: str | None = option(
        f"weights of ctranslate2 and argos: {', '.join(TYPES)} (default: float32)", choices=TYPES, metavar="TYPE"
    )


def parse(argv: list[str]) -> ExportOptions:
    return read(ExportOptions, "export", __doc__, argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    check_name(arguments.model)
    folder = Path(arguments.output)
    if folder.is_file():
        raise GlossaError(f"--output {folder} is an existing file. Give a new name.")
    if folder.exists() and any(folder.iterdir()):
        raise GlossaError(f"--output {folder} is not empty. Give a new folder, or empty it.")
    if arguments.quantization and arguments.to not in ("ctranslate2", "argos"):
        raise GlossaError(f"--quantization is for --to ctranslate2 and argos, not for {arguments.to}. Leave it out.")

    for package in NEEDED.get(arguments.to, ()):
        require(package, "engine")
    if arguments.to == "web":
        export_page(arguments, folder)
        return
    if arguments.precision != "auto" or arguments.runtime:
        raise GlossaError(f"--precision and --runtime are for --to web, not for {arguments.to}. Leave them out.")

    if read_config(arguments.model).get("model_type") != "glossa":
        export_family(arguments, folder)
        return
    model: Any = load_model(arguments.model)
    tokenizer = load_tokenizer(arguments.model)
    if arguments.to == "ctranslate2":
        from ..translate.export.ctranslate2_model import export_ctranslate2

        export_ctranslate2(model, tokenizer, folder, arguments.quantization)
    elif arguments.to == "argos":
        from ..translate.export.argos import export_argos

        export_argos(model, tokenizer, folder, arguments.quantization)
    elif arguments.to == "onnx":
        from ..translate.export.onnx_model import export_onnx

        export_onnx(model, tokenizer, folder)
    elif arguments.to == "transformers.js":
        from ..translate.export.transformers_js import export_transformers_js

        export_transformers_js(model, tokenizer, folder)
    else:
        from ..translate.export.families import export_model, save_tokenizer

        export_model(model, arguments.to).save_pretrained(folder)
        save_tokenizer(tokenizer, folder)
    print(f"{arguments.to}: {model.num_parameters():,} parameters saved in {folder}, {size_of(folder)} in all")


def export_family(arguments: ExportOptions, folder: Path) -> None:
    """Export a model of another family of transformers, with CTranslate2's converter."""
    if arguments.to != "ctranslate2":
        raise GlossaError(
            f"{arguments.model} is not a Glossa model, and --to {arguments.to} is only for these. Give --to "
            "ctranslate2, or use optimum to export other families to ONNX."
        )
    from ..translate.export.other_families import export_family

    config, tokenizer = load_config(arguments.model), load_tokenizer(arguments.model)
    export_family(arguments.model, config, tokenizer, folder, arguments.quantization)
    print(f"ctranslate2: saved in {folder}, {size_of(folder)} in all")
    print(f"Use it in programs with CTranslate2. Glossa's commands use {arguments.model} directly.")


def size_of(path: Path) -> str:
    """The size of a file, or of all files in a folder."""
    files = [path] if path.is_file() else path.rglob("*")
    return f"{sum(file.stat().st_size for file in files if file.is_file()) / 2**20:.1f} MiB"


def export_page(arguments: ExportOptions, folder: Path) -> None:
    from ..apps.web.site import export_site
    from ..train.hub.space import page_facts

    run = Path(arguments.model)
    facts = page_facts(run) if run.is_dir() else {"note": []}
    print("\n".join(export_site(arguments.model, folder, facts, arguments.precision, arguments.runtime)))
    print(f"Show it: python -m http.server --directory {folder}")
