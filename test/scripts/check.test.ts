import { expect, test } from "bun:test";
import { nearestTests } from "../../scripts/check.ts";

const imports = new Map<string, readonly string[]>([
  ["src/domain/patch/a.ts", []],
  ["src/application/jobs/b.ts", ["src/domain/patch/a.ts"]],
  ["src/application/jobs/c.ts", ["src/application/jobs/b.ts"]],
  ["test/domain/patch/a.test.ts", ["src/domain/patch/a.ts"]],
  ["test/application/jobs/b.test.ts", ["src/application/jobs/b.ts"]],
  ["test/application/jobs/c.test.ts", ["src/application/jobs/c.ts"]],
  ["test/e2e/whole.test.ts", ["src/domain/patch/a.ts"]],
]);

test("the tests of a changed file come first, then those one import further; far and slow ones are left out", () => {
  expect(nearestTests(["src/domain/patch/a.ts"], imports)).toEqual([
    "test/domain/patch/a.test.ts",
    "test/application/jobs/b.test.ts",
  ]);
});

test("a changed test runs itself, however slow its kind is", () => {
  expect(nearestTests(["test/e2e/whole.test.ts"], imports)).toEqual(["test/e2e/whole.test.ts"]);
});

test("nothing runs for a file that no test reaches", () => {
  expect(nearestTests(["README.md"], imports)).toEqual([]);
});
