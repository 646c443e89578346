import { maskSecrets } from "../domain/policy/mask.ts";
import { loadConfig } from "./load.ts";
import type { ConfigProblem, ConfigWarning, KeySource, LoadedConfig, LoadInput } from "./loaded.ts";
import { isTree, leavesOf, type Tree } from "./tree.ts";

/** One line of `config show`. */
export interface DescribedKey {
  readonly key: string;
  /** Masked. A secret shows as its reference. */
  readonly value: unknown;
  readonly source: KeySource | { readonly kind: "default" };
  /** For a reference: whether the variable it names is set. */
  readonly set?: boolean;
}

/** The effective configuration, key by key. */
export function describeConfig(loaded: LoadedConfig): DescribedKey[] {
  return leavesOf(loaded.config).flatMap(({ path, value }): DescribedKey[] => {
    if (value === undefined) return [];
    const key = path.join(".");
    const source = loaded.sources[key] ?? { kind: "default" as const };
    const refers = typeof value === "string" && value.startsWith("env:");
    return [
      {
        key,
        value: masked(value),
        source,
        ...(refers ? { set: loaded.secrets.resolve(value) !== undefined } : {}),
      },
    ];
  });
}

/** Where a value was set, in a few words. */
export function sourceText(source: DescribedKey["source"]): string {
  if (source.kind === "file") return `${source.file}${source.line === undefined ? "" : `:${source.line}`}`;
  return source.kind === "environment" ? source.variable : source.kind;
}

function masked(value: unknown): unknown {
  if (typeof value === "string") return maskSecrets(value);
  if (Array.isArray(value)) return value.map(masked);
  if (!isTree(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) result[key] = masked(inner);
  return result satisfies Tree;
}

export interface ConfigCheck {
  readonly ok: boolean;
  readonly errors: readonly ConfigProblem[];
  readonly warnings: readonly ConfigWarning[];
  readonly files: readonly string[];
  /** References to variables that are not set, of keys that somebody set (defaults may stay unset). */
  readonly unset: readonly { readonly key: string; readonly variable: string }[];
}

/** `config check`. */
export async function checkConfig(input: LoadInput = {}): Promise<ConfigCheck> {
  const loaded = await loadConfig(input);
  if (!loaded.ok) return { ok: false, errors: loaded.errors, warnings: [], files: [], unset: [] };
  const unset = describeConfig(loaded).flatMap(({ key, value, source, set }) =>
    set === false && source.kind !== "default" ? [{ key, variable: String(value).slice("env:".length) }] : [],
  );
  return { ok: true, errors: [], warnings: loaded.warnings, files: loaded.files, unset };
}
