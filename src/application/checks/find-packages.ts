/**
 * The checks of a workspace of packages: those of the packages that a change touches, then those of packages that depend on them.
 * In: the workspace before the change, and the changed paths. Out: each package's own command, run in its folder.
 * Invariant: a package is a folder with a manifest of its own that no test keeps as data, and the root is none.
 */
import type { SourcedCommand } from "../../domain/checks/command-sources.ts";
import { findChecks, type ProjectCheck, type ProjectFiles } from "../../domain/checks/find-checks.ts";
import { quotePath } from "../../domain/checks/narrow-check.ts";
import { isTestPath } from "../../domain/checks/path-kinds.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { foldersAbove } from "../../domain/platform/paths.ts";
import { type OpenChecksDeps, readProject, readSmallFile } from "./baseline.ts";

type Files = OpenChecksDeps["files"];

const MANIFESTS = [
  "package.json",
  "pyproject.toml",
  "setup.py",
  "Cargo.toml",
  "go.mod",
  "pom.xml",
  "build.gradle",
  "build.gradle.kts",
];
const READ_BYTES = 256 * 1024;
const MOST_PACKAGES = 6;
const MOST_SIBLINGS = 200;

interface Package {
  readonly folder: string;
  readonly manifest: string;
  readonly text: string;
  /** By which other manifests name it; empty where its own does not say. */
  readonly name: string;
}

/** The command of the touched packages and of those above them; null where the change touches none. */
export function findPackageChecks(files: Files, paths: readonly string[]) {
  const touched = new Map<string, Package>();
  for (const path of paths) {
    const own = [...foldersAbove(path)].filter((folder) => folder !== "" && !isTestPath(`${folder}/`));
    const found = own
      .sort((a, b) => b.length - a.length)
      .flatMap((folder) => readPackage(files, folder) ?? []);
    const [nearest] = found;
    if (nearest !== undefined) touched.set(nearest.folder, nearest);
  }
  if (touched.size === 0) return null;
  const all = readSiblings(files, [...touched.values()]);
  const chosen = [...touched.values()];
  // A set of packages grows by those that name one of it.
  for (const { name } of chosen)
    for (const other of all)
      if (name !== "" && namesPackage(other, name) && !chosen.some(({ folder }) => folder === other.folder))
        chosen.push(other);
  const checks = chosen.slice(0, MOST_PACKAGES).flatMap((one) => checkOf(files, one, { all, touched }) ?? []);
  const [first] = checks;
  if (first === undefined) return null;
  const from: SourcedCommand["from"] = { name: "package", file: chosen[0]?.manifest ?? "" };
  return {
    kind: "test" as const,
    command: first.command,
    line: checks.map(({ line }) => line).join("\n"),
    from,
    checks,
  };
}

function readPackage(files: Files, folder: string): Package | null {
  for (const name of MANIFESTS) {
    const manifest = `${folder}/${name}`;
    const text = readSmallFile(files, manifest, READ_BYTES);
    if (text !== null) return { folder, manifest, text, name: nameOf(text, name) };
  }
  return null;
}

/** The first name in a manifest; the artifact of a Maven module is the first behind its parent. */
function nameOf(text: string, manifest: string): string {
  const said = {
    "package.json": /"name"\s*:\s*"([^"]+)"/,
    "go.mod": /^module\s+(\S+)/m,
    "pom.xml": /<artifactId>([^<]+)<\/artifactId>/,
  }[manifest];
  const own = manifest === "pom.xml" ? text.replace(/<parent>.*?<\/parent>/s, "") : text;
  return (said ?? /^name\s*=\s*["']([^"']+)["']/m).exec(own)?.[1] ?? "";
}

function namesPackage({ text, name: own }: Package, name: string): boolean {
  const escaped = name.replace(/[^\w]/g, "\\$&");
  return own !== name && new RegExp(`(?:^|[^\\w/@-])${escaped}(?![\\w/-])`, "m").test(text);
}

