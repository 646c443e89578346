/**
 * Run by `npm ci` (as `prepare`): gathers the program into a few pieces, and the executor and the proxy into one file each,
 * with the bytecode that the runtime would otherwise make of hundreds of modules at every start. `bin/picoclaw` uses it only
 * while no source is newer, and works without it.
 *
 * The program is split where it imports late: a piece that a command does not need is neither read nor kept in memory.
 * The bundler splits only what it cannot make bytecode of, so it goes over the pieces a second time.
 */
import { readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dir, "..");
const fresh = join(root, "dist.new");
const pieces = join(root, "dist.pieces");
const final = join(root, "dist");

const COMMON = {
  target: "bun",
  minify: { whitespace: true, syntax: true, identifiers: false },
} as const;
const BYTECODE = { ...COMMON, format: "cjs", bytecode: true } as const;

for (const folder of [fresh, pieces]) rmSync(folder, { recursive: true, force: true });
await build({
  ...COMMON,
  entrypoints: [join(root, "src/main.ts")],
  root: join(root, "src"),
  outdir: pieces,
  format: "esm",
  splitting: true,
});
await build({
  ...BYTECODE,
  entrypoints: readdirSync(pieces).map((piece) => join(pieces, piece)),
  root: pieces,
  outdir: fresh,
  // `import.meta.dir` and `__dirname` would become the text of where these pieces lie now; a module knows where it is loaded from.
  define: { "import.meta.require": "require", "import.meta.dir": "module.path" },
  plugins: [{ name: "pieces stay apart", setup: keepApart }],
});
for (const entry of ["wiring/executor.ts", "wiring/limited.ts", "wiring/proxy.ts"])
  await build({
    ...BYTECODE,
    entrypoints: [join(root, "src", entry)],
    root: join(root, "src"),
    outdir: fresh,
  });
rmSync(pieces, { recursive: true, force: true });
rmSync(final, { recursive: true, force: true });
renameSync(fresh, final);

async function build(options: Bun.BuildConfig): Promise<void> {
  const built = await Bun.build(options);
  for (const message of built.logs) console.error(String(message));
  if (!built.success) process.exit(1);
}

function keepApart(builder: Bun.PluginBuilder): void {
  builder.onResolve({ filter: /^\.\// }, ({ path, importer }) =>
    importer === "" ? undefined : { path, external: true },
  );
}
