"""The rules of the house: who may import whom, and which private names of the libraries are touched."""

import ast
import importlib
import inspect
import re
import sys
from pathlib import Path

import pytest

from glossa.base import checkpoints, run_folder

PACKAGE = Path(__file__).parents[2] / "modeling" / "glossa"
OURS = ("glossa", "scripts", "benchmarks", "tests")
TRAVELING = {path.stem for path in PACKAGE.glob("model/*_glossa.py")}
MODULES = sorted(path for path in PACKAGE.rglob("*.py") if "model_card" not in path.parts)


def imports(path):
    """(dots, module) of each import anywhere in a file; a relative import of a name alone has that name as module."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from [(node.level, node.module)] if node.module else ((node.level, a.name) for a in node.names)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_inside_the_package_are_relative(path):
    absolute = {module for dots, module in imports(path) if not dots and module.split(".")[0] in OURS}
    assert not absolute


@pytest.mark.parametrize("name", sorted(TRAVELING))
def test_traveling_files_need_nothing_but_transformers(name):
    allowed = sys.stdlib_module_names | {"torch", "transformers", "tokenizers"}
    for dots, module in imports(PACKAGE / "model" / f"{name}.py"):
        known = module.split(".")[0] in allowed or module == "huggingface_hub.dataclasses"
        assert (dots == 1 and module in TRAVELING) or (not dots and known), module


def test_two_modules_name_the_files_of_a_run():
    constants = {name: value for name, value in (vars(run_folder) | vars(checkpoints)).items() if name.isupper()}
    names = {value for value in constants.values() if isinstance(value, str) and "." in value}
    assert {"metrics.json", "history.json", "recipe.yaml", "samples.json", "checksums.json"} <= names
    for path in MODULES:
        # A command names the files that its user asks for.
        if path.stem in ("run_folder", "checkpoints") or path.parent.name == "cli":
            continue
        found = {node.value for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Constant)}
        assert not found & names, f"{path} names {found & names}"


SEARCH = "input_ids logits_processor stopping_criteria generation_config synced_gpus model_kwargs"
# Private names by the module of the library. Of a method that we override or call, the parameters that we use; "" for
# the attribute of a class; None for one that its code gives an instance.
PRIVATE = {
    "transformers.generation.utils": {
        "_beam_search": SEARCH, "_sample": SEARCH,
        "_expand_inputs_for_generation": "expand_size is_encoder_decoder input_ids model_kwargs",
        "_reorder_cache": None, "_is_user_defined": None,
    },
    "transformers.modeling_utils": {
        "_init_weights": "module", "_auto_class": "", "_no_split_modules": "", "_skip_keys_device_placement": "",
        "_supports_sdpa": "", "_supports_flash_attn": "", "_supports_flex_attn": "", "_supports_attention_backend": "",
        "_can_compile_fullgraph": "", "_tied_weights_keys": "", "_can_record_outputs": "",
        "_get_resized_embeddings": "old_embeddings new_num_tokens pad_to_multiple_of mean_resizing",
        "_get_resized_lm_head": "old_lm_head new_num_tokens transposed mean_resizing",
        "_is_hf_initialized": None,
    },
    "transformers.configuration_utils": {"_attn_implementation": ""},
    "transformers.trainer_seq2seq": {"_gen_kwargs": None},
    # Most of these are overridden, which would have no effect if they had another name.
    "transformers.trainer": {
        "_prepare_inputs": "inputs", "_push_from_checkpoint": "checkpoint_folder",
        "_load_from_checkpoint": "resume_from_checkpoint model", "_load_best_model": "self",
        "_get_grad_norm": "model grad_norm", "_save": "output_dir state_dict",
        "_issue_warnings_after_load": "load_result", "_save_rng_state": "output_dir",
        "_prepare_for_training": "max_steps train_dataloader resume_from_checkpoint", "_total_loss_scalar": None,
        "_save_checkpoint": "model trial",  # there is no public way to save in the middle of an evaluation
    },
    "transformers.pipelines.base": {
        "_sanitize_parameters": "pipeline_parameters", "_forward": "input_tensors forward_parameters",
        "_forward_params": None, "_preprocess_params": None, "_batch_size": None, "_load_tokenizer": "",
        "_load_processor": "", "_load_image_processor": "", "_load_video_processor": "", "_load_feature_extractor": "",
    },
    "transformers.tokenization_utils_tokenizers": {"_tokenizer": "", "_encode_plus": "text text_pair verbose kwargs"},
    "transformers.hf_argparser": {"_argument_group_name": None},
    "torch.nn.modules.module": {
        "_forward_hooks": None, "_forward_pre_hooks": None, "_global_forward_hooks": None,
        "_global_forward_pre_hooks": None,
    },
    "datasets.arrow_dataset": {"_fingerprint": None},
    "py3langid.langid": {"_alias_pairs": None, "_rowbase": None, "_encode": "text"},
    "accelerate.accelerator": {"_original_forward": None},
}  # fmt: skip


def missing(module, name, parameters):
    """What a library's module lacks of a private name, or ""."""
    tree = ast.parse(inspect.getsource(module))
    if parameters is None:
        names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
        names |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}  # of `getattr`
        names |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}  # of the module
        return "" if name in names else "the attribute"
    classes = [value for value in vars(module).values() if inspect.isclass(value) and name in vars(value)]
    if not classes:
        return "the name"
    if not parameters:
        return ""
    found = inspect.signature(getattr(classes[0], name)).parameters
    return " ".join(parameter for parameter in parameters.split() if parameter not in found)


@pytest.mark.parametrize(
    ("module", "name"), [(module, name) for module in PRIVATE for name in sorted(PRIVATE[module])]
)
def test_a_private_name_of_a_library_is_still_there(module, name):
    lacking = missing(importlib.import_module(module), name, PRIVATE[module][name])
    assert not lacking, f"{module} no longer has {lacking} of {name}, which Glossa uses"


def test_the_test_of_private_names_sees_what_is_missing():
    module = importlib.import_module("transformers.trainer")
    assert missing(module, "_save", "output_dir") == "" == missing(module, "_save", "")
    assert missing(module, "_save", "output_dir folder") == "folder"
    assert missing(module, "_saved", "output_dir") == "the name" and missing(module, "_saved", None) == "the attribute"


def test_no_other_private_name_is_touched():
    """Every private attribute that no module of ours defines is a library's, and listed above."""
    own, used = {"_replace", "_exit"}, {}  # of every named tuple, and of `os`
    for path in MODULES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                own.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
                own.add(node.attr)
            elif isinstance(node, ast.Attribute) and re.match(r"_[a-z]", node.attr):
                used.setdefault(node.attr, path.name)
    listed = set().union(*PRIVATE.values())
    assert {name: file for name, file in used.items() if name not in own | listed} == {}
    text = "".join(path.read_text(encoding="utf-8") for path in MODULES)
    assert [name for name in listed if not re.search(rf"\b{name}\b", text)] == [], "listed, and no longer used"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_module_reaches_a_private_name_of_another(path):
    nodes = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
    aliases = [alias for node in nodes if isinstance(node, ast.ImportFrom) and node.level for alias in node.names]
    imported = {alias.asname or alias.name for alias in aliases}
    reached = {
        f"{node.value.id}.{node.attr}"
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported
    }
    private = {alias.name for alias in aliases} | reached
    assert not [name for name in private if re.search(r"(^|\.)_(?!_)", name)]


def _is_self(node):
    return isinstance(node, ast.Name) and node.id == "self"
