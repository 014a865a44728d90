"""The ONNX graphs of a model for the browser: weights in a separate file, and only the best tokens of each step.

The graphs share their weights, which are in one safetensors file. Weights in float16 or int8 are converted to float32
before ONNX Runtime gets them, so the precision changes only the size of the download and the rounding.
"""

import hashlib
from pathlib import Path
from typing import Any

import numpy
from safetensors.numpy import save_file

from ...base.errors import require

onnx: Any = require("onnx", "engine")
numpy_helper: Any = require("onnx.numpy_helper", "engine")
TensorProto, helper = onnx.TensorProto, onnx.helper

PRECISIONS = ("float32", "float16", "int8")
GRAPHS = ("encoder", "decoder", "attention")  # the last one is loaded for explanations
MIN_SIZE = 64  # numbers; smaller tensors, such as shapes, stay in the graphs
SCALE = ".scale"
Weights = dict[str, numpy.ndarray]


def take_weights(folder: Path, names: dict[str, numpy.ndarray]) -> tuple[Weights, dict[str, list[str]]]:
    """Move the weights out of the graphs. Equal weights, also transposed ones, are stored once.

    Args:
        folder: Folder with the graphs of [`export_graphs`] and [`export_attention`], which are rewritten.
        names: The model's weights by name. Other weights get a number as name.

    Returns:
        The weights in float32, and the names of the weights of each graph.
    """
    known = {_key(value): name for name, value in names.items()}
    weights: Weights = {}
    places: dict[bytes, str] = {}  # names of the weights by their hash
    needed = {}
    for graph in GRAPHS:
        model = onnx.load(folder / f"{graph}.onnx")
        needed[f"{graph}.onnx"] = _externalize(model.graph, weights, places, known)
        if graph == "decoder":
            _rank_tokens(model.graph)
        onnx.save(model, folder / f"{graph}.onnx")
    return weights, needed


def _externalize(graph: Any, weights: Weights, places: dict[bytes, str], known: dict[bytes, str]) -> list[str]:
    own: dict[str, str] = {}  # the graph's name of each weight
    renamed = []
    for tensor in list(graph.initializer):
        value = numpy_helper.to_array(tensor)
        if value.dtype != numpy.float32 or value.size < MIN_SIZE:
            continue
        key, flipped = _key(value), _key(value.T)
        turned = key not in places and flipped in places
        name = places.get(flipped if turned else key) or known.get(key) or known.get(flipped) or f"{len(weights)}"
        if name not in weights:
            weights[name], places[key] = value, name
        graph.initializer.remove(tensor)
        if name not in own:
            own[name] = f"{tensor.name}.whole" if turned else tensor.name
            graph.initializer.append(_external(own[name], name, weights[name]))
        if turned or own[name] != tensor.name:
            renamed.append(helper.make_node("Transpose" if turned else "Identity", [own[name]], [tensor.name]))
    nodes = [*renamed, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    return sorted(own)


def _key(value: numpy.ndarray) -> bytes:
    return repr(value.shape).encode() + hashlib.blake2b(value.tobytes()).digest()


def _external(name: str, file: str, value: numpy.ndarray) -> Any:
    tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=value.shape)
    tensor.data_location = TensorProto.EXTERNAL
    for key, entry in (("location", file), ("offset", "0"), ("length", str(value.nbytes))):
        tensor.external_data.add(key=key, value=entry)
    return tensor


def _rank_tokens(graph: Any) -> None:
    """Replace the logits of the decoder with log-probabilities and the `count` best tokens of each sequence."""
    graph.node.append(helper.make_node("LogSoftmax", ["logits"], ["log_probabilities"], axis=-1))
    graph.node.append(helper.make_node("TopK", ["log_probabilities", "count"], ["values", "tokens"], axis=-1))
    graph.input.append(helper.make_tensor_value_info("count", TensorProto.INT64, [1]))
    kept = [output for output in graph.output if output.name != "logits"]
    del graph.output[:]
    kinds = {"log_probabilities": TensorProto.FLOAT, "values": TensorProto.FLOAT, "tokens": TensorProto.INT64}
    added = [helper.make_tensor_value_info(name, kind, ["batch", None]) for name, kind in kinds.items()]
    graph.output.extend([*kept, *added])


def quantized(weights: Weights, precision: str) -> Weights:
    """Convert weights to a precision. In int8, each row of a matrix has a scale, and vectors stay in float32."""
    if precision == "float32":
        return weights
    if precision == "float16":
        return {name: value.astype(numpy.float16) for name, value in weights.items()}
    found: Weights = {}
    for name, value in weights.items():
        if value.ndim < 2:
            found[name] = value
            continue
        rows = value.reshape(len(value), -1)
        scale = (numpy.abs(rows).max(1, keepdims=True) / 127).clip(1e-12).astype(numpy.float32)
        found[name] = numpy.rint(rows / scale).astype(numpy.int8).reshape(value.shape)
        found[name + SCALE] = scale[:, 0]
    return found


def dequantized(saved: Weights) -> Weights:
    """Convert [`quantized`] weights to float32, as the browser does."""
    found = {}
    for name, value in saved.items():
        if name.endswith(SCALE):
            continue
        scale = saved.get(name + SCALE)
        rows = value.astype(numpy.float32)
        found[name] = rows if scale is None else (rows.reshape(len(rows), -1) * scale[:, None]).reshape(value.shape)
    return found


def save_weights(saved: Weights, file: Path) -> None:
    """Write weights as safetensors."""
    save_file({name: numpy.ascontiguousarray(value) for name, value in saved.items()}, file)
