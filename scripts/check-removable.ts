/**
 * How much would have to change to take a surface out: for each surface, the files outside of it that import one of its files.
 * In: the sources. Out: a line a surface, with `--files` the files too. The counts alone fail nothing; together with an import
 * that runs upwards into a surface the check fails and names the surface, because such an import is what makes it stay.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { checkImports, columnOf, importsOf, resolveImport } from "./check-imports.ts";

/** The surfaces that are columns. */
const COLUMNS = [
  "acp",
  "channels",
  "web",
  "heads",
  "fleet",
  "tasks",
  "history",
  "containers",
  "serve",
] as const;
/** The surfaces that are a few files of other columns, by their names. */
const BY_NAME = {
  ps: /(?:^|\/)(?:ps|live-jobs|process-report)\.ts$/,
  schedules: /(?:^|\/)[\w-]*schedules?(?:-[\w-]+)?\.ts$/,
  goals: /(?:^|\/)[\w-]*goals?(?:-[\w-]+)?\.ts$/,
} as const;

type Surface = (typeof COLUMNS)[number] | keyof typeof BY_NAME;

const SURFACES: readonly Surface[] = [...COLUMNS, ...(Object.keys(BY_NAME) as (keyof typeof BY_NAME)[])];

function isOf(surface: Surface, file: string): boolean {
  return Object.hasOwn(BY_NAME, surface)
    ? BY_NAME[surface as keyof typeof BY_NAME].test(file)
    : columnOf(file) === surface;
}

/** The files that would have to change without a surface, by surface. Paths are relative to `sourceFolder`. */
export function findImporters(sourceFolder: string): ReadonlyMap<Surface, readonly string[]> {
  const importers = new Map<Surface, Set<string>>(SURFACES.map((surface) => [surface, new Set()]));
  for (const name of readdirSync(sourceFolder, { recursive: true, encoding: "utf8" })) {
    const file = name.replaceAll("\\", "/");
    if (!/\.tsx?$/.test(file)) continue;
    const text = readFileSync(join(sourceFolder, file), "utf8");
    const targets = importsOf(file, text)
      .filter(({ specifier }) => specifier.startsWith("."))
      .map(({ specifier }) => resolveImport(file, specifier));
    for (const [surface, files] of importers)
      if (!isOf(surface, file) && targets.some((target) => isOf(surface, target))) files.add(file);
  }
  return new Map([...importers].map(([surface, files]) => [surface, [...files].sort()]));
}

/** The imports that run upwards into a surface, each as one line. */
export function findUpwardImports(sourceFolder: string): readonly string[] {
  return checkImports(sourceFolder).flatMap((offence) => {
    const target = /which is above it \((.+)\)$/.exec(offence)?.[1] ?? "";
    const held = SURFACES.filter((surface) => target !== "" && isOf(surface, target));
    return held.map((surface) => `${offence}: ${surface} can no longer be taken out without this file`);
  });
}

/** One line for people: each surface with how many files import it from outside. */
export function describeImporters(importers: ReadonlyMap<Surface, readonly string[]>): string {
  return `files outside that import it: ${[...importers].map(([surface, files]) => `${surface} ${files.length}`).join(", ")}`;
}

if (import.meta.main) {
  const sources = join(import.meta.dir, "../src");
  const importers = findImporters(sources);
  console.log(describeImporters(importers));
  if (process.argv.includes("--files"))
    for (const [surface, files] of importers) console.log([surface, ...files].join("\n  "));
  const upwards = findUpwardImports(sources);
  for (const offence of upwards) console.error(offence);
  process.exitCode = upwards.length > 0 ? 1 : 0;
}
