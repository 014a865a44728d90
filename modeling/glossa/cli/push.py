"""Push a finished run to the Hub: `glossa push RUN --repo_id user/name`.

One commit has weights, code, tokenizer, model card, curves and metrics. Before the commit, a new process loads the
folder and translates with it. The token comes from `hf auth login` or HF_TOKEN.
"""

import dataclasses
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from .options import argument, flag, option, read


@dataclass(frozen=True)
class PushOptions:
    """The options of `glossa push`."""

    run: Path = argument("folder of a finished run")
    repo_id: str = option("user/name on the Hub", required=True)
    private: bool = flag("create a private repository; an error if it exists and is public")
    revision: str | None = option("branch to push to (default: main), which is created if necessary")
    create_pr: bool = flag("open a pull request instead; with --space, two")
    license: str | None = option("license of the weights, with its name on the Hub (default: none)")
    publish_samples: bool | None = option(
        "show some held-out sentences and their translations on the card, even if the data are not public (default: "
        "only if they are embedded, anki or an open data set of the Hub)",
        action="store_const",
        const=True,
    )
    message: str = option("commit message", default="Push the translator")
    space: str | None = option(
        "also push a Space of the same name to try the model: static (default), a page that translates in the "
        "visitor's browser and is free; or docker, a server, for paid accounts",
        nargs="?",
        const="static",
        choices=["static", "docker"],
    )
    replace_card: bool = flag("replace a README.md that Glossa did not write")
    replace: bool = flag("replace other files that Glossa did not write")
    dry_run: bool = flag("print the files, the changes to the repository and the card, and push nothing")
    card_to: Path | None = option("write the card, its curves and metrics here, and push nothing")


def parse(argv: list[str]) -> PushOptions:
    return read(PushOptions, "push", __doc__, argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)

    from ..apps.web.site import export_site
    from ..train.hub.push import (
        Destination,
        check,
        check_account,
        check_repo_id,
        preview,
        push,
        requirements,
        stage,
        tree,
    )
    from ..train.hub.space import page_facts, stage_page, stage_server

    names = ("repo_id", "revision", "private", "create_pr", "replace", "replace_card")
    destination = Destination(**{name: getattr(arguments, name) for name in names})
    # A Space shows only its main branch, so --revision is for the model alone.
    page = dataclasses.replace(destination, repo_type="space", revision=None)
    check_repo_id(arguments.repo_id)
    if not (arguments.dry_run or arguments.card_to):
        check_account(arguments.repo_id)
    with tempfile.TemporaryDirectory() as temporary:
        folder, space = Path(temporary) / "model", Path(temporary) / "space"
        samples = arguments.publish_samples
        left_out = stage(
            arguments.run,
            arguments.repo_id,
            folder,
            arguments.license,
            handler=True,
            publish_samples=samples,
            space=bool(arguments.space),
        )
        print("".join(f"{line}\n" for line in left_out), end="")
        if arguments.space == "docker":
            stage_server(arguments.repo_id, space, requirements("serve", "engine"))
        elif arguments.space:
            facts = page_facts(arguments.run, arguments.license)
            print("\n".join(export_site(str(arguments.run), space, facts)))
            stage_page(arguments.run, arguments.repo_id, space, arguments.license)
        print(f"It translates in a fresh process: {check(folder, arguments.run)}")
        if arguments.card_to:
            copy_card(folder, arguments.card_to)
        elif arguments.dry_run:
            print(f"\n{arguments.repo_id}\n{tree(folder)}\n{preview(folder, destination)}\n")
            if arguments.space:
                print(f"spaces/{arguments.repo_id}\n{tree(space)}\n{preview(space, page)}\n")
            print((folder / "README.md").read_text(encoding="utf-8"))
        else:
            info = push(folder, destination, arguments.message)
            print(info.pr_url or info.commit_url)
            if arguments.space:
                info = push(space, page, arguments.message)
                print(info.pr_url or info.commit_url)


def copy_card(folder: Path, target: Path) -> None:
    from ..base.run_folder import CURVES, METRICS

    target.mkdir(parents=True, exist_ok=True)
    for name in ("README.md", CURVES, METRICS):
        shutil.copyfile(folder / name, target / name)
    print(f"The card is in {target}")
