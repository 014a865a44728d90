"""Train a translator: `accelerate launch scripts/train.py configuration/RECIPE.yaml [--setting value ...]`."""

from glossa.cli import run
from glossa.training.arguments import parse_settings
from glossa.training.run import train


def main(argv: list[str]) -> None:
    train(parse_settings(argv, description=__doc__))


if __name__ == "__main__":
    run(main)
