"""Try a model in a browser: `glossa demo MODEL`.

The page is the same as in the Space: beams, several translations, and the attention of the selected one. It has the
limits of the Space, and only this machine can reach it unless --host is given. Ctrl-C ends it.
"""

import argparse
import importlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import GlossaError
from ..inference.languages import Languages
from ..inference.loading import check_name, load_model, load_tokenizer
from . import new_parser, whole

if TYPE_CHECKING:
    from types import ModuleType


def parse(argv: list[str]) -> argparse.Namespace:
    parser = new_parser("demo", __doc__)
    parser.add_argument("model", help="folder of a run or of a saved model, or Hub name")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: 127.0.0.1, this machine)")
    parser.add_argument("--port", type=whole(1, 65535), help="default: the first free port from 7860")
    return parser.parse_args(argv)


def main(argv: list[str]) -> None:
    arguments = parse(argv)
    check_name(arguments.model)
    app = load_app()
    app.launch(build_page(app, arguments.model), server_name=arguments.host, server_port=arguments.port)


def load_app() -> "ModuleType":
    """The module of the Space's page. Raises `GlossaError` without gradio."""
    from ..hub.push import EXTRAS

    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # read when gradio is imported
    for folder in (EXTRAS, EXTRAS / "space"):  # the handler, and the page that imports it
        if str(folder) not in sys.path:
            sys.path.append(str(folder))
    try:
        return importlib.import_module("app")
    except ModuleNotFoundError as error:
        if error.name != "gradio":
            raise
        raise GlossaError(
            "glossa demo needs gradio, which is not installed: pip install 'glossa-mt[demo]'."
        ) from error


def build_page(app: "ModuleType", name: str) -> Any:
    """The page for the model in a folder or on the Hub. Code in the folder is not run."""
    from ..data.languages import direction
    from ..hub.facts import Run
    from ..pipeline_glossa import TranslationPipeline

    model, tokenizer = load_model(name, "auto"), load_tokenizer(name)
    model.set_attn_implementation(app.EAGER["attn_implementation"])
    answer = app.EndpointHandler(translate=TranslationPipeline(model, tokenizer, device=model.device))
    # Anyone who reaches the page can read them, and --host may let others in.
    run = Run(Path(name)) if Path(name).is_dir() else None
    examples = run.sources(5) if run and run.may_show_samples() else []
    languages = Languages.of(name)
    return app.Page(answer, direction(languages.source, *languages.targets), f"`{name}`", examples)
