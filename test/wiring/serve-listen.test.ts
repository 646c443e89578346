import { expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openChat } from "../../src/wiring/chat.ts";
import { diagnose } from "../../src/wiring/diagnose.ts";
import { openFleetControl } from "../../src/wiring/fleet-control.ts";
import { openJobIndex } from "../../src/wiring/job-index.ts";
import { openServe } from "../../src/wiring/serve.ts";
import { openSolver } from "../../src/wiring/solve.ts";
import { openStoreData } from "../../src/wiring/store-data.ts";
import { openWorkspace } from "../../src/wiring/workspace.ts";

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

test("what could not start does not go on listening", async () => {
  const folder = mkdtempSync(join(tmpdir(), "picoclaw-listen-"));
  const [home, cwd] = [join(folder, "home"), join(folder, "ws")];
  mkdirSync(cwd);
  const opened = await openServe({ HOME: folder, PICOCLAW_HOME: home }, { cwd, demo: false });
  if (!opened.ok) throw new Error(opened.message ?? "not opened");
  const beside = new DatabaseSync(join(home, "picoclaw.db"));
  beside.exec(
    "create trigger broken before insert on work_owners begin select raise(abort, 'no beats today'); end",
  );
  beside.close();
  const port = await freePort();
  const listening = opened.listen({ host: "127.0.0.1", port, log: () => {} });
  expect(String(await listening.catch((error: unknown) => error))).toContain("no beats today");
  const answer = await fetch(`http://127.0.0.1:${port}/healthz`).catch(() => null);
  expect(answer).toBeNull();
  await opened.close();
  rmSync(folder, { recursive: true, force: true });
});

test.each([
  ["deleted", (file: string) => rmSync(file)],
  ["emptied", (file: string) => truncateSync(file)],
  [
    "replaced",
    (file: string) => {
      copyFileSync(file, `${file}.copy`);
      renameSync(`${file}.copy`, file);
    },
  ],
])(
  "beside a server whose database was %s nothing is stored, and no new database is made",
  async (_, lose) => {
    const folder = mkdtempSync(join(tmpdir(), "picoclaw-listen-"));
    const [home, cwd] = [join(folder, "home"), join(folder, "ws")];
    mkdirSync(cwd);
    const env = { HOME: folder, PICOCLAW_HOME: home };
    const opened = await openServe(env, { cwd, demo: false });
    if (!opened.ok) throw new Error(opened.message ?? "not opened");
    const serving = await opened.listen({ host: "127.0.0.1", port: 0, log: () => {} });
    const beside = await openServe(env, { cwd, demo: false });
    if (!beside.ok) throw new Error(beside.message ?? "not opened");
    await beside.close();
    const file = join(home, "picoclaw.db");
    lose(file);
    const stood = existsSync(file);
    const size = stood ? statSync(file).size : null;
    const openers = [
      openServe(env, { cwd, demo: false }),
      openChat(env, { cwd }),
      openSolver(env, { cwd }),
      openFleetControl(env, { cwd }),
      openJobIndex(env, { cwd }),
      openStoreData(env, { cwd }),
    ];
    for (const refused of await Promise.all(openers))
      expect(refused).toMatchObject({
        ok: false,
        exitCode: 3,
        message: expect.stringMatching(
          /picoclaw\.db was deleted, replaced, emptied or truncated[^\n]+\nStop the server, restore/,
        ),
      });
    const workspace = await openWorkspace(env, { cwd });
    if (!workspace.ok) throw new Error("not opened");
    expect(
      (await diagnose(env, workspace, { repair: false })).filter(({ name }) => name === "store"),
    ).toEqual([
      {
        name: "store",
        ok: false,
        text: expect.stringContaining(file),
        remedy: expect.stringContaining("Stop the server"),
      },
    ]);
    expect([existsSync(file), stood ? statSync(file).size : null]).toEqual([stood, size]);
    await serving.stop();
    await opened.close();
    const alone = await openServe(env, { cwd, demo: false });
    expect(alone.ok).toBe(true);
    if (alone.ok) await alone.close();
    rmSync(folder, { recursive: true, force: true });
  },
);
