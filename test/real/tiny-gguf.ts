/**
 * A language model of a few hundred kilobytes, as GGUF: a table of which token follows which, so that a real server
 * says known words. The word that a user's last message holds chooses the answer.
 */
import { writeFileSync } from "node:fs";

/** What follows the generation prompt for a message with this word; the last token of a loop is its first. */
const SAYS: Readonly<Record<string, readonly string[]>> = {
  story: ["Once", " upon", " a", " time", " ", ..."世界", ".", "<|end|>"],
  endless: [" tick", " tock", " tick"],
  "<tool_call>": ["<tool_call>", "\n"],
  "<think>": ["<think>", "Hm", ",", " yes", "</think>", "Done", "<|end|>"],
};
const DEFAULT = "story";
export const STORY = "Once upon a time 世界.";
const ROLES = ["system", "user", "assistant", "tool"];

/** ChatML-like, with the tool calls of Hermes. */
const TEMPLATE = [
  "{%- if tools %}<|system|>",
  "You may call functions. Their signatures are within <tools></tools>:\n<tools>",
  "{%- for tool in tools %}\n{{ tool | tojson }}{% endfor %}\n</tools>\n",
  'For each call answer with:\n<tool_call>\n{"name": <name>, "arguments": <object>}\n</tool_call><|end|>{% endif %}',
  "{%- for message in messages %}{{ '<|' + message.role + '|>' }}",
  "{%- if message.content %}{{ message.content }}{% endif %}",
  "{%- if message.tool_calls %}{% for call in message.tool_calls %}\n<tool_call>\n",
  '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}',
  "\n</tool_call>{% endfor %}{% endif %}<|end|>{% endfor %}",
  "{%- if add_generation_prompt %}<|assistant|>",
  ...Object.keys(SAYS)
    .filter((word) => word !== DEFAULT)
    .map(
      (word) =>
        `{%- if messages[-1].role == 'user' and '${word}' in messages[-1].content %}<|says ${word}|>{% endif %}`,
    ),
  "{%- endif %}",
].join("");

/** A character that has no token of its own comes byte by byte, as from many a model. */
const isForeign = (text: string) => /[^\n -~]/.test(text);

/** Letters that the byte-level alphabet of GPT-2 gives to the bytes that cannot be shown. */
function byteLetters(): string[] {
  const shown = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte !== 173);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(shown(byte) ? byte : next++));
}

function buildVocabulary() {
  const letters = byteLetters();
  const spell = (text: string) => [...Buffer.from(text)].map((byte) => letters[byte]).join("");
  const special = [
    ...ROLES.map((role) => `<|${role}|>`),
    "<|end|>",
    ...Object.keys(SAYS).map((word) => `<|says ${word}|>`),
  ];
  const said = Object.values(SAYS)
    .flat()
    .filter((text) => Buffer.byteLength(text) > 1 && !isForeign(text));
  const words = [...new Set(said)].filter((text) => !special.includes(text));
  const tokens = [...letters, ...special, ...words.map(spell)];
  const id = (text: string) => {
    const found = special.includes(text) ? tokens.indexOf(text) : tokens.indexOf(spell(text));
    if (found === -1) throw new Error(`no token: ${text}`);
    return found;
  };
  const ids = (text: string) => (isForeign(text) ? [...Buffer.from(text)] : [id(text)]);
  return { tokens, special, id, ids };
}

/** The row of a token are the weights of the tokens after it. */
function buildTable(
  size: number,
  { tokens, special, id, ids }: ReturnType<typeof buildVocabulary>,
): Float32Array {
  const table = new Float32Array(size * size);
  const weigh = (before: number, after: number, weight: number) => {
    table[after * size + before] = weight;
  };
  for (let before = 0; before < tokens.length; before++) {
    for (let after = 0; after < tokens.length; after++) {
      const isText = after >= 32 && after < 127;
      weigh(before, after, isText ? ((before * 31 + after * 17) % 97) / 970 : -2);
    }
    // Every text that a grammar allows ends soon.
    for (const [rank, mark] of ['"', "}", "]"].entries()) weigh(before, id(mark), 0.7 - rank / 10);
    weigh(before, id("<|end|>"), 0.3);
  }
  weigh(id('"'), id("a"), 0.8);
  weigh(id("}"), id("<"), 0.65);
  weigh(id(">"), id("<|end|>"), 0.8);
  for (const [word, texts] of Object.entries(SAYS)) {
    const chain = texts.flatMap(ids);
    const start = [id(`<|says ${word}|>`), ...(word === DEFAULT ? [id("<|assistant|>")] : [])];
    for (const before of start) weigh(before, chain[0] as number, 4);
    for (const [place, after] of chain.slice(1).entries()) weigh(chain[place] as number, after, 4);
  }
  for (const token of special)
    if (token !== "<|end|>") for (let before = 0; before < size; before++) weigh(before, id(token), -4);
  return table;
}

type Value = string | number | boolean | readonly string[] | readonly number[];

