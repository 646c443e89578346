import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkHouse, describeHouse, measureHouse, warnOfSize } from "../../scripts/check-house.ts";
import { makeTestFolder } from "../left-behind.ts";

let folder: string;
beforeEach(() => {
  folder = makeTestFolder("house");
});

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

test("a source folder over its limit, a side entrance and an unused door are named; a door, a port and the wiring are not", () => {
  write("domain/patch/door.ts", "export const a = 1; // one\n\n");
  write("domain/patch/inner.ts", "export const b = 1;\nexport const c = 2;\n");
  write("application/ports/patch.ts", "export type P = 1;\n");
  write(
    "application/jobs/uses.ts",
    'import { a } from "../../domain/patch/door.ts";\nimport { b } from "../../domain/patch/inner.ts";\nimport type { P } from "../ports/patch.ts";\nexport const d: P = (a + b) as P;\n',
  );
  write("wiring/all.ts", 'import { c } from "../domain/patch/inner.ts";\nexport const e = c;\n');
  const house = {
    most: { lines: 11, code: 5 },
    doors: { patch: ["domain/patch/door.ts", "domain/patch/gone.ts"], jobs: [], wiring: [] },
  };
  const measured = measureHouse(folder);
  expect(checkHouse(house, measured)).toEqual([
    "src: 6 lines of code, the limit is 5",
    "domain/patch/inner.ts: is imported from outside patch and is not one of its doors",
    "domain/patch/gone.ts: is a door of patch that no other column uses",
  ]);
  expect(describeHouse(house, measured)).toContain("src              11 of 11, code 6 of 5");
  expect(warnOfSize(house, measured)).toHaveLength(2);
  expect(warnOfSize({ ...house, most: { lines: 12, code: 7 } }, measured)).toEqual([]);
});

test("every decision is in the index, under its own title", async () => {
  const decisions = join(import.meta.dir, "../../docs/decisions");
  const index = await Bun.file(join(decisions, "README.md")).text();
  const pages = readdirSync(decisions).filter((name) => /^\d{3}-/.test(name));
  expect(pages.length).toBeGreaterThan(25);
  for (const page of pages) {
    const title =
      (await Bun.file(join(decisions, page)).text()).split("\n")[0]?.replace(/^# \d{3} · /, "") ?? "";
    expect(index).toContain(`| [${page.slice(0, 3)}](${page}) | ${title} |`);
  }
});
