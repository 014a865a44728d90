export interface Options {
  /** Code of the target language, of a model of several. */
  target?: string;
  /** Beams of the search; 1 is greedy. The default is the model's own number. */
  num_beams?: number;
  /** Translations of each text, best first; at most as many as beams. With it each result is a list. */
  num_return_sequences?: number;
  length_penalty?: number;
  /** The beginning that each translation must have. */
  prefix?: string;
  /** Translate sentences once more whose translation cannot be right. */
  retry?: boolean;
  signal?: AbortSignal;
}

export interface Translation {
  text: string;
  /** Log-probability under the model: natural logarithm, summed over the tokens. */
  score: number;
  /** Why it cannot be right, or "". */
  problem: string;
}

export interface Sentence {
  /** Number of its text. */
  text: number;
  /** White space before it. */
  before: string;
  translatedText: string;
  source: string;
  /** Why it cannot be right, or "". */
  problem: string;
}

export interface Translator {
  /** The contents of model.json. */
  readonly model: Record<string, unknown>;
  translate(texts: string[], options: Options & { num_return_sequences: number }): Promise<Translation[][]>;
  translate(texts: string[], options?: Options): Promise<Translation[]>;
  /** First the number of all sentences, then each of them, in order. */
  stream(texts: string[], options?: Options): AsyncGenerator<{ sentences: number } | Sentence>;
  /** How a sentence is translated: choices, beams and attention, as the page shows them. */
  explain(sentence: string, options?: { target?: string; prefix?: number[] }): Promise<Record<string, unknown>>;
  /** Ends the worker. */
  close(): void;
}

/** Loads the model of an exported folder. `progress` is called with the bytes that came, and those of all files. */
export function load(
  folder?: string,
  options?: { progress?: (done: number, total: number) => void },
): Promise<Translator>;
