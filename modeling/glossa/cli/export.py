"""Write a trained model for other programs: `glossa export MODEL --to FORMAT --output FOLDER`.

FORMAT is a family of transformers (bart, marian, mbart, pegasus), whose folder holds no custom code, so that hosted
inference, optimum and converters can load it; ctranslate2, a fast engine for serving; argos, a package for Argos
Translate and LibreTranslate (`--output FILE.argosmodel`); onnx, for ONNX Runtime; web, a folder of static files whose
page translates in the browser; or transformers.js, for that library. An architecture that the format does not support
is refused, and the message names the settings.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import GlossaError
from ..translate.loading import check_name, load_config, load_model, load_tokenizer, read_config
from .options import option, read
from .shared_options import ModelOptions

FAMILIES = ("bart", "marian", "mbart", "pegasus")
FORMATS = [*FAMILIES, "ctranslate2", "argos", "onnx", "web", "transformers.js"]
# The types of weights that CTranslate2 stores.
TYPES = ("int8", "int8_float32", "int8_float16", "int8_bfloat16", "int16", "float16", "bfloat16", "float32")


@dataclass(frozen=True)
class ExportOptions(ModelOptions):
    """The options of `glossa export`."""

    to: str = option("the format", required=True, choices=FORMATS)
    output: str = option("the folder to write; of argos the file", required=True)
    precision: str = option(
        "of web's weights: float32, float16 or int8 (default: the smallest that changes next to nothing)",
        default="auto",
        choices=["auto", "float32", "float16", "int8"],
    )
    runtime: Path | None = option("of web: a folder with the npm archives of its runtime (default: downloaded)")
    quantization: str | None = option(
        f"of ctranslate2's weights: {', '.join(TYPES)} (default: float32)", choices=TYPES, metavar="TYPE"
    )


def parse(argv: list[str]) -> ExportOptions:
    return read(ExportOptions, "export", __doc__, argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    check_name(arguments.model)
    folder = Path(arguments.output)
    if folder.is_file():
        raise GlossaError(f"--output {folder} is a file that is there already. Give a new name.")
    if folder.exists() and any(folder.iterdir()):
        raise GlossaError(f"--output {folder} is not empty. Give a new folder, or empty it.")
    if arguments.quantization and arguments.to not in ("ctranslate2", "argos"):
        raise GlossaError(
            f"--quantization is for --to ctranslate2 and argos; {arguments.to} keeps the weights as they are."
        )

    if arguments.to == "web":
        export_page(arguments, folder)
        return
    if arguments.precision != "auto" or arguments.runtime:
        raise GlossaError(f"--precision and --runtime are for --to web, not for {arguments.to}.")

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
    """Export a model of another family of transformers, which only CTranslate2's own converter does here."""
    if arguments.to != "ctranslate2":
        raise GlossaError(
            f"{arguments.model} is no Glossa model, and --to {arguments.to} is for these. Give --to ctranslate2; "
            "optimum exports other families to ONNX."
        )
    from ..translate.export.other_families import export_family

    config, tokenizer = load_config(arguments.model), load_tokenizer(arguments.model)
    export_family(arguments.model, config, tokenizer, folder, arguments.quantization)
    print(f"ctranslate2: saved in {folder}, {size_of(folder)} in all")
    print(f"It is for programs that use CTranslate2. Glossa's commands take {arguments.model} itself.")


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
