// Translations by an exported folder in Node: `node translate.mjs FOLDER INPUT`, where INPUT has a list of calls.
import fs from "node:fs";
import { gunzipSync } from "node:zlib";

const [folder, input] = process.argv.slice(2);
const read = async (name) => new Uint8Array(gunzipSync(fs.readFileSync(`${folder}/${name}.gz`)));
const ort = await import(`${folder}/runtime/ort.wasm.min.mjs`);
const { Tokenizer } = await import(`${folder}/runtime/tokenizers.min.mjs`);
const { explain } = await import(`${folder}/browser/explain.js`);
const { loadTranslator } = await import(`${folder}/browser/model.js`);
ort.env.wasm.numThreads = 1;
ort.env.wasm.wasmBinary = await read("runtime/ort-wasm-simd-threaded.wasm");
const model = JSON.parse(fs.readFileSync(`${folder}/model.json`, "utf8"));
const translator = await loadTranslator(model, read, ort, Tokenizer);
const results = [];
for (const { texts, options, streamed, explained } of JSON.parse(fs.readFileSync(input, "utf8"))) {
  if (explained) {
    results.push(await explain(translator, explained).catch((error) => ({ error: error.message })));
  } else if (streamed) {
    const found = [];
    for await (const item of translator.stream(texts, options)) found.push(item);
    results.push(found);
  } else {
    results.push(await translator.translate(texts, options).catch((error) => ({ error: error.message })));
  }
}
process.stdout.write(JSON.stringify(results));
