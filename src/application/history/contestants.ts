import { attemptOr } from "../../domain/platform/error-text.ts";
import { isJsonObject } from "../../domain/platform/json-members.ts";
import type { Contestant } from "./case-room.ts";

export interface ContestantDeps {
  /** The configured model of each coder, as `provider/model`. */
  readonly coders: Readonly<Record<"coder1" | "coder2" | "coder3", string>>;
  readonly providers: readonly string[];
  readonly heads: readonly string[];
}

const CODERS = { coder1: "/code1", coder2: "/code2", coder3: "/code3" } as const;
/** Names that people know the coders by. */
const NAMED = { aka: "coder1", ao: "coder2", gin: "coder3" } as const;

/** The role of `coder2` or `Ao`; null for any other name. */
export function readCoder(name: string): keyof typeof CODERS | null {
  const lower = name.toLowerCase();
  const role = Object.hasOwn(NAMED, lower) ? NAMED[lower as keyof typeof NAMED] : lower;
  return Object.hasOwn(CODERS, role) ? (role as keyof typeof CODERS) : null;
}

/**
 * `coder2`, `ao`, `claude/claude-sonnet-5-5` or `claude-code`, each with settings of its own behind commas:
 * `gin,coder.attempts=2`. Null: there is no such contestant.
 */
export function readContestant(
  { coders, providers, heads }: ContestantDeps,
  word: string,
  sets: readonly string[],
): Contestant | null {
  const [name = "", ...own] = word.split(",");
  const settings = readSettings([...sets, ...own]);
  if (settings === null) return null;
  const lower = name.toLowerCase();
  const coder = readCoder(lower);
  if (coder !== null) return { name: word, command: CODERS[coder], worker: coders[coder], settings };
  if (heads.includes(lower)) return { name: word, command: `/head ${lower}`, worker: lower, settings };
  const slash = name.indexOf("/");
  const [provider, model] = [name.slice(0, slash), name.slice(slash + 1)];
  if (slash < 1 || model === "" || !providers.includes(provider)) return null;
  const roles = { coder3: { provider, model } };
  return { name: word, command: CODERS.coder3, worker: name, settings: mergeSettings(settings, { roles }) };
}

type Settings = Readonly<Record<string, unknown>>;

/** `coder.attempts=2` as a tree; null if one is not a setting. */
function readSettings(sets: readonly string[]): Settings | null {
  let all: Settings = {};
  for (const set of sets) {
    const equals = set.indexOf("=");
    if (equals < 1) return null;
    const value = readValue(set.slice(equals + 1));
    const keys = set.slice(0, equals).trim().split(".");
    all = mergeSettings(
      all,
      keys.reduceRight<unknown>((below, key) => ({ [key]: below }), value) as Settings,
    );
  }
  return all;
}

function readValue(text: string): unknown {
  return attemptOr(text, () => JSON.parse(text));
}

/** The second over the first, key by key. */
export function mergeSettings(under: Settings, over: Settings): Settings {
  const merged: Record<string, unknown> = { ...under };
  for (const [key, value] of Object.entries(over)) {
    const known = merged[key];
    merged[key] = isJsonObject(value) && isJsonObject(known) ? mergeSettings(known, value) : value;
  }
  return merged;
}
