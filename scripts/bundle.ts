/**
 * Run by `npm ci` (as `prepare`): gathers the program, the executor and the proxy into one file each, with the bytecode that the
 * runtime would otherwise make of 130 modules at every start; `apply` takes half the time. `bin/picoclaw` uses it only
 * while no source is newer, and works without it.
 */
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const fresh = join(root, "dist.new");
const final = join(root, "dist");

rmSync(fresh, { recursive: true, force: true });
for (const entry of ["main.ts", "wiring/executor.ts", "wiring/proxy.ts"]) {
  const built = await Bun.build({
    entrypoints: [join(root, "src", entry)],
    root: join(root, "src"),
    outdir: fresh,
    target: "bun",
    format: "cjs",
    bytecode: true,
    minify: { whitespace: true, syntax: true, identifiers: false },
  });
  for (const message of built.logs) console.error(String(message));
  if (!built.success) process.exit(1);
}
rmSync(final, { recursive: true, force: true });
renameSync(fresh, final);
