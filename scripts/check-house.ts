/**
 * The house in figures, held by `scripts/house.json`: how many lines a column of src/ may have, and its doors, the files
 * that other columns may import. Ports and texts are doors by their place; the composition root (`wiring/`, `main.ts`,
 * `lib.ts`) puts everything together and needs none. Fails where a column is over its budget, where a file that is not a
 * door is imported from outside its column, and where a door has lost its last user. `--write` records the doors of today.
 */
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { columnOf, importsOf, resolveImport } from "./check-imports.ts";

const root = join(import.meta.dir, "..");
const RECORD = join(root, "scripts/house.json");

interface Column {
  /** The most lines of TypeScript, styles and scripts; tests are not counted. */
  readonly lines: number;
  readonly doors: readonly string[];
}

export interface House {
  readonly [column: string]: Column;
}

export interface Measured {
  readonly lines: ReadonlyMap<string, number>;
  /** The files of a column that others import. */
  readonly doors: ReadonlyMap<string, readonly string[]>;
}

const isDoorByPlace = (file: string) => /^(?:application\/ports|domain\/texts)\//.test(file);

export function measureHouse(sourceFolder: string): Measured {
  const lines = new Map<string, number>();
  const doors = new Map<string, Set<string>>();
  for (const name of readdirSync(sourceFolder, { recursive: true, encoding: "utf8" })) {
    const file = name.replaceAll("\\", "/");
    if (!/\.(?:tsx?|js|css)$/.test(file)) continue;
    const text = readFileSync(join(sourceFolder, file), "utf8");
    const column = columnOf(file) ?? file;
    lines.set(column, (lines.get(column) ?? 0) + text.split("\n").length - 1);
    if (!/\.tsx?$/.test(file) || column === "wiring") continue;
    for (const { specifier } of importsOf(file, text)) {
      if (!specifier.startsWith(".")) continue;
      const target = resolveImport(file, specifier);
      const other = columnOf(target);
      if (other === null || other === column || isDoorByPlace(target)) continue;
      doors.set(other, (doors.get(other) ?? new Set()).add(target));
    }
  }
  return { lines, doors: new Map([...doors].map(([column, files]) => [column, [...files].sort()])) };
}

/** Every offence as one line. */
export function checkHouse(house: House, { lines, doors }: Measured): readonly string[] {
  const offences: string[] = [];
  for (const [column, count] of lines) {
    const budget = house[column]?.lines;
    if (budget === undefined) offences.push(`${column}: has no budget in scripts/house.json`);
    else if (count > budget) offences.push(`${column}: ${count} lines, its budget is ${budget}`);
  }
  for (const column of new Set([...doors.keys(), ...Object.keys(house)])) {
    const allowed = new Set(house[column]?.doors);
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
export function describeHouse(house: House, { lines, doors }: Measured): string {
  const all = [...lines].sort(([, x], [, y]) => y - x);
  const total = all.reduce((sum, [, count]) => sum + count, 0);
  const rows = all.map(([column, count]) =>
    [column.padEnd(12), String(count).padStart(6), `of ${house[column]?.lines ?? "?"}`.padEnd(10)]
      .concat(`${doors.get(column)?.length ?? 0} doors`)
      .join(" "),
  );
  return [...rows, `${"src".padEnd(12)} ${String(total).padStart(6)}`].join("\n");
}

if (import.meta.main) {
  const measured = measureHouse(join(root, "src"));
  const house = readHouse();
  if (process.argv.includes("--write")) {
    const columns = [...measured.lines.keys()].sort();
    const written = columns.map((column): [string, Column] => [
      column,
      {
        lines: house[column]?.lines ?? Math.ceil((measured.lines.get(column) ?? 0) / 50) * 50,
        doors: measured.doors.get(column) ?? [],
      },
    ]);
    writeFileSync(RECORD, `${JSON.stringify(Object.fromEntries(written), null, 2)}\n`);
  }
  const offences = checkHouse(readHouse(), measured);
  for (const offence of offences) console.error(offence);
  if (process.argv.includes("--print")) console.log(describeHouse(readHouse(), measured));
  process.exitCode = offences.length > 0 ? 1 : 0;
}
