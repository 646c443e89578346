import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { measureFloors } from "../../scripts/coverage-floors.ts";

const root = mkdtempSync(join(tmpdir(), "picoclaw-floors-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

mkdirSync(join(root, "src/domain/sub"), { recursive: true });
writeFileSync(join(root, "src/domain/seen.ts"), "export const a = 1;\n");
writeFileSync(join(root, "src/domain/types.ts"), "export interface A { readonly b: string }\n");
/** Ten lines, of which `from` to `to` were hit. */
const lcov = (to: number, from = 1) => {
  const lines = Array.from({ length: 10 }, (_, i) => `DA:${i + 1},${i + 1 >= from && i + 1 <= to ? 3 : 0}`);
  return `TN:\nSF:src/domain/seen.ts\n${lines.join("\n")}\nend_of_record\n`;
};
const floor = [{ folder: "src/domain", percent: 90 }];

test("a floor is passed at its exact value, and files of types count nothing", () => {
  expect(measureFloors(root, lcov(9), floor)).toMatchObject([{ passed: true, reached: 90, neverLoaded: [] }]);
  expect(measureFloors(root, lcov(8), floor)).toMatchObject([{ passed: false, reached: 80 }]);
});

test("what either of two runs hit is hit", () => {
  expect(measureFloors(root, lcov(5) + lcov(9, 4), floor)).toMatchObject([
    { passed: true, hit: 9, found: 10 },
  ]);
});

test("a folder that is not there passes, a file that no test loads counts against the floor", () => {
  expect(measureFloors(root, "", [{ folder: "src/none", percent: 80 }])).toMatchObject([{ passed: true }]);
  writeFileSync(join(root, "src/domain/sub/unseen.ts"), "export function f() {\n  return 1;\n}\n");
  expect(measureFloors(root, lcov(10), floor)).toMatchObject([
    { passed: false, hit: 10, found: 13, neverLoaded: ["src/domain/sub/unseen.ts"] },
  ]);
});
