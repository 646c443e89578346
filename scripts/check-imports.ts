/**
 * Imports run inwards through the layers (domain ← application ← {infrastructure, adapters, tools} ← main) and
 * downwards through the columns (see COLUMNS). Fails on a wrong direction, a folder that is not a column, a cycle of
 * modules (types count in all three), `bun:` or `Bun.` outside the platform folder, a Node module in the domain,
 * `process.env` outside its places, the command line's program outside of it, and a path out of src/. Columns cannot
 * form a circle, because every import between two of them runs downwards.
 */
import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join, posix } from "node:path";

type Layer = "domain" | "config" | "application" | "infrastructure" | "adapters" | "tools" | "main";

const MAY_IMPORT: Readonly<Record<Layer, readonly Layer[]>> = {
  domain: ["domain"],
  config: ["config", "domain"],
  application: ["application", "domain"],
  infrastructure: ["infrastructure", "application", "domain"],
  adapters: ["adapters", "application", "domain", "config"],
  tools: ["tools", "application", "domain"],
  main: ["main", "adapters", "tools", "infrastructure", "application", "config", "domain"],
};
const MAY_IMPORT_TYPES: Readonly<Partial<Record<Layer, readonly Layer[]>>> = { application: ["config"] };

/** The command line's view of the process. Types that others need too live in application. */
const CLI_PROGRAM = "adapters/cli/program.ts";

const RUNTIME_FOLDER = "infrastructure/platform/";
/** The runtime's own removal stops in silence where another process removes a part of the tree. */
const TREE_REMOVER = "infrastructure/platform/remove-tree.ts";

/** The features, from the ground up. A file may import its own column and those before it. */
const COLUMNS = [
  "platform",
  "texts",
  "policy",
  "patch",
  "config",
  "store",
  "jobs",
  "sandbox",
  "engine",
  "drafts",
  "checks",
  "models",
  "heads",
  "coder",
  "tools",
  "forges",
  "containers",
  "history",
  "chat",
  "serve",
  "fleet",
  "tasks",
  "channels",
  "setup",
  "web",
  "mcp",
  "acp",
  "cli",
  "wiring",
] as const;
/** Single files that every column may import, or that import every column. */
const COLUMN_OF_FILE: Readonly<Record<string, string>> = {
  "version.ts": "platform",
  "main.ts": "wiring",
  "lib.ts": "wiring",
};
/** A feature's texts and ports carry its name: `texts/en/jobs.ts`, `ports/jobs-workspace.ts`. */
const NAMED_BY_FILE = /^(?:domain\/texts(?:\/[\w-]+)?|application\/ports)\/([a-z]+)[.-][^/]*$/;
/** The loader, and the four ways in. */
const ENVIRONMENT_READERS = new Set([
  "config/load.ts",
  "main.ts",
  "lib.ts",
  "wiring/executor.ts",
  "wiring/proxy.ts",
]);

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

/** Every offence as one line, `file: what`; none is none. Paths are relative to `sourceFolder`. */
export function checkImports(sourceFolder: string): readonly string[] {
  const files = readdirSync(sourceFolder, { recursive: true, encoding: "utf8" })
    .map((path) => path.replaceAll("\\", "/"))
    .filter((path) => /\.[cm]?tsx?$/.test(path))
    .sort();
  const offences: string[] = [];
  const graph = new Map<string, readonly string[]>();
  for (const file of files) {
    const text = readFileSync(join(sourceFolder, file), "utf8");
    const imports = importsOf(file, text);
    offences.push(
      ...imports.flatMap((each) => offencesOfImport(file, each)).map((what) => `${file}: ${what}`),
    );
    if (columnOf(file) === null) offences.push(`${file}: its folder is not a column`);
    offences.push(...offencesOfCode(file, text).map((what) => `${file}: ${what}`));
    const local = imports.filter(({ specifier }) => specifier.startsWith("."));
    graph.set(
      file,
      local.map(({ specifier }) => resolveImport(file, specifier)),
    );
  }
  return [...offences, ...cyclesIn(graph)];
}

const transpiler = {
  ts: new Bun.Transpiler({ loader: "ts" }),
  tsx: new Bun.Transpiler({ loader: "tsx" }),
};

function transpilerFor(file: string) {
  return file.endsWith("x") ? transpiler.tsx : transpiler.ts;
}

