import { spawnSync } from "node:child_process";
import { existsSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Installation } from "../src/infrastructure/platform/installation.ts";

const ROOT = join(import.meta.dir, "..");
const BUNDLED = "dist/wiring/executor.js";
/** Beside `dist`, so that what is built there finds the program as a package's library does. */
const BUILT = join(ROOT, "dist.bench");

/** The installation that users have: with the executor of the bundle. Null without a bundle, or while a source is newer. */
export function findBundle(): Installation | null {
  const bundle = join(ROOT, BUNDLED);
  if (!existsSync(bundle) || statSync(bundle).size === 0) return null;
  const newer = spawnSync("find", [join(ROOT, "src"), "-newer", bundle, "-name", "*.ts", "-print", "-quit"]);
  return newer.stdout.length === 0 ? { folder: ROOT, runtime: process.execPath, executor: BUNDLED } : null;
}

/** For the row of a benchmark that had to do without. */
export function bundleNote(): string {
  return findBundle() === null ? " (no bundle: from the sources; npm run prepare)" : "";
}

/**
 * Modules as a package has them: gathered, and with the executor of the bundle for their jobs. Without a bundle they are
 * the sources' own, whose executor takes twice the processor time to start.
 */
export async function loadInstalled<Module>(entry: string): Promise<Module> {
  if (findBundle() === null) return (await import(join(ROOT, "src", entry))) as Module;
  rmSync(BUILT, { recursive: true, force: true });
  const built = await Bun.build({
    entrypoints: [join(ROOT, "src", entry)],
    outdir: BUILT,
    naming: { entry: "[name].[ext]" },
    target: "bun",
    format: "esm",
    splitting: true,
    packages: "external",
    minify: { whitespace: true, syntax: true, identifiers: false },
  });
  if (!built.success) throw new Error(built.logs.map(String).join("\n"));
  const gathered = built.outputs.find(({ kind }) => kind === "entry-point");
  return (await import(gathered?.path as string)) as Module;
}

/** What is imported late is read late: only once all jobs are over. */
export function removeInstalled(): void {
  rmSync(BUILT, { recursive: true, force: true });
}
