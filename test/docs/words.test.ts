import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";

const root = join(import.meta.dir, "..", "..");
const files = (pattern: string) => [...new Glob(pattern).scanSync({ cwd: root })].sort();
const read = (path: string) => readFileSync(join(root, path), "utf8");
const ROOT = ["README.md", "README.ja.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"];
const PAGES = [...files("docs/**/*.md"), ...ROOT];

/** Sentences that puzzled readers, and words that have a plainer one. */
const PUZZLING =
  /is no coding|IDE of JetBrains|doctor` is content|taken back as exactly|stands in the way|[Tt]rust no longer|What waits\b|is never due|\bmended?\b|[Dd]earest|Where does .* lie\b|\b(?:[Ss]omebody|[Nn]obody|[Ww]hoever|anew|stood)\b/;
const PUZZLING_JA =
  /反映|台本|断念|試し場|見学コース|朝に戻れる道|壊さない手|皆に開きます|運用者|利用者|イシュー|ブラウザー|閉じ込め|(?:ない|した|せる)よ。/;

/** Blocks show what the program prints; its own words are another matter. */
const prose = (text: string) => text.replace(/^(`{3,})[\s\S]*?^\1$/gm, "");

test.each(PAGES)("%s is written in plain words", (page) => {
  const found = prose(read(page))
    .split("\n")
    .filter((line) => PUZZLING.test(line) || PUZZLING_JA.test(line));
  expect(found).toEqual([]);
});

test.each(PAGES.filter((page) => /^docs\/ja\/|\.ja\.md$/.test(page)))(
  "%s says where a link leads to an English page",
  (page) => {
    const links = [...read(page).matchAll(/(\]\((?!https?:)([\w./-]+\.md)(?:#[^)]*)?\))(（英語）)?/g)];
    const unmarked = links.filter(([, , path = "", mark]) => {
      const target = join(dirname(page), path);
      return target !== "README.md" && !target.startsWith("docs/ja/") && mark === undefined;
    });
    expect(unmarked.map(([link]) => link)).toEqual([]);
  },
);

const ARCHITECTURE = ["docs/architecture.md", "docs/ja/architecture.md"];

test.each(ARCHITECTURE)("every file that %s names is there", (page) => {
  const sources = [...files("src/**/*"), ...files("scripts/*"), ...files("test/contracts/*")];
  const named = [...read(page).matchAll(/`([\w./-]+\.(?:ts|pl|sh))`/g)].map(([, path]) => path ?? "");
  expect(named.length).toBeGreaterThan(40);
  const missing = named.filter((path) => !sources.some((source) => `/${source}`.endsWith(`/${path}`)));
  expect(missing).toEqual([]);
});

test.each(ARCHITECTURE)("%s lists the columns as the import check orders them", (page) => {
  const check = /const COLUMNS = \[([\s\S]*?)\]/.exec(read("scripts/check-imports.ts"))?.[1] ?? "";
  const columns = [...check.matchAll(/"(\w+)"/g)].map(([, name]) => name);
  expect(read(page)).toContain(`\n> ${columns.join(" · ")}\n`);
});
