/**
 * A comment gives its reason or names a page under docs/; npm and pip know where packages come from. Fails on a citation
 * of a page that is not in this repository, and on the host of a package registry.
 */
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

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

/** Every offence as one line, `file:line: what it says`; none is none. */
export function checkCitations(root: string, places: readonly string[]): readonly string[] {
  return places.flatMap((place) =>
    filesIn(root, place).flatMap((file) => {
      const bytes = readFileSync(join(root, file));
      return bytes.includes(0) ? [] : offencesIn(file, bytes.toString("utf8"));
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
    const [host] = found(HOSTS, line);
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
