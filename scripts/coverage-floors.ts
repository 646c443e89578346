/** Reads every coverage/…/lcov.info and fails below the floors. A file that no test loaded counts with all its lines. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";

export interface Floor {
  readonly folder: string;
  readonly percent: number;
}

interface Lines {
  readonly found: number;
  readonly hit: number;
}

export interface Measured extends Floor, Lines {
  readonly passed: boolean;
  readonly reached: number;
  readonly neverLoaded: readonly string[];
}

const FLOORS: readonly Floor[] = [
  { folder: "src/domain", percent: 90 },
  { folder: "src/application", percent: 80 },
];

export function measureFloors(root: string, lcov: string, floors: readonly Floor[]): readonly Measured[] {
  const covered = parseLcov(root, lcov);
  return floors.map((floor) => {
    const files = sourcesUnder(root, floor.folder);
    const lines = files.map((file) => covered.get(file) ?? { found: codeLines(join(root, file)), hit: 0 });
    const found = lines.reduce((sum, each) => sum + each.found, 0);
    const hit = lines.reduce((sum, each) => sum + each.hit, 0);
    const reached = found === 0 ? 100 : (100 * hit) / found;
    const neverLoaded = files.filter((file) => !covered.has(file) && codeLines(join(root, file)) > 0);
    return { ...floor, found, hit, reached, neverLoaded, passed: reached >= floor.percent };
  });
}

/** A line that any of the runs hit is hit. */
function parseLcov(root: string, lcov: string): ReadonlyMap<string, Lines> {
  const files = new Map<string, Map<number, boolean>>();
  for (const record of lcov.split("end_of_record")) {
    const file = /^SF:(.+)$/m.exec(record)?.[1];
    if (!file) continue;
    const name = file.startsWith("/") ? relative(root, file) : file;
    const lines = files.get(name) ?? new Map<number, boolean>();
    for (const [, line, count] of record.matchAll(/^DA:(\d+),(\d+)/gm))
      lines.set(Number(line), lines.get(Number(line)) === true || Number(count) > 0);
    files.set(name, lines);
  }
  return new Map(
    [...files].map(([name, lines]) => [
      name,
      { found: lines.size, hit: [...lines.values()].filter((hit) => hit).length },
    ]),
  );
}

function sourcesUnder(root: string, folder: string): readonly string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
    .filter((path) => /\.tsx?$/.test(path))
    .map((path) => `${folder}/${path.replaceAll("\\", "/")}`)
    .sort();
}

/** Types leave nothing behind when they are stripped, so a file of types has no lines to cover. */
function codeLines(path: string): number {
  const code = new Bun.Transpiler({ loader: path.endsWith("x") ? "tsx" : "ts" }).transformSync(
    readFileSync(path, "utf8"),
  );
  return code.split("\n").filter((line) => line.trim() !== "" && !/^(import|export \{)/.test(line)).length;
}

if (import.meta.main) {
  const root = join(import.meta.dir, "..");
  const folder = join(root, "coverage");
  const reports = existsSync(folder)
    ? readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((path) => path.endsWith("lcov.info"))
    : [];
  const lcov = reports.map((path) => readFileSync(join(folder, path), "utf8")).join("\n");
  const measured = measureFloors(root, lcov, FLOORS);
  for (const { folder, percent, reached, found, hit, neverLoaded, passed } of measured) {
    console.log(
      `${passed ? "ok" : "TOO LOW"}: ${folder} ${reached.toFixed(1)} % of lines (${hit}/${found}), floor ${percent} %`,
    );
    if (!passed) for (const file of neverLoaded) console.log(`  no test loads ${file}`);
  }
  process.exitCode = measured.every((each) => each.passed) ? 0 : 1;
}
