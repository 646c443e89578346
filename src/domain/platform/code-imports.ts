import { parentOf } from "./paths.ts";

const JS_IMPORT = /(?:\bfrom\s*|\brequire\(\s*|\bimport\(?\s*)["'](\.[^"']*)["']/g;
const PY_IMPORT = /^\s*(?:from\s+([.\w]+)\s+import\s+([\w, ()*]+)|import\s+([\w., ]+))/gm;
const INCLUDE = /^\s*#\s*include\s+"([^"]+)"|\brequire_relative\s+["']([^"']+)["']/gm;
/** `. ./lib.sh` and `source lib.sh`, at the beginning of a command. */
const SOURCED = /(?:^|[;&|]\s*)(?:\.|source)[ \t]+["']?([\w./-]+)/gm;
const GO_IMPORT = /"([\w./-]+\/[\w.-]+)"/g;
const JS_ENDINGS = ["", ".js", ".ts", ".mjs", ".cjs", ".mts", ".cts", ".jsx", ".tsx", ".vue", ".svelte"];

/** The number of imports between each file and the changed files. */
export function importDistances(
  texts: ReadonlyMap<string, string>,
  changed: readonly string[],
): Map<string, number> {
  const importers = new Map<string, string[]>();
  const resolve = createResolver(new Set(texts.keys()));
  for (const [path, text] of texts)
    for (const target of resolve(path, text))
      if (target !== path) importers.set(target, [...(importers.get(target) ?? []), path]);
  const distance = new Map<string, number>();
  let ring: readonly string[] = changed;
  for (let step = 1; ring.length > 0; step++) {
    const next = new Set(ring.flatMap((path) => importers.get(path) ?? []));
    ring = [...next].filter((path) => !distance.has(path) && !changed.includes(path));
    for (const path of ring) distance.set(path, step);
  }
  return distance;
}

/** Languages in which an import names the file that is loaded. */
const LOADED_BY_IMPORT = /\.(?:[cm]?[jt]sx?|vue|svelte|py|go|rb)$/;

/** Whether one of these tests loads a file. A module of Python counts only by its whole name, from the root or `src`. */
export function loadsByImport(
  texts: ReadonlyMap<string, string>,
  tests: readonly string[],
): (path: string) => boolean {
  const loaded = findLoaded(texts, tests);
  return (path) => LOADED_BY_IMPORT.test(path) && loaded.has(path);
}

/** These files, and those that they import, directly or not. */
export function findLoaded(texts: ReadonlyMap<string, string>, files: readonly string[]): Set<string> {
  const resolve = createResolver(new Set(texts.keys()), { wholeNames: true });
  const loaded = new Set(files);
  for (const path of loaded) for (const target of resolve(path, texts.get(path) ?? "")) loaded.add(target);
  return loaded;
}

/** The files among `paths` that a file imports, by its text alone; in Go, the files of the packages. */
export function importsOf(paths: readonly string[], path: string, text: string): string[] {
  return createResolver(new Set(paths))(path, text);
}

function createResolver(paths: ReadonlySet<string>, { wholeNames = false } = {}) {
  const modules = new Map<string, string>();
  const folders = new Map<string, string[]>();
  for (const path of paths) {
    if (path.endsWith(".py")) {
      const parts = path.replace(/(?:\/__init__)?\.py$/, "").split("/");
      const most = !wholeNames ? parts.length : parts[0] === "src" ? 2 : 1;
      // A module is known by every suffix of its path, because its root folder is not declared.
      for (let at = 0; at < Math.min(most, parts.length); at++) {
        const name = parts.slice(at).join(".");
        if (!modules.has(name)) modules.set(name, path);
      }
    }
    if (path.endsWith(".go")) folders.set(parentOf(path), [...(folders.get(parentOf(path)) ?? []), path]);
  }
  return (path: string, text: string): string[] => {
    if (path.endsWith(".py")) return pythonImports(path, text, modules);
    if (path.endsWith(".go")) return goImports(path, text, folders);
    const found: string[] = [];
    const relative = /\.(?:[cm]?[jt]sx?|vue|svelte)$/.test(path)
      ? JS_IMPORT
      : /\.(?:sh|bash)$/.test(path)
        ? SOURCED
        : INCLUDE;
    for (const match of text.matchAll(relative)) {
      const target = resolveRelative(paths, path, match[1] ?? match[2] ?? "");
      if (target !== null) found.push(target);
    }
    return found;
  };
}

function resolveRelative(paths: ReadonlySet<string>, from: string, wanted: string): string | null {
  const parts = parentOf(from) === "" ? [] : parentOf(from).split("/");
  for (const part of wanted.split("/")) {
    if (part === "..") parts.pop();
    else if (part !== "." && part !== "") parts.push(part);
  }
  const base = parts.join("/");
  const bare = base.replace(/\.[cm]?jsx?$/, "");
  const names = [
    ...JS_ENDINGS.map((ending) => `${base}${ending}`),
    ...JS_ENDINGS.map((ending) => `${bare}${ending}`),
    ...JS_ENDINGS.map((ending) => `${base}${base === "" ? "" : "/"}index${ending}`),
    `${base}.rb`,
  ];
  return names.find((name) => paths.has(name)) ?? null;
}

function pythonImports(path: string, text: string, modules: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  for (const [, from, names = "", plain = ""] of text.matchAll(PY_IMPORT)) {
    const wanted =
      from === undefined
        ? plain.split(",").map((name) => name.trim().split(" ")[0] ?? "")
        : [from, ...names.split(/[,()\s]+/).map((name) => `${from}${from.endsWith(".") ? "" : "."}${name}`)];
    for (const name of wanted) {
      const dots = /^\.*/.exec(name)?.[0].length ?? 0;
      const base = dots === 0 ? [] : path.split("/").slice(0, -dots);
      const target = modules.get([...base, name.slice(dots)].filter((part) => part !== "").join("."));
      if (target !== undefined) found.push(target);
    }
  }
  return found;
}

/** Files of one folder are one package. */
function goImports(path: string, text: string, folders: ReadonlyMap<string, readonly string[]>): string[] {
  const own = path.endsWith("_test.go") ? (folders.get(parentOf(path)) ?? []) : [];
  const head = text.slice(0, Math.max(0, text.search(/^(?:func|type|var|const)\b/m)));
  const others = [...head.matchAll(GO_IMPORT)].flatMap(([, name = ""]) => {
    for (let rest = name; rest.includes("/"); rest = rest.slice(rest.indexOf("/") + 1)) {
      const files = folders.get(rest.slice(rest.indexOf("/") + 1));
      if (files !== undefined) return files;
    }
    return [];
  });
  return [...own, ...others];
}
