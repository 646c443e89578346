import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BackgroundProcess } from "../../../src/application/ports/sandbox-processes.ts";
import { toRunningProcesses } from "../../../src/application/sandbox/process-report.ts";
import { openSqlite } from "../../../src/infrastructure/store/open-store.ts";
import { openMessages } from "../../infrastructure/store/open-messages.ts";
import { createPages } from "./pages-kit.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "picoclaw-processes-page-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const at = "2026-11-15T00:00:00.000Z";
const web: BackgroundProcess = {
  startedBy: "user",
  name: "web",
  id: "proc_1_0a0b0c0d",
  command: "npm run dev <b>",
  root: "/ws",
  startedAt: at,
  state: { kind: "running" },
  ports: [5173],
  port: null,
  endsWithProgram: true,
  restartsOnLanding: false,
  over: null,
  runs: 1,
  confinement: "confined",
  plantedGit: [],
  plantedHome: [],
  traffic: { reached: [], refused: [] },
};
const ended: BackgroundProcess = {
  ...web,
  id: "proc_1_ffffffff",
  state: { kind: "ended", at, why: "exited", exitCode: 1, signal: null },
};

test("the console lists the background processes that run, each with its address and a way to stop it", async () => {
  const db = openSqlite(join(folder, "store.db"));
  const { store } = await openMessages({ db, now: () => new Date() });
  const stopped: string[] = [];
  const pages = await createPages(db, store, async () => ({ status: "duplicate" }) as never, {}, undefined, {
    running: async () => toRunningProcesses([web, ended], new Date("2026-11-15T00:01:00.000Z")),
    stopProcess: async (_, id) => {
      stopped.push(id);
      return { status: "stopped", process: web };
    },
  });
  const page = await (await pages.ask("/jobs")).text();
  expect(page).toContain("npm run dev &lt;b&gt;");
  expect(page).toContain("process web");
  expect(page).toContain("http://127.0.0.1:5173/");
  expect(page).not.toContain("proc_1_ffffffff");
  const after = await pages.press("/running/stop", { id: web.id });
  expect(stopped).toEqual([web.id]);
  expect(after).toContain("Stopped: web");
});
