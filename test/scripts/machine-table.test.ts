import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { putRow, readRun } from "../../scripts/machine-table.ts";

const checks = [
  {
    name: "transaction",
    ok: true,
    text: "Transaction: copy (run in a copy of the workspace): no bubblewrap",
  },
  { name: "promise-confined", ok: false, text: "Commands are NOT confined" },
];
const LOG = [
  JSON.stringify({ checks }),
  "skipped: zsh — install zsh",
  "skipped: bwrap — install bubblewrap",
  "skipped: zsh — install zsh",
  "7 passed, 0 failed",
  "",
].join("\n");
const EMPTY = "# Page\n\n<!-- machines -->\n<!-- /machines -->\n\nEnd.\n";

test("a log says what the machine promises, what it lacks, and the count", () => {
  const run = { counts: "7 passed, 0 failed", place: "copy", confined: false, lacks: ["bwrap", "zsh"] };
  expect(readRun(LOG)).toEqual(run);
  expect(readRun("killed\n")).toEqual({ counts: "no count", place: "", confined: null, lacks: [] });
});

test("a machine's row takes its place among the others, and the second run replaces the first", () => {
  const run = readRun(LOG);
  const first = putRow(EMPTY, "en", "user", { ...run, place: "overlay", confined: true, lacks: [] });
  const both = putRow(
    putRow(first, "en", "root-bare", { ...run, counts: "1 passed, 1 failed" }),
    "en",
    "root-bare",
    run,
  );
  expect(both.split("\n")).toEqual([
    "# Page",
    "",
    "<!-- machines -->",
    "| machine | `npm test` | jobs run in | commands are confined | skipped for want of |",
    "|---|---|---|---|---|",
    "| root; Node, npm and git alone | 7 passed, 0 failed | a copy | no | bwrap, zsh |",
    "| an ordinary user; everything installed | 7 passed, 0 failed | an overlay | yes | – |",
    "<!-- /machines -->",
    "",
    "End.",
    "",
  ]);
});

test.each(["docs/install.md", "docs/ja/install.md"])(
  "%s has the table, and each row of it is green",
  (path) => {
    const page = readFileSync(join(import.meta.dir, "../..", path), "utf8");
    const table = /<!-- machines -->\n([\s\S]*?)<!-- \/machines -->/.exec(page)?.[1] ?? "";
    const rows = table.trimEnd().split("\n").slice(2);
    for (const row of rows) expect(row).toMatch(/\| \d+ passed, 0 failed \|/);
  },
);
