import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { missingPiece } from "../../../src/domain/platform/machine-trouble.ts";

const folder = realpathSync(mkdtempSync(join(tmpdir(), "picoclaw-piece-")));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const errorOf = (path: string): Promise<unknown> =>
  import(path).then(
    () => null,
    (error: unknown) => error,
  );

test("what the runtime says of a module that is gone is understood, also as the cause of another error", async () => {
  const [first, late, never] = ["first.ts", "late.ts", "never.ts"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  writeFileSync(first, "export {};");
  writeFileSync(late, "export {};");
  expect(await errorOf(first)).toBeNull();
  rmSync(late);
  const gone = await errorOf(late);
  expect(missingPiece(gone)).toBe(late);
  expect(missingPiece(new Error("the job broke", { cause: gone }))).toBe(late);
  expect(missingPiece(await errorOf(never))).toBe(never);
});

test("a missing file of the user is not a piece of the program", () => {
  expect(missingPiece(new Error('ENOENT reading "/ws/a.txt"'))).toBeNull();
  expect(missingPiece("ENOENT")).toBeNull();
});
