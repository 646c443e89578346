/**
 * Small local models often write a tool call into their text: as one JSON document, or between `<tool_call>` and
 * `</tool_call>`. Shown to a user it is noise, and the tool never runs. Here such text is held back, and becomes a call
 * when it names a tool that was offered; what turns out to be no call is given as the text that it is.
 */
export interface TextCalls {
  take(piece: string): void;
  /** The answer is over: what was held back is decided. */
  end(): void;
}

export interface TextCallsDeps {
  readonly offered: ReadonlySet<string>;
  readonly text: (text: string) => void;
  readonly call: (call: { readonly name: string; readonly arguments: unknown }) => void;
}

const TAG = "<tool_call>";
/** How an answer begins that may be nothing but a call. */
const CALL_OPENINGS = [TAG, "{", "[{", "```json"];

export function createTextCalls({ offered, text, call }: TextCallsDeps): TextCalls {
  let state: "start" | "text" | "held" = offered.size === 0 ? "text" : "start";
  let held = "";
  const give = (piece: string) => {
    if (piece !== "") text(piece);
  };
  const atStart = () => {
    const begun = held.trimStart();
    if (CALL_OPENINGS.some((opening) => begun.startsWith(opening))) state = "held";
    else if (!CALL_OPENINGS.some((opening) => opening.startsWith(begun))) {
      state = "text";
      inText();
    }
  };
  /** Text passes, but for what may be the beginning of a tag. */
  const inText = () => {
    const tag = offered.size === 0 ? -1 : held.indexOf(TAG);
    const keep = tag !== -1 ? held.length - tag : offered.size === 0 ? 0 : openTagLength(held);
    give(held.slice(0, held.length - keep));
    held = held.slice(held.length - keep);
    if (tag !== -1) state = "held";
  };
  return {
    take: (piece) => {
      held += piece;
      if (state === "start") atStart();
      else if (state === "text") inText();
    },
    end: () => {
      const read = state === "held" ? readCalls(held, offered) : undefined;
      give(read === undefined ? held : read.rest);
      for (const one of read?.calls ?? []) call(one);
      held = "";
    },
  };
}

interface ReadCalls {
  readonly calls: readonly { readonly name: string; readonly arguments: unknown }[];
  readonly rest: string;
}

/** Undefined when any of it is no call: half a call is not run. */
function readCalls(held: string, offered: ReadonlySet<string>): ReadCalls | undefined {
  const inTags = [...held.matchAll(/<tool_call>([\s\S]*?)(?:<\/tool_call>|$)/g)];
  const documents = inTags.length > 0 ? inTags.map((match) => match[1] ?? "") : [unfenced(held)];
  const calls = documents.map((document) => callsIn(document, offered));
  if (calls.some((found) => found === undefined)) return undefined;
  const rest = inTags.length > 0 ? held.replaceAll(/<tool_call>[\s\S]*?(?:<\/tool_call>|$)/g, "").trim() : "";
  return { calls: calls.flatMap((found) => found ?? []), rest };
}

function unfenced(text: string): string {
  return /^\s*```json\s*\n([\s\S]*?)\n?```\s*$/.exec(text)?.[1] ?? text;
}

function callsIn(document: string, offered: ReadonlySet<string>): ReadCalls["calls"] | undefined {
  try {
    const value: unknown = JSON.parse(document);
    const calls = (Array.isArray(value) ? value : [value]).map((one) => asCall(one, offered));
    return calls.length > 0 && calls.every((one) => one !== undefined) ? calls : undefined;
  } catch {
    return undefined;
  }
}

function asCall(value: unknown, offered: ReadonlySet<string>) {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, arguments: args, parameters } = value as Record<string, unknown>;
  const given = args ?? parameters;
  if (typeof name !== "string" || !offered.has(name)) return undefined;
  return typeof given === "object" && given !== null ? { name, arguments: given } : undefined;
}

/** How many characters at the end may be the beginning of the tag. */
function openTagLength(text: string): number {
  for (let size = Math.min(TAG.length - 1, text.length); size > 0; size -= 1)
    if (text.endsWith(TAG.slice(0, size))) return size;
  return 0;
}
