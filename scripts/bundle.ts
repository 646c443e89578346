/**
 * Run by `npm ci` (as `prepare`): gathers the program into `dist/`, which starts in half the time of 130 modules that
 * are read and translated one by one. `bin/picoclaw` uses it only while no source is newer, and works without it.
 */
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const fresh = join(root, "dist.new");
const final = join(root, "dist");

rmSync(fresh, { recursive: true, force: true });
const built = await Bun.build({
  entrypoints: [join(root, "src/main.ts"), join(root, "src/wiring/executor.ts")],
  root: join(root, "src"),
  outdir: fresh,
  target: "bun",
  splitting: true,
  minify: { whitespace: true, syntax: true, identifiers: false },
});
for (const message of built.logs) console.error(String(message));
if (!built.success) process.exit(1);
rmSync(final, { recursive: true, force: true });
renameSync(fresh, final);
