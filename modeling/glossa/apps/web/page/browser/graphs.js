// The two graphs of a model in ONNX Runtime: the encoder, and a step of the decoder.

// Axis 2 of the cached keys and values is the batch: [layers, 2, batch, heads, length, width].
const BATCH = 2;

export class Graphs {
  constructor(ort, encoder, decoder, padding) {
    Object.assign(this, { ort, encoder, decoder, padding });
  }

  // Encodes a batch of token ids. Returns a state with a row for each source.
  async read(sources) {
    const length = Math.max(...sources.map((ids) => ids.length));
    const ids = new BigInt64Array(sources.length * length).fill(BigInt(this.padding));
    const mask = new BigInt64Array(sources.length * length);
    sources.forEach((source, row) =>
      source.forEach((id, column) => {
        ids[row * length + column] = BigInt(id);
        mask[row * length + column] = 1n;
      }),
    );
    const dims = [sources.length, length];
    const feeds = { input_ids: this.integers(ids, dims), attention_mask: this.integers(mask, dims) };
    const { source } = await this.encoder.run(feeds);
    return new State(this, source, feeds.attention_mask);
  }

  integers(data, dims) {
    return new this.ort.Tensor("int64", data, dims);
  }
}

class State {
  constructor(graphs, source, mask) {
    Object.assign(this, { graphs, source, mask });
    this.owners = [...Array(mask.dims[0]).keys()]; // the source of each row
    const dims = [...source.dims];
    dims[4] = 0;
    this.target = new graphs.ort.Tensor("float32", new Float32Array(0), dims);
  }

  // Appends a token to each row. Returns the `count` most probable next tokens of each with their log-probabilities;
  // `whole` adds the log-probabilities of all tokens.
  async step(last, count, whole) {
    const feeds = {
      input_ids: this.graphs.integers(BigInt64Array.from(last, BigInt), [last.length, 1]),
      attention_mask: this.mask,
      source: this.source,
      target: this.target,
      count: this.graphs.integers(BigInt64Array.of(BigInt(count)), [1]),
    };
    const names = ["values", "tokens", "new_target", ...(whole ? ["log_probabilities"] : [])];
    const found = await this.graphs.decoder.run(feeds, names);
    this.target = found.new_target;
    return { values: found.values.data, tokens: found.tokens.data, all: found.log_probabilities?.data };
  }

  // Selects rows, in this order. `owners` are the indices of their sources among the remaining ones.
  keep(parents, owners) {
    this.target = taken(this.graphs.ort, this.target, BATCH, parents);
    if (owners.length === this.owners.length && owners.every((owner, row) => owner === this.owners[row])) return;
    const first = owners.map((owner) => this.owners.indexOf(owner));
    this.source = taken(this.graphs.ort, this.source, BATCH, first);
    this.mask = taken(this.graphs.ort, this.mask, 0, first);
    const left = [...new Set(owners)];
    this.owners = owners.map((owner) => left.indexOf(owner));
  }
}

// The rows of a tensor along an axis.
function taken(ort, tensor, axis, rows) {
  const { dims, data } = tensor;
  if (rows.length === dims[axis] && rows.every((row, index) => row === index)) return tensor;
  const inner = dims.slice(axis + 1).reduce((product, size) => product * size, 1);
  const outer = dims.slice(0, axis).reduce((product, size) => product * size, 1);
  const chosen = new data.constructor(outer * rows.length * inner);
  for (let block = 0, to = 0; block < outer; block += 1) {
    for (const row of rows) {
      const from = (block * dims[axis] + row) * inner;
      chosen.set(data.subarray(from, from + inner), to);
      to += inner;
    }
  }
  return new ort.Tensor(tensor.type, chosen, dims.with(axis, rows.length));
}
