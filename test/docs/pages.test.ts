import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Glob } from "bun";
import { parse } from "yaml";
import { configSchema } from "../../src/config/schema/root.ts";
import { readTaskFile } from "../../src/config/task-file.ts";

const root = join(import.meta.dir, "..", "..");
const files = (pattern: string) => [...new Glob(pattern).scanSync({ cwd: root })].sort();
const read = (path: string) => readFileSync(join(root, path), "utf8");
const PAGES = [...files("docs/**/*.md"), "README.md", "README.ja.md", "CONTRIBUTING.md"];

/** GitHub makes a heading's anchor of its letters and digits in any script, its hyphens, and a hyphen for each space. */
function anchorsOf(page: string): Set<string> {
  const prose = read(page).replace(/^(`{3,})[\s\S]*?^\1$/gm, "");
  const found = new Set<string>();
  for (const [, heading = ""] of prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").toLowerCase();
    const anchor = words.replace(/[^\p{L}\p{M}\p{N}\p{Pc}\- ]/gu, "").replaceAll(" ", "-");
    let count = 0;
    while (found.has(count === 0 ? anchor : `${anchor}-${count}`)) count += 1;
    found.add(count === 0 ? anchor : `${anchor}-${count}`);
  }
  return found;
}

test.each(PAGES)("%s: links to a heading lead to one", (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([\w./-]*)#([^)\s]+)\)/g)];
  const broken = links.filter(([, path = "", anchor = ""]) => {
    const target = path === "" ? page : join(dirname(page), path);
    return !existsSync(join(root, target)) || (target.endsWith(".md") && !anchorsOf(target).has(anchor));
  });
  expect(broken.map(([link]) => link)).toEqual([]);
});

const yamlBlocks = files("docs/ja/*.md").flatMap((page) =>
  [...read(page).matchAll(/^ *```yaml\n([\s\S]*?)^ *```$/gm)].map(([, yaml = ""]) => ({ page, yaml })),
);

test("the configuration in the Japanese pages is valid, and so is the task file", () => {
  const configKeys = new Set(Object.keys(configSchema.parse({})));
  const configs = yamlBlocks.filter(({ yaml }) =>
    Object.keys(parse(yaml) as object).some((key) => configKeys.has(key)),
  );
  expect(configs.length).toBeGreaterThan(7);
  for (const { page, yaml } of configs)
    expect([page, configSchema.safeParse(parse(yaml)).error?.message]).toEqual([page, undefined]);
  const tasks = yamlBlocks.filter(({ yaml }) => yaml.startsWith("version: 1\n"));
  for (const { page, yaml } of tasks)
    expect(readTaskFile(yaml, page, { CODEX_API_KEY: "key" })).toMatchObject({ ok: true });
  expect(tasks).toHaveLength(1);
});
