/**
 * A comment gives its reason or names a page under docs/; npm and pip know where packages come from. Fails on a citation
 * of a page that is not in this repository, on a comment that names a file which does not exist, and on the host of a
 * package registry outside of the list of them.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";

const PLACES = [
  "src",
  "test",
  "docs",
  "scripts",
  "bench",
  "images",
  "demo",
  "README.md",
  "CONTRIBUTING.md",
  "CHANGELOG.md",
];

/** In pieces, so that this file does not cite them itself. */
const CITATIONS: readonly RegExp[] = [
  /\b00[0-4](?:'s)?,? ?\u00a7/,
  new RegExp(["DECI", "SIONS"].join("")),
  new RegExp(["DESI", "GN \u00a7"].join("")),
  new RegExp(["\\b[Ss]", "eed 00[0-4]"].join("")),
];

const HOSTS: readonly RegExp[] = [
  ["npmjs", "org"],
  ["npmjs", "com"],
  ["yarnpkg", "com"],
  ["pypi", "org"],
  ["pythonhosted", "org"],
].map((parts) => new RegExp(`\\b${parts.join("\\.")}\\b`));

/** The one file whose data are such hosts: a model's commands may reach them. */
const KNOWN_HOSTS = "src/domain/sandbox/registries.ts";

const COMMENTED = /^(?:src|test|scripts|bench)\/.*\.ts$/;
const COMMENT = /\/\*[\s\S]*?\*\/|(?:^|\s)\/\/.*/g;
/** A TypeScript file, with or without its folders, or a page of docs/. */
const REFERENCE = /(?<![\w@./<>*${}-])(?:\.{1,2}\/)*((?:[\w-]+\/)*[\w.-]+\.ts|docs\/[\w./-]+\.md)(?![\w-])/g;
/** `a.ts` and `src/b.ts` are files of an example. */
const EXAMPLE = /^\w\.ts$/;

/** Every offence as one line, `file:line: what it says`; none is none. */
export function checkCitations(root: string, places: readonly string[]): readonly string[] {
  const files = places.flatMap((place) => filesIn(root, place));
  const endings = new Set(files.flatMap(endingsOf));
  return files.flatMap((file) => {
    const bytes = readFileSync(join(root, file));
    if (bytes.includes(0)) return [];
    const text = bytes.toString("utf8");
    return [...offencesIn(file, text), ...(COMMENTED.test(file) ? deadIn(file, text, endings) : [])];
  });
}

/** `src/a/b.ts`, `a/b.ts` and `b.ts`: what a comment may call a file. */
function endingsOf(file: string): readonly string[] {
  const parts = file.split("/");
  return parts.map((_, at) => parts.slice(at).join("/"));
}

function deadIn(file: string, text: string, endings: ReadonlySet<string>): readonly string[] {
  return [...text.matchAll(COMMENT)].flatMap((comment) =>
    [...comment[0].matchAll(REFERENCE)].flatMap(({ 1: path = "", index }) => {
      if (endings.has(path) || EXAMPLE.test(basename(path))) return [];
      const line = text.slice(0, comment.index + index).split("\n").length;
      return [`${file}:${line}: ${path}: no such file; name where it is now`];
    }),
  );
}

function filesIn(root: string, place: string): readonly string[] {
  const at = statSync(join(root, place), { throwIfNoEntry: false });
  if (at === undefined) return [];
  if (at.isFile()) return [place];
  return readdirSync(join(root, place), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1))
    .sort();
}

function offencesIn(file: string, text: string): readonly string[] {
  return text.split("\n").flatMap((line, index) => {
    const [cited] = found(CITATIONS, line);
    const [host] = file === KNOWN_HOSTS ? [] : found(HOSTS, line);
    return [
      ...(cited === undefined
        ? []
        : [`${file}:${index + 1}: ${cited}: say the reason, or name a page of docs/`]),
      ...(host === undefined
        ? []
        : [`${file}:${index + 1}: ${host}: leave it to npm's or pip's own configuration`]),
    ];
  });
}

function found(patterns: readonly RegExp[], line: string): readonly string[] {
  return patterns.flatMap((pattern) => pattern.exec(line)?.[0] ?? []);
}

if (import.meta.main) {
  const offences = checkCitations(join(import.meta.dir, ".."), PLACES);
  for (const offence of offences) console.error(offence);
  process.exitCode = offences.length > 0 ? 1 : 0;
}
