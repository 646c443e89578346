import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toResult } from "../../../src/application/history/compare.ts";
import type { PlayRecord } from "../../../src/application/ports/history.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { openMessages } from "../../infrastructure/store/open-messages.ts";
import { createPages } from "./pages-kit.ts";

const play = (contestant: string, id: string, solved: boolean): PlayRecord => ({
  contestant,
  case: id,
  repeat: 0,
  at: "2026-11-15T00:00:00.000Z",
  solved,
  done: true,
  checked: true,
  requests: 2,
  tokens: 1000,
  usd: 0.02,
  seconds: 30,
  diff: `+<script>${contestant}</script>\n`,
  failure: null,
});

test("the page shows shares with intervals, earlier comparisons, and the differences side by side", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-compare-page-"));
  const db = openSqlite(join(folder, "store.db"));
  const { store } = await openMessages({ db, now: () => new Date() });
  const contestants = [{ name: "coder1" }, { name: "coder3" }];
  const plays = [
    play("coder1", "commit:a", false),
    play("coder3", "commit:a", true),
    play("coder1", "commit:b", true),
    play("coder3", "commit:b", true),
  ];
  const results = ["2026-11-bbbb", "2026-10-aaaa"].map((run) =>
    toResult(run, "finished", plays, { contestants }),
  );
  const comparisons = { list: (limit: number) => results.slice(0, limit) };
  const { ask } = await createPages(db, store, async () => ({ status: "duplicate" }) as never, {
    comparisons,
  });
  const page = await (await ask("/compare")).text();
  expect(page).toContain("2 cases cannot tell coder1 and coder3 apart.");
  expect(page).toContain("coder1: 50 % (9 % – 91 %)");
  expect(page).toContain("2026-10-aaaa");
  expect(page).toContain("✗ coder1  ✓ coder3");
  expect(page).toContain("&lt;script&gt;coder1");
  expect(page).not.toContain("<script>coder1");
  const { ask: none } = await createPages(db, store, async () => ({ status: "duplicate" }) as never, {});
  expect(await (await none("/compare")).text()).toContain("Nothing compared yet");
  await db.destroy();
  rmSync(folder, { recursive: true });
});
