import { type ConfigProblem, type FilePosition, NOTHING } from "../domain/config/config-problem.ts";
import { maskSecrets } from "../domain/policy/mask.ts";

/** Where a tree came from, to tell people where to look. */
export interface Origin {
  position(key: string): FilePosition | undefined;
  variable(key: string): string | undefined;
}

export const NO_ORIGIN: Origin = { position: () => undefined, variable: () => undefined };

const LONGEST_SHOWN = 80;

export function invalidValue(key: string, value: unknown, expected: string, origin: Origin): ConfigProblem {
  const at = origin.position(key);
  const variable = origin.variable(key);
  return {
    code: "invalid-value",
    key,
    value: shownValue(value),
    expected,
    ...(at === undefined ? {} : { at }),
    ...(variable === undefined ? {} : { variable }),
  };
}

function shownValue(value: unknown): string {
  const text = value === undefined ? NOTHING : maskSecrets(JSON.stringify(value));
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN - 1)}…` : text;
}
