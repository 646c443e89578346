import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const folder = mkdtempSync(join(tmpdir(), "picoclaw-at-once-"));
afterAll(() => rmSync(folder, { recursive: true }));

const STORE = join(import.meta.dir, "../../../src/infrastructure/store/open-store.ts");
/** Each opens the stores of all rounds in step with the others: a round begins when the clock says so. */
const OPEN = `
const { openSqlite } = await import(process.argv[1]);
const [, , folder, start, rounds] = process.argv;
for (let round = 0; round < Number(rounds); round++) {
  while (Date.now() < Number(start) + round * 20);
  await openSqlite(folder + "/" + round + ".db").destroy();
}`;

test("a new store that several processes open at the same moment is opened by all", async () => {
  const start = Date.now() + 1_500;
  const argv = [process.execPath, "--no-env-file", "-e", OPEN, STORE, folder, String(start), "40"];
  const children = [1, 2, 3].map(() => Bun.spawn(argv, { stdout: "ignore", stderr: "pipe" }));
  const ended = await Promise.all(
    children.map(async (child) => ({
      said: await new Response(child.stderr).text(),
      code: await child.exited,
    })),
  );
  expect(ended).toEqual(children.map(() => ({ said: "", code: 0 })));
});
