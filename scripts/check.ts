/**
 * `npm run check`: the quick answer while one works. Formatter and linter, types, import directions, the size of `src`, the ties
 * of each surface and the tests nearest to what changed since `main` (committed or not), all at once. `npm test` stays the
 * whole answer.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

const root = join(import.meta.dir, "..");
const bun = process.execPath;
const tool = (name: string) => join(root, "node_modules/.bin", name);

/** Imports further away than this say little about a change. */
const FARTHEST = 2;
/** Whole programs, containers, deaths: minutes, not seconds. They run here only where they changed themselves. */
const SLOW = /^test\/(?:e2e|faults|hostile|root|docs|contracts|infrastructure\/(?:containers|tasks))\//;
const MOST_TESTS = 40;

/** The test files to run for `changed`, nearest first. `imports` maps a file to the files that it imports. */
export function nearestTests(
  changed: readonly string[],
  imports: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const isTest = (file: string) => file.endsWith(".test.ts");
  const users = new Map<string, string[]>();
  for (const [file, targets] of imports)
    for (const target of targets) users.set(target, [...(users.get(target) ?? []), file]);
  const chosen = changed.filter((file) => isTest(file) && imports.has(file));
  let edge = changed.filter((file) => !isTest(file));
  const seen = new Set(changed);
  for (let distance = 1; distance <= FARTHEST; distance++) {
    edge = [...new Set(edge.flatMap((file) => users.get(file) ?? []))].filter((file) => !seen.has(file));
    for (const file of edge) seen.add(file);
    chosen.push(...edge.filter((file) => isTest(file) && !SLOW.test(file)).sort());
    edge = edge.filter((file) => !isTest(file));
  }
  return chosen;
}

function readImports(): ReadonlyMap<string, readonly string[]> {
  const imports = new Map<string, readonly string[]>();
  for (const folder of ["src", "test", "scripts"])
    for (const name of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".ts")) continue;
      const file = `${folder}/${name}`;
      const text = readFileSync(join(root, file), "utf8");
      const specifiers = [...text.matchAll(/(?:from|import\()\s*"(\.[^"]+)"/g)].map(
        (match) => match[1] ?? "",
      );
      imports.set(
        file,
        specifiers.map((specifier) => posix.join(posix.dirname(file), specifier)),
      );
    }
  return imports;
}

function git(...args: readonly string[]): string {
  return Bun.spawnSync(["git", ...args], { cwd: root })
    .stdout.toString()
    .trim();
}

function changedFiles(): readonly string[] {
  const base = ["origin/main", "main"]
    .map((name) => git("merge-base", "HEAD", name))
    .find((hash) => hash !== "");
  const names = [
    git("diff", "--name-only", base ?? "HEAD"),
    git("ls-files", "--others", "--exclude-standard"),
  ].join("\n");
  return [...new Set(names.split("\n"))].filter((name) => name !== "" && existsSync(join(root, name)));
}

interface Step {
  readonly name: string;
  readonly argv: readonly string[];
  /** What it prints is shown where it passes too: how near a limit is, how hard a surface is to take out. */
  readonly isTold?: boolean;
}

/** The steps beside the tests. */
export const STEPS: readonly Step[] = [
  { name: "format and lint", argv: [tool("biome"), "check", "."] },
  {
    name: "types",
    argv: [
      tool("tsc"),
      ...["--noEmit", "--incremental", "--tsBuildInfoFile", "node_modules/.cache/types.tsbuildinfo"],
    ],
  },
  { name: "import directions", argv: ["scripts/check-imports.ts"] },
  { name: "size of src and doors of columns", argv: ["scripts/check-house.ts"], isTold: true },
  { name: "surfaces that could be taken out", argv: ["scripts/check-removable.ts"], isTold: true },
];

async function runQuietly({ name, argv, isTold = false }: Step): Promise<boolean> {
  const began = performance.now();
  const child = Bun.spawn([bun, "--no-env-file", ...argv], {
    cwd: root,
    stdout: "pipe",
    stderr: "pipe",
    stdin: "ignore",
  });
  const [out, err] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
  ]);
  const passed = (await child.exited) === 0;
  console.log(`${passed ? "ok  " : "FAIL"} ${name} (${((performance.now() - began) / 1000).toFixed(1)} s)`);
  const said = `${out}${err}`.trimEnd();
  if (said !== "" && (!passed || isTold)) console.log(said);
  return passed;
}

async function main(): Promise<number> {
  const tests = nearestTests(changedFiles(), readImports());
  const run = tests.slice(0, MOST_TESTS);
  const passed = await Promise.all([
    ...STEPS.map(runQuietly),
    ...(run.length === 0
      ? []
      : [
          runQuietly({
            name: `the ${run.length} test files nearest to the change`,
            argv: ["test", "--only-failures", ...run.map((file) => `./${file}`)],
          }),
        ]),
  ]);
  if (tests.length > run.length)
    console.log(`not run: ${tests.length - run.length} further test files (npm test)`);
  return passed.every(Boolean) ? 0 : 1;
}

if (import.meta.main) process.exitCode = await main();
