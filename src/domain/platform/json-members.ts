import { attemptOr } from "./error-text.ts";

const [QUOTE, BACKSLASH, COMMA, OPEN, OPEN_LIST] = [34, 92, 44, 123, 91];

/** Whether a JSON text has more than `most` values: counts commas and brackets outside of strings, which is cheaper than reading it. */
export function hasMoreMembers(json: string, most: number): boolean {
  let count = 0;
  for (let at = 0; at < json.length; at += 1) {
    const code = json.charCodeAt(at);
    if (code === QUOTE) {
      at = endOfText(json, at + 1);
      continue;
    }
    if (code !== COMMA && code !== OPEN && code !== OPEN_LIST) continue;
    count += 1;
    if (count > most) return true;
  }
  return false;
}

/** The position of the closing quote, or the end of the document. */
function endOfText(json: string, from: number): number {
  let end = json.indexOf('"', from);
  while (end !== -1) {
    let slashes = 0;
    while (end - 1 - slashes >= from && json.charCodeAt(end - 1 - slashes) === BACKSLASH) slashes += 1;
    if (slashes % 2 === 0) return end;
    end = json.indexOf('"', end + 1);
  }
  return json.length;
}

/** A service's largest event has some thousand values; a hundred times as many are read in a fiftieth of a second. */
const MOST_OF_AN_EVENT = 50_000;
const MOST_FIELDS = 1_000;

/** A service's event, posted as JSON; undefined if the text is not JSON or has more values than any event. */
export function parseEvent(json: string): unknown {
  if (hasMoreMembers(json, MOST_OF_AN_EVENT)) return undefined;
  return attemptOr(undefined, () => JSON.parse(json));
}

/** A service's event, posted as a form; null where the form has more fields than any event. */
export function parseEventForm(text: string): URLSearchParams | null {
  let at = text.indexOf("&");
  for (let fields = 1; at !== -1; fields += 1) {
    if (fields >= MOST_FIELDS) return null;
    at = text.indexOf("&", at + 1);
  }
  return new URLSearchParams(text);
}

export type JsonObject = Readonly<Record<string, unknown>>;

/** The value itself where it is an object, else one without members: its members can be read for any input. */
export function readObject(value: unknown): JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : {};
}

const MOST_OF_AN_ID = 255;

/** Whether a value can name something of a service: a person, a chat, an event. */
export function isServiceId(value: unknown): value is string {
  return (
    typeof value === "string" &&
    /^[^\x00-\x1f\x7f]+$/.test(value.slice(0, MOST_OF_AN_ID + 1)) &&
    value.length <= MOST_OF_AN_ID
  );
}

/** An object of JSON or YAML with any members: neither null nor a list. */
export function isJsonObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** `over` wins; objects are merged, everything else is replaced. Neither input is changed. */
export function mergeObjects(under: JsonObject, over: JsonObject): JsonObject {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const below = merged[key];
    if (value !== undefined)
      merged[key] = isJsonObject(below) && isJsonObject(value) ? mergeObjects(below, value) : value;
  }
  return merged;
}

/** The same value with every text in it changed, however deep. */
export function mapTexts<T>(value: T, change: (text: string) => string): T {
  if (typeof value === "string") return change(value) as T;
  if (Array.isArray(value)) return value.map((one) => mapTexts(one, change)) as T;
  if (!isJsonObject(value) || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, mapTexts(one, change)])) as T;
}

/** The entry of a table for an untrusted key: `constructor` and `__proto__` find nothing. */
export function ownMember<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}
