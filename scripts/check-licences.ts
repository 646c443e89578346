/**
 * The packages that PicoClaw ships with may be passed on: every package that an installation gets has a licence of this list. A new
 * one is a person's decision, made here.
 */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const ALLOWED = new Set([
  ...[
    "0BSD",
    "Apache-2.0",
    "BlueOak-1.0.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "CC0-1.0",
    "ISC",
    "MIT",
    "MIT-0",
  ],
  ...["Python-2.0", "Unlicense"],
]);

interface Locked {
  readonly dev?: boolean;
  readonly optional?: boolean;
  readonly license?: string;
}

const { packages }: { packages: Record<string, Locked> } = JSON.parse(
  readFileSync(join(root, "package-lock.json"), "utf8"),
);
const strange = Object.entries(packages)
  .filter(([path, { dev }]) => path !== "" && dev !== true)
  .map(([path, { license }]) => [path.replace(/^.*node_modules\//, ""), license ?? statedIn(path)] as const)
  .filter(([, licence]) => !isAllowed(licence));
for (const [name, licence] of strange) console.error(`${name}: the licence ${licence} is not on the list`);
process.exit(strange.length === 0 ? 0 : 1);

/** Where the lock file has none: the package itself says it, if it is installed on this platform. */
function statedIn(path: string): string {
  const file = join(root, path, "package.json");
  if (!existsSync(file)) return "(not installed here)";
  const { license, licenses } = JSON.parse(readFileSync(file, "utf8"));
  return typeof license === "string" ? license : (license?.type ?? licenses?.[0]?.type ?? "(none)");
}

/** "(MIT OR GPL-2.0)" may be taken as MIT; of "A AND B" both count. */
function isAllowed(expression: string): boolean {
  const plain = expression.replace(/[()]/g, " ");
  return plain
    .split(" OR ")
    .some((choice) => choice.split(" AND ").every((licence) => ALLOWED.has(licence.trim())));
}
