/**
 * Run by `npm ci` (as `prepare`): gathers the program into a few pieces, and the executor and the proxy into one file each,
 * with the bytecode that the runtime would otherwise make of hundreds of modules at every start. `bin/picoclaw` uses it only
 * while no source is newer, and works without it.
 *
 * The program is split where it imports late: a piece that a command does not need is neither read nor kept in memory.
 * The bundler splits only what it cannot make bytecode of, so it goes over the pieces a second time. To find and read a piece
 * has its price too: those that a small job loads are put together again, and so are those that the same others of the usual runs load.
 */
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { keepEarlierPieces } from "./earlier-pieces.ts";
import { loadedPieces, piecesByRuns } from "./loaded-pieces.ts";
import { findLiveNames, toPlainPiece } from "./plain-pieces.ts";
import { renderLateDoor } from "./text-doors.ts";

const root = join(import.meta.dir, "..");
const fresh = join(root, "dist.new");
const pieces = join(root, "dist.pieces");
const final = join(root, "dist");
const replaced = join(root, "dist.old");

const COMMON = {
  target: "bun",
  minify: { whitespace: true, syntax: true, identifiers: false },
} as const;
const BYTECODE = { ...COMMON, format: "cjs", bytecode: true } as const;
const OF_PIECES = {
  ...BYTECODE,
  root: pieces,
  outdir: fresh,
  // `import.meta.dir` and `__dirname` would become the text of where these pieces lie now; a module knows where it is loaded from.
  define: {
    "import.meta.require": "require",
    "import.meta.dir": "module.path",
    "import.meta.path": "module.filename",
  },
} as const;

for (const folder of [fresh, pieces]) rmSync(folder, { recursive: true, force: true });
await build({
  ...COMMON,
  entrypoints: [join(root, "src/main.ts")],
  root: join(root, "src"),
  outdir: pieces,
  format: "esm",
  splitting: true,
  plugins: [unfrozen(), oneLanguage()],
});
const split = readdirSync(pieces).map((piece) => ({
  piece,
  text: readFileSync(join(pieces, piece), "utf8"),
}));
const live = new Set(split.flatMap(({ piece, text }) => findLiveNames(piece, text)));
for (const { piece, text } of split) writeFileSync(join(pieces, piece), toPlainPiece(piece, text, live));
await build({
  ...OF_PIECES,
  entrypoints: readdirSync(pieces).map((piece) => join(pieces, piece)),
  plugins: [apartFrom(new Set())],
});
const groups = piecesByRuns(await loadedPieces(join(fresh, "main.js")))
  .map(({ run, pieces: group }) => ({ run, group: run === "edit" ? group.add("main.js") : group }))
  .filter(({ group }) => group.size > 1);
const files = nameFiles(groups);
for (const { group } of groups) await together(group, files);
for (const entry of ["executor", "limited", "container-files", "proxy"])
  await build({
    ...BYTECODE,
    entrypoints: [join(root, `src/wiring/${entry}.ts`)],
    root: join(root, "src"),
    outdir: fresh,
  });
rmSync(pieces, { recursive: true, force: true });
// A package is for others: no process of theirs runs from what was built here before.
const forOthers = process.env.npm_command === "pack" || process.env.npm_command === "publish";
keepEarlierPieces({ earlier: forOthers ? null : final, fresh, nowMs: Date.now() });
rmSync(replaced, { recursive: true, force: true });
if (existsSync(final)) renameSync(final, replaced);
renameSync(fresh, final);
rmSync(replaced, { recursive: true, force: true });

async function build(options: Bun.BuildConfig): Promise<void> {
  const built = await Bun.build(options);
  for (const message of built.logs) console.error(String(message));
  if (!built.success) process.exit(1);
}

/** The file of each piece that is put together with others. A file names others, so all names change with any piece. */
function nameFiles(
  groups: readonly { readonly run: string; readonly group: ReadonlySet<string> }[],
): ReadonlyMap<string, string> {
  const texts = groups.flatMap(({ group }) =>
    [...group].sort().map((piece) => readFileSync(join(pieces, piece), "utf8")),
  );
  const hash = Bun.hash(texts.join("\n")).toString(36);
  return new Map(
    groups.flatMap(({ run, group }, at) =>
      [...group].map((piece): [string, string] => [piece, `${run}-${at}${hash}.js`]),
    ),
  );
}

/**
 * Puts pieces into one file, in which each still begins when it is first asked for. Under its own name stays a line that asks,
 * for pieces that are in no file; the others ask the file itself, because to find and read a line costs as much as a piece.
 */
async function together(group: ReadonlySet<string>, files: ReadonlyMap<string, string>): Promise<void> {
  const [first] = group;
  const file = files.get(first ?? "") ?? "";
  const entry = join(pieces, file);
  const cases = [...group].map((piece) => `case "${piece}": return require("./${piece}");`);
  writeFileSync(entry, `module.exports = (piece) => { switch (piece) { ${cases.join("\n")} } };`);
  await build({ ...OF_PIECES, entrypoints: [entry], plugins: [apartFrom(group, files)] });
  for (const piece of group) {
    rmSync(join(fresh, `${piece}.jsc`));
    writeFileSync(
      join(fresh, piece),
      `// @bun @bun-cjs\n(function(exports, require, module) {${ask(file, piece)}})\n`,
    );
  }
}

function ask(file: string, piece: string): string {
  return `module.exports=require("./${file}")("${piece}")`;
}

/**
 * Kysely freezes every node of every query, which is a twelfth of the processor time of a message. Nothing here changes one
 * after it is made; the tests that run the sources run with frozen ones.
 */
function unfrozen(): Bun.BunPlugin {
  return {
    name: "queries are not frozen",
    setup(builder) {
      builder.onLoad({ filter: /[\\/]kysely[\\/]dist[\\/]util[\\/]object-utils\.js$/ }, ({ path }) => {
        const contents = readFileSync(path, "utf8");
        const loose = contents.replace("return Object.freeze(obj);", "return obj;");
        if (loose === contents) throw new Error(`nothing is frozen in ${path}`);
        return { contents: loose, loader: "js" };
      });
    },
  };
}

/** A door of the texts asks for those of a language when the first of them is needed: a run speaks one, and the texts of another are a tenth of it. */
function oneLanguage(): Bun.BunPlugin {
  return {
    name: "texts of one language",
    setup(builder) {
      builder.onLoad({ filter: /[\\/]domain[\\/]texts[\\/][\w-]+\.ts$/ }, ({ path }) => ({
        contents: renderLateDoor(readFileSync(path, "utf8")),
        loader: "ts",
      }));
    },
  };
}

/** Pieces ask for each other by name, but for those of the same group; a piece of another group is asked for in its file. */
function apartFrom(
  group: ReadonlySet<string>,
  files: ReadonlyMap<string, string> = new Map(),
): Bun.BunPlugin {
  return {
    name: "pieces stay apart",
    setup(builder) {
      builder.onResolve({ filter: /^\.\// }, ({ path, importer }) => {
        const piece = path.slice(2);
        if (importer === "" || group.has(piece)) return undefined;
        return files.has(piece) ? { path: piece, namespace: "elsewhere" } : { path, external: true };
      });
      builder.onLoad({ filter: /.*/, namespace: "elsewhere" }, ({ path }) => ({
        contents: ask(files.get(path) ?? "", path),
        loader: "js",
      }));
    },
  };
}