class Writer {
  readonly #parts: Buffer[] = [];
  size = 0;
  bytes(part: Uint8Array): void {
    this.#parts.push(Buffer.from(part.buffer, part.byteOffset, part.byteLength));
    this.size += part.byteLength;
  }
  u32 = (value: number) => this.bytes(new Uint8Array(Uint32Array.of(value).buffer));
  u64 = (value: number) => this.bytes(new Uint8Array(BigUint64Array.of(BigInt(value)).buffer));
  text(value: string): void {
    const bytes = Buffer.from(value);
    this.u64(bytes.length);
    this.bytes(bytes);
  }
  value(value: Value): void {
    if (typeof value === "object") {
      this.list(value);
    } else {
      const [type, write] = this.written(value);
      this.u32(type);
      write();
    }
  }
  list(values: readonly (string | number)[]): void {
    this.u32(9);
    this.u32(typeof values[0] === "string" ? 8 : 5);
    this.u64(values.length);
    for (const one of values) this.written(one)[1]();
  }
  /** The number that the format has for the type, and how the value is written. */
  written(value: string | number | boolean): readonly [number, () => void] {
    if (typeof value === "string") return [8, () => this.text(value)];
    if (typeof value === "boolean") return [7, () => this.bytes(Uint8Array.of(value ? 1 : 0))];
    if (Number.isInteger(value)) return [4, () => this.u32(value)];
    return [6, () => this.bytes(new Uint8Array(Float32Array.of(value).buffer))];
  }
  align = () => this.bytes(new Uint8Array((32 - (this.size % 32)) % 32));
  whole = () => Buffer.concat(this.#parts);
}

export function writeTinyModel(path: string, context: number): void {
  const vocabulary = buildVocabulary();
  const { tokens, special, id } = vocabulary;
  const size = Math.ceil(tokens.length / 32) * 32;
  while (tokens.length < size) tokens.push(`<|unused ${tokens.length}|>`);
  const head = 32;
  const identity = new Float32Array(size * size);
  for (let one = 0; one < size; one++) identity[one * size + one] = 1;
  const ones = new Float32Array(size).fill(1);
  const nothing = (...shape: number[]) => [shape, new Float32Array(shape.reduce((a, b) => a * b))] as const;
  const tensors: Readonly<Record<string, readonly [readonly number[], Float32Array]>> = {
    "token_embd.weight": [[size, size], identity],
    "output_norm.weight": [[size], ones],
    "output.weight": [[size, size], buildTable(size, vocabulary)],
    "blk.0.attn_norm.weight": [[size], ones],
    "blk.0.attn_q.weight": nothing(size, head),
    "blk.0.attn_k.weight": nothing(size, head),
    "blk.0.attn_v.weight": nothing(size, head),
    "blk.0.attn_output.weight": nothing(head, size),
    "blk.0.ffn_norm.weight": [[size], ones],
    "blk.0.ffn_gate.weight": nothing(size, head),
    "blk.0.ffn_up.weight": nothing(size, head),
    "blk.0.ffn_down.weight": nothing(head, size),
  };
  const about: Readonly<Record<string, Value>> = {
    "general.architecture": "llama",
    "general.name": "picoclaw-tiny",
    "general.file_type": 0,
    "llama.context_length": context,
    "llama.embedding_length": size,
    "llama.block_count": 1,
    "llama.feed_forward_length": head,
    "llama.attention.head_count": 1,
    "llama.attention.head_count_kv": 1,
    "llama.attention.key_length": head,
    "llama.attention.value_length": head,
    "llama.attention.layer_norm_rms_epsilon": 0.00001,
    "llama.rope.dimension_count": head,
    "llama.vocab_size": size,
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "gpt-2",
    "tokenizer.ggml.tokens": tokens,
    // 1: ordinary, 3: control.
    "tokenizer.ggml.token_type": tokens.map((token) =>
      special.includes(token) || token.startsWith("<|unused") ? 3 : 1,
    ),
    "tokenizer.ggml.merges": ["t h"],
    "tokenizer.ggml.bos_token_id": id("<|system|>"),
    "tokenizer.ggml.eos_token_id": id("<|end|>"),
    "tokenizer.ggml.add_bos_token": false,
    "tokenizer.chat_template": TEMPLATE,
  };
  const file = new Writer();
  file.bytes(Buffer.from("GGUF"));
  file.u32(3);
  file.u64(Object.keys(tensors).length);
  file.u64(Object.keys(about).length);
  for (const [key, value] of Object.entries(about)) {
    file.text(key);
    file.value(value);
  }
  let offset = 0;
  for (const [name, [shape, data]] of Object.entries(tensors)) {
    file.text(name);
    file.u32(shape.length);
    for (const side of shape) file.u64(side);
    file.u32(0);
    file.u64(offset);
    offset += Math.ceil(data.byteLength / 32) * 32;
  }
  file.align();
  for (const [, data] of Object.values(tensors)) {
    file.bytes(new Uint8Array(data.buffer));
    file.align();
  }
  writeFileSync(path, file.whole());
}
