/**
 * Run before a package is made (as `prepack`): the library as JavaScript with its types, in `lib/`, and the manual page. The
 * library's dependencies stay imports, so that a program which uses one of them too has it once.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const root = join(import.meta.dir, "..");
const folder = join(root, "lib");
const entry = join(folder, "lib.d.ts");

rmSync(folder, { recursive: true, force: true });
const built = await Bun.build({
  entrypoints: [join(root, "src/lib.ts")],
  root: join(root, "src"),
  outdir: folder,
  target: "bun",
  format: "esm",
  splitting: true,
  packages: "external",
  minify: { whitespace: true, syntax: true, identifiers: false },
});
for (const message of built.logs) console.error(String(message));
if (!built.success) process.exit(1);

// The types are only written down: `npm test` checks them, at three times the cost.
const compiler = [
  join(root, "node_modules/.bin/tsc"),
  "-p",
  "tsconfig.lib.json",
  "--noCheck",
  "--singleThreaded",
];
const typed = Bun.spawnSync([process.execPath, "--no-env-file", ...compiler], {
  cwd: root,
  stdout: "inherit",
  stderr: "inherit",
});
if (typed.exitCode !== 0) process.exit(1);
dropUnreachable(entry);

const manual = Bun.spawnSync([process.execPath, "--no-env-file", join(root, "src/main.ts"), "man"], {
  cwd: root,
  env: { ...process.env, PICOCLAW_LOCALE: "en" },
  stderr: "inherit",
});
if (manual.exitCode !== 0) process.exit(1);
mkdirSync(join(root, "man"), { recursive: true });
writeFileSync(join(root, "man/picoclaw.1"), manual.stdout);

/** The compiler describes every module it met; only those that the entry's types name are of use. */
function dropUnreachable(from: string): void {
  const reached = new Set<string>();
  const waiting = [from];
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (reached.has(file)) continue;
    reached.add(file);
    for (const [, name] of readFileSync(file, "utf8").matchAll(/["'](\.{1,2}\/[^"']+)\.ts["']/g))
      if (name !== undefined) waiting.push(`${resolve(dirname(file), name)}.d.ts`);
  }
  const described = readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".d.ts"))
    .map((name) => join(folder, name));
  for (const file of reached)
    if (!existsSync(file)) throw new Error(`no types for ${relative(folder, file)}`);
  for (const file of described) if (!reached.has(file)) rmSync(file);
}
