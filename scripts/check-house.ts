/**
 * The house in figures, held by `scripts/house.json`: how large `src/` as a whole may become, and the doors of a column, the files
 * that other columns may import. Ports and texts are doors by their place; the composition root (`wiring/`, `main.ts`,
 * `lib.ts`) puts everything together and needs none. Fails where `src/` is over a limit, where a file that is not a
 * door is imported from outside its column, and where a door has lost its last user. Warns from 1 % below a limit.
 * `--write` records the doors of today.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { columnOf, importsOf, resolveImport } from "./check-imports.ts";

const root = join(import.meta.dir, "..");
const RECORD = join(root, "scripts/house.json");

/** The size of `src/` in lines of TypeScript. */
export interface Size {
  readonly lines: number;
  /** Lines that are neither blank, comment nor import. */
  readonly code: number;
}

export interface House {
  readonly most: Size;
  readonly doors: Readonly<Record<string, readonly string[]>>;
}

export interface Measured extends Size {
  /** Lines of TypeScript, styles and scripts by column. */
  readonly columns: ReadonlyMap<string, number>;
  /** The files of a column that others import. */
  readonly doors: ReadonlyMap<string, readonly string[]>;
}

/** Lines that are neither blank, comment nor import. */
function countCode(text: string): number {
  const rest = text
    .replace(/\/\*[\s\S]*?\*\//g, "")
    .replace(/^\s*\/\/.*$/gm, "")
    .replace(/^import[^;]*?from\s+"[^"]+";$|^import "[^"]+";$/gm, "");
  return rest.split("\n").filter((line) => line.trim() !== "").length;
}

const isDoorByPlace = (file: string) => /^(?:application\/ports|domain\/texts)\//.test(file);

export function measureHouse(sourceFolder: string): Measured {
  const columns = new Map<string, number>();
  let lines = 0;
  let code = 0;
  const doors = new Map<string, Set<string>>();
  for (const name of readdirSync(sourceFolder, { recursive: true, encoding: "utf8" })) {
    const file = name.replaceAll("\\", "/");
    if (!/\.(?:tsx?|js|css)$/.test(file)) continue;
    const text = readFileSync(join(sourceFolder, file), "utf8");
    const column = columnOf(file) ?? file;
    const count = text.split("\n").length - 1;
    columns.set(column, (columns.get(column) ?? 0) + count);
    if (!/\.tsx?$/.test(file)) continue;
    lines += count;
    code += countCode(text);
    if (column === "wiring") continue;
    for (const { specifier } of importsOf(file, text)) {
      if (!specifier.startsWith(".")) continue;
      const target = resolveImport(file, specifier);
      const other = columnOf(target);
      if (other === null || other === column || isDoorByPlace(target)) continue;
      doors.set(other, (doors.get(other) ?? new Set()).add(target));
    }
  }
  return {
    lines,
    code,
    columns,
    doors: new Map([...doors].map(([column, files]) => [column, [...files].sort()])),
  };
}

const NAMES = { lines: "", code: " of code" } as const;

/** From this part of a limit on, the check warns. */
const NEAR = 0.99;

/** Limits that are nearly reached, each as one line. */
export function warnOfSize({ most }: House, size: Size): readonly string[] {
  return (["lines", "code"] as const)
    .filter((unit) => size[unit] > most[unit] * NEAR)
    .map((unit) => `src: ${size[unit]} lines${NAMES[unit]}, less than 1 % below the limit of ${most[unit]}`);
}

/** Every offence as one line. */
export function checkHouse(house: House, { doors, ...size }: Measured): readonly string[] {
  const offences: string[] = [];
  for (const unit of ["lines", "code"] as const)
    if (size[unit] > house.most[unit])
      offences.push(`src: ${size[unit]} lines${NAMES[unit]}, the limit is ${house.most[unit]}`);
  for (const column of new Set([...doors.keys(), ...Object.keys(house.doors)])) {
    const allowed = new Set(house.doors[column]);
    const used = new Set(doors.get(column));
    for (const file of used)
      if (!allowed.has(file))
        offences.push(`${file}: is imported from outside ${column} and is not one of its doors`);
    for (const file of allowed)
      if (!used.has(file)) offences.push(`${file}: is a door of ${column} that no other column uses`);
  }
  return offences;
}

export function readHouse(): House {
  return JSON.parse(readFileSync(RECORD, "utf8")) as House;
}

/** Columns by size, for people. */
export function describeHouse(house: House, { lines, code, columns, doors }: Measured): string {
  const rows = [...columns]
    .sort(([, x], [, y]) => y - x)
    .map(
      ([column, count]) =>
        `${column.padEnd(12)} ${String(count).padStart(6)} ${doors.get(column)?.length ?? 0} doors`,
    );
  const sizes = `${"src".padEnd(12)} ${String(lines).padStart(6)} of ${house.most.lines}, code ${code} of ${house.most.code}`;
  return [...rows, sizes].join("\n");
}

if (import.meta.main) {
  const measured = measureHouse(join(root, "src"));
  if (process.argv.includes("--write")) {
    const columns = [...measured.columns.keys()].sort();
    const doors = Object.fromEntries(columns.map((column) => [column, measured.doors.get(column) ?? []]));
    writeFileSync(RECORD, `${JSON.stringify({ most: readHouse().most, doors }, null, 2)}\n`);
  }
  const house = readHouse();
  const offences = checkHouse(house, measured);
  for (const offence of offences) console.error(offence);
  for (const warning of warnOfSize(house, measured)) console.warn(warning);
  if (process.argv.includes("--print")) console.log(describeHouse(house, measured));
  process.exitCode = offences.length > 0 ? 1 : 0;
}
