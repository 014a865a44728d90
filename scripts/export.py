"""Write a trained model as one that transformers itself ships: `scripts/export.py MODEL --to marian --output FOLDER`.

The folder holds no custom code, so that hosted inference, optimum and converters understand it. An architecture that
transformers does not have is refused, with the settings that prevent it.
"""

import argparse
from pathlib import Path

from glossa.cli import run
from glossa.errors import GlossaError
from glossa.export import TARGETS, export_model, save_tokenizer
from glossa.loading import load_model, load_tokenizer


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="folder of a run, or Hub name")
    parser.add_argument("--to", required=True, choices=sorted(TARGETS), help="the family to export to")
    parser.add_argument("--output", required=True, help="the folder to write")
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    folder = Path(arguments.output)
    if folder.exists() and any(folder.iterdir()):
        raise GlossaError(f"--output {folder} is not empty. Give a new folder, or empty it.")
    exported = export_model(load_model(arguments.model), arguments.to)
    exported.save_pretrained(folder)
    save_tokenizer(load_tokenizer(arguments.model), folder)
    print(f"{exported.__class__.__name__} with {exported.num_parameters():,} parameters saved in {folder}")


if __name__ == "__main__":
    run(main)
