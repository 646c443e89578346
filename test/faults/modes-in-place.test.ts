/** A job that changes nothing but modes: the files stay the same inodes, and undo, conflicts and repair hold as ever. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, linkSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { createBench, type StagingKind, type TransactionBench } from "../contracts/transaction-bench.ts";
import { requirePart } from "../require.ts";
import { buildChild } from "./build-child.ts";

const CHILD = await buildChild(join(import.meta.dir, "crash-child.ts"));

let bench: TransactionBench;
afterEach(() => bench.remove());

const kinds: StagingKind[] =
  process.platform === "linux" && requirePart("bwrap") ? ["copy", "overlay"] : ["copy"];
const paths = ["a.txt", "d/b.txt", "d/c.txt"];
const modes = () => paths.map((path) => statSync(bench.at(path)).mode & 0o777);
const inodes = () => paths.map((path) => statSync(bench.at(path)).ino);

async function stage(line: string, kind: StagingKind): Promise<string> {
  return bench.stage(async (_, { processes, directory }) => {
    const cwd = directory as string;
    const env = { PATH: process.env.PATH ?? "" };
    const common = { env, timeoutMs: 120_000, outputLimitBytes: 1000, jobMarker: "modes" };
    if (processes === undefined) spawnSync("sh", ["-c", line], { cwd });
    else await processes.runProcess({ argv: ["sh", "-c", line], cwd, ...common });
  }, kind);
}

describe.each(kinds)("modes changed by a job (%s)", (kind) => {
  beforeEach(() => {
    bench = createBench(kind);
    for (const path of paths) {
      bench.save(path, `${path}\n`);
      chmodSync(bench.at(path), 0o644);
    }
  });

  test("are changed in place, undone and redone; no slot is needed", async () => {
    const [before, files] = [bench.tree(), inodes()];
    const jobId = await stage("chmod 400 a.txt; chmod 600 d/*", kind);
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    expect([modes(), inodes()]).toEqual([[0o400, 0o600, 0o600], files]);
    expect(readdirSync(join(bench.storage.folder, "jobs", jobId, "slots"))).toEqual([]);
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    expect(bench.tree()).toEqual(before);
    expect((await bench.transactions.redo(jobId, { force: false })).status).toBe("done");
    expect([modes(), inodes()]).toEqual([[0o400, 0o600, 0o600], files]);
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
  });

  test("conflict with what the user did since, before the commit and before the undo", async () => {
    const jobId = await stage("chmod 600 a.txt d/b.txt", kind);
    chmodSync(bench.at("d/b.txt"), 0o640);
    const changed = { status: "conflict", conflicts: [{ path: "d/b.txt", reason: "changed" }] };
    expect(await bench.transactions.commit(jobId)).toEqual(changed as never);
    expect(modes()).toEqual([0o644, 0o640, 0o644]);
    chmodSync(bench.at("d/b.txt"), 0o644);
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    bench.save("d/b.txt", "mine, and longer\n");
    expect(await bench.transactions.undo(jobId, { force: false })).toEqual(changed as never);
    expect(modes()).toEqual([0o600, 0o600, 0o644]);
    expect((await bench.transactions.undo(jobId, { force: true })).status).toBe("done");
    expect([modes(), bench.read("d/b.txt")]).toEqual([[0o644, 0o644, 0o644], "mine, and longer\n"]);
  });

  test("do not reach another name of the same file", async () => {
    linkSync(bench.at("a.txt"), join(bench.folder, "other-name"));
    const jobId = await stage("chmod 600 a.txt", kind);
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    expect(modes()[0]).toBe(0o600);
    expect(statSync(join(bench.folder, "other-name")).mode & 0o777).toBe(0o644);
  });

  test("conflict with another name that the file got since: it would get the mode too", async () => {
    const jobId = await stage("chmod 600 a.txt d/b.txt", kind);
    linkSync(bench.at("a.txt"), join(bench.folder, "other-name"));
    const changed = { status: "conflict", conflicts: [{ path: "a.txt", reason: "changed" }] };
    expect(await bench.transactions.commit(jobId)).toEqual(changed as never);
    expect(modes()).toEqual([0o644, 0o644, 0o644]);
  });

  test("do not hide other bytes of the same size and time", async () => {
    const before = bench.tree();
    const change =
      "printf 'A.TXT\\n' >.new && touch -r a.txt .new && cat .new >a.txt && touch -r .new a.txt && rm .new";
    const jobId = await stage(`${change} && chmod 600 a.txt`, kind);
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    expect([bench.read("a.txt"), modes()[0]]).toEqual(["A.TXT\n", 0o600]);
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
    expect(bench.tree()).toEqual(before);
  });

  test(
    "are finished by a repair, at any point where the commit or the undo was interrupted",
    async () => {
      const run = (action: string, jobId: string, point: number) =>
        spawnSync(process.execPath, ["--no-env-file", CHILD, bench.folder, action, jobId, String(point)], {
          encoding: "utf8",
        }).stdout.trim();
      const jobId = await stage("chmod 600 a.txt d/b.txt; echo new >d/c.txt", kind);
      for (let point = 1; ; point++) {
        const direction = point % 2 === 1 ? "commit" : "undo";
        const action = direction === "commit" && point > 1 ? "redo" : direction;
        const reached = run(action, jobId, point).split("\n");
        const intent = existsSync(join(bench.storage.folder, "intent.json"));
        if (intent) expect((await bench.transactions.repair())?.outcome).toBe("finished");
        else if (reached.at(-1) === "checked")
          expect((await bench.transactions[action as "undo"](jobId, { force: false })).status).toBe("done");
        const applied = direction === "commit";
        expect([modes(), bench.read("d/c.txt")]).toEqual(
          applied ? [[0o600, 0o600, 0o644], "new\n"] : [[0o644, 0o644, 0o644], "d/c.txt\n"],
        );
        if (reached.length < point) break;
      }
    },
    { timeout: 280_000 },
  );
});
