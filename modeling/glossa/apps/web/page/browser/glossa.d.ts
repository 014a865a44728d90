export interface Options {
  /** Code of the target language, for a model of several. */
  target?: string;
  /** Beams of the search; 1 is greedy. The default is the model's own number. */
  num_beams?: number;
  /** Number of translations of each text, at most the number of beams. If given, each result is a list, best first. */
  num_return_sequences?: number;
  length_penalty?: number;
  /** Text with which each translation must begin. */
  prefix?: string;
  /** Translate again if a translation is implausible. */
  retry?: boolean;
  signal?: AbortSignal;
}

export interface Translation {
  text: string;
  /** Log-probability under the model (natural logarithm, summed over tokens). */
  score: number;
  /** Why it is implausible, or "". */
  problem: string;
}

export interface Sentence {
  /** Index of its text. */
  text: number;
  /** White space before it. */
  before: string;
  translatedText: string;
  source: string;
  /** Why it is implausible, or "". */
  problem: string;
}

export interface Translator {
  /** The contents of model.json. */
  readonly model: Record<string, unknown>;
  translate(texts: string[], options: Options & { num_return_sequences: number }): Promise<Translation[][]>;
  translate(texts: string[], options?: Options): Promise<Translation[]>;
  /** Yields the number of sentences, then each sentence, in order. */
  stream(texts: string[], options?: Options): AsyncGenerator<{ sentences: number } | Sentence>;
  /** Explains the translation of a sentence: choices, beams and attention, as the page shows them. */
  explain(sentence: string, options?: { target?: string; prefix?: number[] }): Promise<Record<string, unknown>>;
  /** Stops the worker. */
  close(): void;
}

/** Loads the model of an exported folder. `progress` is called with the number of loaded bytes, and the total. */
export function load(
  folder?: string,
  options?: { progress?: (done: number, total: number) => void },
): Promise<Translator>;
