import { beforeEach, expect, test } from "bun:test";
import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { checkHouse, describeHouse, measureHouse } from "../../scripts/check-house.ts";
import { makeTestFolder } from "../left-behind.ts";

let folder: string;
beforeEach(() => {
  folder = makeTestFolder("house");
});

const write = (path: string, text: string) => {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
};

test("a column over its budget, a side entrance and an unused door are named; a door, a port and the wiring are not", () => {
  write("domain/patch/door.ts", "export const a = 1;\n");
  write("domain/patch/inner.ts", "export const b = 1;\nexport const c = 2;\n");
  write("application/ports/patch.ts", "export type P = 1;\n");
  write(
    "application/jobs/uses.ts",
    'import { a } from "../../domain/patch/door.ts";\nimport { b } from "../../domain/patch/inner.ts";\nimport type { P } from "../ports/patch.ts";\nexport const d: P = (a + b) as P;\n',
  );
  write("wiring/all.ts", 'import { c } from "../domain/patch/inner.ts";\nexport const e = c;\n');
  const house = {
    patch: { lines: 2, doors: ["domain/patch/door.ts", "domain/patch/gone.ts"] },
    jobs: { lines: 9, doors: [] },
    wiring: { lines: 9, doors: [] },
  };
  const measured = measureHouse(folder);
  expect(checkHouse(house, measured)).toEqual([
    "patch: 4 lines, its budget is 2",
    "domain/patch/inner.ts: is imported from outside patch and is not one of its doors",
    "domain/patch/gone.ts: is a door of patch that no other column uses",
  ]);
  expect(describeHouse(house, measured)).toContain("patch             4 of 2");
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
