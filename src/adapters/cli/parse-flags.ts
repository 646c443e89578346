export type FlagTypes = Readonly<Record<string, "boolean" | "string">>;

export interface Flags {
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
  readonly words: readonly string[];
}

export type ParsedFlags =
  | { readonly ok: true; readonly flags: Flags }
  | { readonly ok: false; readonly problem: "unknown" | "missing-value" | "no-value"; readonly flag: string };

/**
 * `--flag`, `--flag value`, `--flag=value`, `-h`, and `--` before words that begin with a dash. A lone `-` is a
 * word. By hand, because `node:util` costs two milliseconds and tells its errors only in prose.
 */
export function parseFlags(args: readonly string[], types: FlagTypes): ParsedFlags {
  const values: Record<string, string | boolean> = {};
  const words: string[] = [];
  for (let i = 0; i < args.length; i++) {
    const arg = args[i] as string;
    if (arg === "--") {
      words.push(...args.slice(i + 1));
      break;
    }
    if (!arg.startsWith("-") || arg === "-") {
      words.push(arg);
      continue;
    }
    const equals = arg.indexOf("=");
    const flag = arg === "-h" ? "--help" : equals < 0 ? arg : arg.slice(0, equals);
    const name = flag.slice(2);
    const type = flag.startsWith("--") && Object.hasOwn(types, name) ? types[name] : undefined;
    if (type === undefined) return { ok: false, problem: "unknown", flag };
    if (type === "boolean") {
      if (equals >= 0) return { ok: false, problem: "no-value", flag: arg };
      values[name] = true;
      continue;
    }
    const value = equals >= 0 ? arg.slice(equals + 1) : args[++i];
    if (value === undefined || (equals < 0 && value.startsWith("-") && value !== "-"))
      return { ok: false, problem: "missing-value", flag };
    values[name] = value;
  }
  return { ok: true, flags: { values, words } };
}
