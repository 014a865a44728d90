"""Push a finished run to the Hub: `scripts/push_to_hub.py RUN --repo_id user/name`.

One commit brings weights, code, tokenizer, model card, curves and metrics. Before that the folder is loaded and made
to translate in a fresh process. The token is that of `hf auth login` or of HF_TOKEN.
"""

import argparse
import shutil
import tempfile
from pathlib import Path

from glossa.cli import run
from glossa.hub.push import check, check_repo_id, push, stage, stage_space, tree

EXTRAS = Path(__file__).resolve().parents[1] / "model_card"


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a finished run")
    parser.add_argument("--repo_id", required=True, help="user/name on the Hub")
    parser.add_argument("--private", action="store_true", help="make the repository private, if it is new")
    parser.add_argument("--revision", help="branch to push to (default: main); made if it is new")
    parser.add_argument("--create_pr", action="store_true", help="open a pull request instead")
    parser.add_argument("--license", help="licence of the weights, as the Hub names it (default: the package's)")
    parser.add_argument("--message", default="Push the translator", help="commit message")
    parser.add_argument("--space", action="store_true", help="push a Space of the same name as well, to try the model")
    parser.add_argument("--dry_run", action="store_true", help="print the files and the card, and push nothing")
    parser.add_argument("--card_to", type=Path, help="write the card, its curves and metrics here, and push nothing")
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    check_repo_id(arguments.repo_id)
    with tempfile.TemporaryDirectory() as temporary:
        folder, space = Path(temporary) / "model", Path(temporary) / "space"
        stage(arguments.run, arguments.repo_id, folder, arguments.license, EXTRAS / "handler.py")
        if arguments.space:
            stage_space(EXTRAS / "space", arguments.repo_id, arguments.run, space)
        print(f"It translates in a fresh process: {check(folder, arguments.run)}")
        if arguments.card_to:
            arguments.card_to.mkdir(parents=True, exist_ok=True)
            for name in ("README.md", "curves.png", "metrics.json"):
                shutil.copyfile(folder / name, arguments.card_to / name)
            print(f"The card is in {arguments.card_to}")
            return
        if arguments.dry_run:
            print(f"\n{arguments.repo_id}\n{tree(folder)}\n")
            if arguments.space:
                print(f"spaces/{arguments.repo_id}\n{tree(space)}\n")
            print((folder / "README.md").read_text(encoding="utf-8"))
            return
        settings = {"private": arguments.private, "message": arguments.message}
        info = push(folder, arguments.repo_id, revision=arguments.revision, create_pr=arguments.create_pr, **settings)
        print(info.pr_url or info.commit_url)
        if arguments.space:
            print(push(space, arguments.repo_id, repo_type="space", **settings).commit_url)


if __name__ == "__main__":
    run(main)