/** Packages beside the touched ones, and in the folders that the root names as those of packages. */
function readSiblings(files: Files, touched: readonly Package[]): readonly Package[] {
  const texts = ["package.json", "pnpm-workspace.yaml", "lerna.json", "Cargo.toml", "pyproject.toml"].map(
    (name) => readSmallFile(files, name, READ_BYTES) ?? "",
  );
  const named = texts.flatMap((text) =>
    [...text.matchAll(/["']?([\w./-]+)\/\*{1,2}["']?/g)].map(([, one = ""]) => one),
  );
  const parents = new Set([
    ...touched.map(({ folder }) => folder.slice(0, Math.max(0, folder.lastIndexOf("/")))),
    ...named.map((one) => one.replace(/^\.\//, "")),
  ]);
  const folders = [...parents].flatMap((parent) =>
    attemptOr([], () => files.list(parent))
      .slice(0, MOST_SIBLINGS)
      .map((name) => (parent === "" ? name : `${parent}/${name}`)),
  );
  const isFolder = (path: string) => files.look(path).kind === "directory";
  return [...new Set(folders)]
    .filter((folder) => !/(?:^|\/)(?:\.|node_modules$)/.test(folder) && isFolder(folder))
    .flatMap((folder) => readPackage(files, folder) ?? []);
}

/** The package's own check, in its folder; modules of Maven and Gradle are named to the build of the root. */
function checkOf(files: Files, { folder, manifest }: Package, known: Siblings): ProjectCheck | null {
  const root = readProject(files);
  const inRoot = (name: RegExp) => root.names.some((one) => name.test(one));
  const isMaven = manifest.endsWith("pom.xml") && inRoot(/^pom\.xml$/);
  const isGradle = /build\.gradle(?:\.kts)?$/.test(manifest) && inRoot(/^settings\.gradle/);
  if (isMaven || isGradle) {
    const test = findChecks(root, null).find(({ kind }) => kind === "test");
    const task = `:${folder.replaceAll("/", ":")}:test`;
    const toModule = (line: string) =>
      isMaven
        ? line.replace(/\b(mvnw?)\b/, `$1 -pl ${quotePath(folder)} -am`)
        : line.replace(/(gradlew?(?: -\S+)*) test\b/, `$1 ${task}`);
    return test === undefined
      ? null
      : { kind: "test", command: toModule(test.command), line: toModule(test.line) };
  }
  const view = {
    look: (path: string) => files.look(join(folder, path)),
    list: (path: string) => files.list(join(folder, path)),
    read: (path: string) => files.read(join(folder, path)),
  };
  const own = readProject(view);
  const hoisted: ProjectFiles = {
    ...own,
    names: [
      ...own.names,
      ...root.names.filter(
        (name) => /^(?:node_modules|\.venv|venv)$/.test(name) && !own.names.includes(name),
      ),
    ],
    ...((own.programs ?? root.programs) && { programs: [...(own.programs ?? []), ...(root.programs ?? [])] }),
  };
  const test = findChecks(hoisted, null).find(
    ({ kind, missing }) => kind === "test" && missing === undefined,
  );
  if (test === undefined) return null;
  const up = folder
    .split("/")
    .map(() => "..")
    .join("/");
  const place = `cd ${quotePath(folder)} && export PATH="$PWD/${up}/node_modules/.bin:$PATH"; `;
  const builds = unbuiltOf(files, known, `${folder}/package.json`).map(
    (one) => `(cd ${quotePath(one)} && npm run build) >/dev/null 2>&1; `,
  );
  // A virtual environment of the root is found from there.
  const toRoot = (line: string) =>
    `${builds.join("")}${place}${own.names.includes(".venv") || own.names.includes("venv") ? line : line.replace(/(?<![\w/])(\.?venv\/bin\/)/g, `${up}/$1`)}`;
  const shown = (command: string) => `cd ${quotePath(folder)} && ${command}`;
  const instead = (test.instead ?? []).map((rung) => ({
    ...rung,
    command: shown(rung.command),
    line: toRoot(rung.line),
  }));
  return {
    kind: "test",
    command: shown(test.command),
    line: toRoot(test.line),
    ...(instead.length > 0 && { instead }),
  };
}

const join = (folder: string, path: string) => (path === "" ? folder : `${folder}/${path}`);

interface Siblings {
  readonly all: readonly Package[];
  readonly touched: ReadonlyMap<string, Package>;
}

/**
 * Sibling packages that a package loads and that a script builds, if their built file is not there or the change may alter it; what
 * they load comes first.
 */
function unbuiltOf(
  files: Files,
  known: Siblings,
  manifest: string,
  seen: readonly string[] = [],
): readonly string[] {
  const text = readSmallFile(files, manifest, READ_BYTES) ?? "";
  const loaded = known.all.filter(
    ({ name, text: own }) => name !== "" && text.includes(`"${name}"`) && own !== text,
  );
  const needed = loaded.flatMap(({ folder, text: own, manifest: of }) => {
    if (seen.includes(folder)) return [];
    const read = attemptOr(null, () => JSON.parse(own)) as {
      main?: unknown;
      module?: unknown;
      scripts?: { build?: unknown };
    } | null;
    const built = [read?.main, read?.module].find((one) => typeof one === "string") as string | undefined;
    const isThere =
      built === undefined ||
      (!known.touched.has(folder) && files.look(join(folder, built.replace(/^\.\//, ""))).kind !== "missing");
    return isThere || typeof read?.scripts?.build !== "string"
      ? []
      : [...unbuiltOf(files, known, of, [...seen, folder]), folder];
  });
  return [...new Set(needed)];
}
