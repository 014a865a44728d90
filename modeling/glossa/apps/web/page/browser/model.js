// Loads an exported folder: rules, tokenizers, weights and graphs.
import { Graphs } from "./graphs.js";
import { Rules } from "./rules.js";
import { Translator } from "./translator.js";

// `model` is model.json, `read(name)` returns the decompressed bytes of a file, `ort` is ONNX Runtime, and `Tokenizer`
// the class of the tokenizer library.
export async function loadTranslator(model, read, ort, Tokenizer) {
  const json = async (name) => JSON.parse(new TextDecoder().decode(await read(name)));
  const rules = new Rules(await json("rules.json"));
  const source = tokenizer(await json("tokenizer.json"), Tokenizer);
  const target = model.files["target_tokenizer.json"] ? tokenizer(await json("target_tokenizer.json"), Tokenizer) : source;
  const weights = unpacked(await read("weights.safetensors"));
  const session = async (name) => {
    const graph = await read(name);
    const externalData = model.graphs[name].map((path) => ({ path, data: weights.get(path) }));
    return ort.InferenceSession.create(graph, { executionProviders: ["wasm"], externalData });
  };
  const encoder = await session("encoder.onnx");
  const named = (vocabulary) => (id) =>
    model.special[id] ?? (vocabulary.decode([id]).replace(/^ +| +$/g, "") || vocabulary.nameOf(id));
  const graphs = new Graphs(ort, encoder, await session("decoder.onnx"), model.search.padding);
  const [end] = model.search.ends;
  return new Translator({
    model,
    rules,
    graphs,
    encode: (text, language, isTarget = false) => {
      if (isTarget) return target.encode(text);
      const tag = model.tagged ? [model.tags[language]] : [];
      return [...tag, ...source.encode(text), end];
    },
    loadAttention: () => session("attention.onnx"),
    pieces: [named(source), named(target)],
    sourceText: (ids) => source.decode(ids.filter((id) => !(id in model.special))),
    decode: (ids) => target.decode(ids.filter((id) => !(id in model.special))),
  });
}

// tokenizer.json has no special tokens, so that `</s>` in a text is not one.
function tokenizer(settings, Tokenizer) {
  const own = new Tokenizer(settings, { clean_up_tokenization_spaces: false });
  return {
    nameOf: (id) => own.id_to_token(id) ?? "",
    encode: (text) => own.encode(text, { add_special_tokens: false }).ids,
    decode: (ids) => (ids.length ? own.decode(ids, { clean_up_tokenization_spaces: false }) : ""),
  };
}

// The tensors of a safetensors file as float32 bytes, by name. For int8, `NAME.scale` has a scale for each row.
export function unpacked(file) {
  const view = new DataView(file.buffer, file.byteOffset, file.byteLength);
  const start = 8 + Number(view.getBigUint64(0, true));
  const header = JSON.parse(new TextDecoder().decode(file.subarray(8, start)));
  const bytes = ({ data_offsets: [first, end] }) => file.slice(start + first, start + end);
  const tensors = new Map();
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__" || name.endsWith(".scale")) continue;
    const scale = header[`${name}.scale`];
    tensors.set(name, new Uint8Array(floats(entry, bytes(entry), scale && bytes(scale)).buffer));
  }
  return tensors;
}

function floats({ dtype, shape }, bytes, scale) {
  if (dtype === "F32") return new Float32Array(bytes.buffer);
  if (dtype === "F16") return Float32Array.from(new Uint16Array(bytes.buffer), (half) => HALVES[half]);
  const scales = new Float32Array(scale.buffer);
  const width = bytes.length / shape[0];
  return Float32Array.from(new Int8Array(bytes.buffer), (value, index) => value * scales[Math.floor(index / width)]);
}

// The value of each float16 number.
const HALVES = Float32Array.from({ length: 65536 }, (_, bits) => {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = bits & 1023;
  if (exponent === 31) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : (2 ** -14 * fraction) / 1024);
});