/** The transpiler drops types; a second pass over a text where they look like values finds those as well. */
export function importsOf(file: string, text: string): readonly Import[] {
  const source = text.replace(/^#!.*/, "");
  const typesAsValues = source
    .replace(/\b(import|export)\s+type(?=\s*[{*]|\s+\w+\s+from\b)/g, "$1")
    .replace(/\b(?:import|export)\s*\{[^}]*\}\s*from\b/g, (clause) => clause.replace(/\btype\s+(?=\w)/g, ""));
  const scan = (code: string) =>
    transpilerFor(file)
      .scanImports(code)
      .map((each) => each.path);
  const values = new Set(scan(source));
  const inTypes = [...source.matchAll(/\bimport\(\s*["']([^"']+)["']\s*\)/g)].map((match) => match[1] ?? "");
  const all = new Set([...values, ...scan(typesAsValues), ...inTypes]);
  return [...all].map((specifier) => ({ specifier, typeOnly: !values.has(specifier) }));
}

function offencesOfImport(file: string, { specifier, typeOnly }: Import): readonly string[] {
  const layer = layerOf(file);
  if (!specifier.startsWith(".")) {
    const isBun = specifier === "bun" || specifier.startsWith("bun:");
    if (isBun && !file.startsWith(RUNTIME_FOLDER))
      return [`imports ${specifier} outside src/${RUNTIME_FOLDER}`];
    if (layer === "domain" && isBuiltin(specifier))
      return [`the domain does no I/O, but imports ${specifier}`];
    return [];
  }
  const target = resolveImport(file, specifier);
  if (target.startsWith("../")) return [`imports ${specifier}, which is outside src/`];
  if (target === CLI_PROGRAM && !file.startsWith("adapters/cli/") && file !== "wiring/program.ts")
    return [`imports ${CLI_PROGRAM}, which only the command line and wiring/program.ts may`];
  const upwards = offenceOfColumns(file, target);
  if (upwards !== null) return [upwards];
  const targetLayer = layerOf(target);
  const allowed = [...MAY_IMPORT[layer], ...(typeOnly ? (MAY_IMPORT_TYPES[layer] ?? []) : [])];
  if (allowed.includes(targetLayer)) return [];
  return [`${layer} may not import ${typeOnly ? "types of " : ""}${targetLayer} (${target})`];
}

/** On the transpiled code: a comment may speak of anything. */
function offencesOfCode(file: string, text: string): readonly string[] {
  const code = transpilerFor(file).transformSync(text.replace(/^#!.*/, ""));
  const offences: string[] = [];
  if (/\b(process|Bun|import\.meta)\??\.env\b/.test(code) && !ENVIRONMENT_READERS.has(file)) {
    offences.push(`reads the environment; only ${[...ENVIRONMENT_READERS].join(" and ")} may`);
  }
  if (/(^|[^\w.$"'`])Bun\./m.test(code) && !file.startsWith(RUNTIME_FOLDER)) {
    offences.push(`uses Bun outside src/${RUNTIME_FOLDER}`);
  }
  if (/\brm(?:dir)?(?:Sync)?\([^;]*recursive: true/.test(code) && file !== TREE_REMOVER) {
    offences.push(`removes a tree by itself; only src/${TREE_REMOVER} may`);
  }
  return offences;
}

function layerOf(file: string): Layer {
  const [folder = "", rest] = file.split("/");
  if (rest === undefined) return "main";
  return folder in MAY_IMPORT ? (folder as Layer) : "main";
}

/** The feature that a file belongs to; null where its folder is not a column. */
export function columnOf(file: string): string | null {
  const single = COLUMN_OF_FILE[file];
  if (single !== undefined) return single;
  const named = NAMED_BY_FILE.exec(file)?.[1];
  if (named !== undefined)
    return rankOf(named) >= 0 ? named : file.startsWith("domain/texts/") ? "texts" : null;
  const [layer = "", folder = ""] = file.split("/");
  const column = layer === "config" || layer === "tools" || layer === "wiring" ? layer : folder;
  return rankOf(column) >= 0 ? column : null;
}

function rankOf(column: string): number {
  return (COLUMNS as readonly string[]).indexOf(column);
}

function offenceOfColumns(file: string, target: string): string | null {
  const [own, other] = [columnOf(file), columnOf(target)];
  if (own === null || other === null || rankOf(other) <= rankOf(own)) return null;
  return `${own} may not import ${other}, which is above it (${target})`;
}

export function resolveImport(file: string, specifier: string): string {
  return posix.normalize(posix.join(dirname(file), specifier));
}

/** Depth first; each cycle once, as the path that closes it. */
function cyclesIn(graph: ReadonlyMap<string, readonly string[]>): readonly string[] {
  const cycles: string[] = [];
  const finished = new Set<string>();
  const path: string[] = [];
  const visit = (file: string) => {
    if (finished.has(file)) return;
    const start = path.indexOf(file);
    if (start >= 0) {
      cycles.push(`cycle: ${[...path.slice(start), file].join(" → ")}`);
      return;
    }
    path.push(file);
    for (const next of graph.get(file) ?? []) visit(next);
    path.pop();
    finished.add(file);
  };
  for (const file of graph.keys()) visit(file);
  return cycles;
}

if (import.meta.main) {
  const offences = checkImports(join(import.meta.dir, "../src"));
  for (const offence of offences) console.error(offence);
  process.exitCode = offences.length > 0 ? 1 : 0;
}
