import { afterEach, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createJobArchive } from "../../src/infrastructure/engine/job-archive.ts";
import { removeTree } from "../../src/infrastructure/platform/remove-tree.ts";
import { locateStorage } from "../../src/infrastructure/platform/workspace-storage.ts";
import { landsAll } from "../contracts/lands-all.ts";
import { createBench, newJobId, openTransactions, text } from "../contracts/transaction-bench.ts";
import { requirePart } from "../require.ts";
import { git, sh } from "./fidelity-workspace.ts";

const folders: string[] = [];
const made = (folder: string) => {
  folders.push(folder);
  return folder;
};
afterEach(() => {
  for (const folder of folders.splice(0)) removeTree(folder);
});
const newFolder = (under = tmpdir()) => made(realpathSync(mkdtempSync(join(under, "picoclaw-storage-"))));
const otherDevice = existsSync("/dev/shm") && statSync("/dev/shm").dev !== statSync(tmpdir()).dev;

describe.if(otherDevice)("where PicoClaw's home is on another file system", () => {
  test("jobs are kept beside the workspace, and a later process finds them there", async () => {
    const home = join(newFolder("/dev/shm"), "home");
    const folder = newFolder();
    const bench = createBench("copy", { folder, home });
    expect(bench.storage.folder.startsWith(`${folder}/.ws-`)).toBe(true);
    bench.save("a.txt", "one\n");
    const jobId = await bench.apply((view) => view.write("a.txt", text("two\n")));
    const again = createBench("copy", { folder, home });
    expect(again.storage).toEqual(bench.storage);
    expect((await again.transactions.undo(jobId, { force: false })).status).toBe("done");
    expect(bench.read("a.txt")).toBe("one\n");
  });

  /** Root writes everywhere; what it meets in the root of a mount is in test/root. */
  test.if(process.getuid?.() !== 0)(
    "and the folder around the workspace cannot be written, jobs are kept inside, unseen by job and git",
    async () => {
      const home = join(newFolder("/dev/shm"), "home");
      const folder = newFolder();
      mkdirSync(join(folder, "ws"));
      git(join(folder, "ws"), "init", "-q");
      chmodSync(folder, 0o555);
      const bench = createBench("copy", { folder, home });
      chmodSync(folder, 0o755);
      const inside = bench.storage.inside ?? "";
      expect(inside).toMatch(/^\.picoclaw-[0-9a-f]{16}$/);
      bench.save("a.txt", "one\n");
      const jobId = await bench.apply((_, { directory }) => {
        expect(readdirSync(directory as string).sort()).toEqual([".git", "a.txt"]);
        sh(directory as string, `echo two >a.txt; mkdir ${inside}; echo mine >${inside}/intent.json`);
      });
      expect(git(bench.workspace, "status", "--short")).toBe("?? a.txt\n");
      expect(existsSync(bench.at(`${inside}/intent.json`))).toBe(false);
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
      expect(bench.read("a.txt")).toBe("one\n");
    },
  );
});

describe.if(requirePart("git"))("a home inside the workspace", () => {
  test("is not part of a view, at any depth, and git does not see the jobs", async () => {
    const folder = newFolder();
    const home = join(folder, "ws/users/me/.picoclaw");
    mkdirSync(join(folder, "ws"));
    git(join(folder, "ws"), "init", "-q");
    const bench = createBench("copy", { folder, home });
    bench.save("users/me/notes.txt", "one\n");
    chmodSync(bench.at("users/me"), 0o750);
    const jobId = await bench.apply((_, { directory }) => {
      expect(readdirSync(join(directory as string, "users/me"))).toEqual(["notes.txt"]);
      expect(statSync(join(directory as string, "users/me")).mode & 0o777).toBe(0o750);
      sh(directory as string, "echo two >users/me/notes.txt");
    });
    expect(git(bench.workspace, "status", "--short", "-uall")).toBe("?? users/me/notes.txt\n");
    expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
  });
});

test("a workspace that does not exist is not made by looking for its storage", () => {
  const folder = newFolder();
  locateStorage(join(folder, "missing/ws"), "/proc/no-home", join(folder, "missing/ws"));
  expect(readdirSync(folder)).toEqual([]);
});

describe("what a copy cannot show", () => {
  test("is not lost: a name that is not text is removed with its folder, and stays if a job removes it alone", async () => {
    const bench = createBench("copy", { folder: newFolder() });
    bench.save("d/kept.txt", "kept\n");
    const odd = [Buffer.from(bench.at("d/odd-\xff"), "latin1"), Buffer.from(bench.at("odd-\xfe"), "latin1")];
    for (const path of odd) writeFileSync(path, "odd\n");
    const before = bench.tree();
    for (const script of ["rm -rf d", "rm -rf d; echo file >d"]) {
      const jobId = await bench.apply((_, { directory }) => void sh(directory as string, script));
      expect(readFileSync(odd[1] as Buffer, "utf8")).toBe("odd\n");
      expect((await bench.transactions.undo(jobId, { force: false })).status).toBe("done");
      expect(bench.tree()).toEqual(before);
    }
    for (const script of ["mv d e", "rm -rf ./*"]) {
      const { transaction } = await bench.begin();
      sh(transaction.directory as string, script);
      const { noText } = await transaction.seal(() => ({ drop: [], rewrite: new Map() }));
      expect(noText).toEqual([script.startsWith("mv") ? "e/odd-\\xff" : "odd-\\xfe"]);
      await transaction.discard();
      expect(bench.tree()).toEqual(before);
    }
  });

  test("keeps a direct job from deleting or moving the folder around a name that is not text", async () => {
    const bench = createBench("direct", { folder: newFolder() });
    bench.save("d/kept.txt", "kept\n");
    writeFileSync(Buffer.from(bench.at("d/odd-\xff"), "latin1"), "odd\n");
    const { transaction } = await bench.begin();
    transaction.view.remove("d/kept.txt");
    expect(() => transaction.view.remove("d")).toThrow("not empty");
    expect(() => transaction.view.rename("d", "e")).toThrow("cannot be moved");
    await transaction.discard();
  });

  test.if(process.getuid?.() !== 0)(
    "is neither seen nor deleted by a job: what the user may not read",
    async () => {
      const bench = createBench("copy", { folder: newFolder() });
      bench.save("secret.txt", "secret\n");
      bench.save("shut/inner.txt", "inner\n");
      bench.save("open.txt", "open\n");
      chmodSync(bench.at("secret.txt"), 0);
      chmodSync(bench.at("shut"), 0);
      const { jobId, transaction } = await bench.begin();
      sh(transaction.directory as string, "ls -A; rm -rf ./*; echo made >made.txt");
      const sealed = await transaction.seal(landsAll);
      expect(sealed.notes.map(({ what, paths }) => [what, ...[...paths].sort()])).toEqual([
        ["hidden", "secret.txt", "shut"],
      ]);
      expect((await bench.transactions.commit(jobId)).status).toBe("done");
      expect(readdirSync(bench.workspace).sort()).toEqual(["made.txt", "secret.txt", "shut"]);
      chmodSync(bench.at("shut"), 0o700);
      expect(bench.read("shut/inner.txt")).toBe("inner\n");
    },
  );

  test("is what the user makes while the copy is made: the job does not claim it", async () => {
    const bench = createBench("copy", { folder: newFolder() });
    for (let i = 0; i < 400; i++) bench.save(`many/${i}.txt`, `${i}\n`);
    const writer = Bun.spawn(
      [
        "sh",
        "-c",
        'echo ready; i=0; while [ $i -lt 300 ]; do echo $i >"$0/many/mine-$i"; i=$((i+1)); done',
        bench.workspace,
      ],
      { stdout: "pipe" },
    );
    await writer.stdout.getReader().read();
    const { jobId, transaction } = await bench.begin();
    await writer.exited;
    transaction.view.write("job.txt", text("job\n"));
    const sealed = await transaction.seal(landsAll);
    expect(sealed.changes).toEqual([{ path: "job.txt", kind: "added" }]);
    expect((await bench.transactions.commit(jobId)).status).toBe("done");
    expect(readdirSync(bench.at("many")).length).toBe(700);
  });
});

describe("a job whose process died", () => {
  test("is swept when the next one begins; one that runs is not", async () => {
    const bench = createBench("copy", { folder: newFolder() });
    bench.save("a.txt", "one\n");
    const dead = newJobId();
    const script = `
      import { openTransactions } from ${JSON.stringify(join(import.meta.dir, "../contracts/transaction-bench.ts"))};
      import { locateStorage } from ${JSON.stringify(join(import.meta.dir, "../../src/infrastructure/platform/workspace-storage.ts"))};
      const [folder, jobId] = process.argv.slice(-2);
      const home = folder + "/home", ws = folder + "/ws";
      const begun = await openTransactions(locateStorage(ws, home, ws), home).begin({ jobId, kind: "copy" });
      console.log(begun.ok);
      process.kill(process.pid, "SIGKILL");`;
    spawnSync(process.execPath, ["--no-env-file", "-e", script, bench.folder, dead]);
    const jobs = join(bench.storage.folder, "jobs");
    expect(existsSync(join(jobs, dead, "view"))).toBe(true);
    const { jobId: alive, transaction } = await bench.begin();
    expect(existsSync(join(jobs, dead))).toBe(false);
    const other = openTransactions(bench.storage, join(bench.folder, "home"));
    const begun = await other.begin({ startedBy: "user", jobId: newJobId(), kind: "direct" });
    transaction.view.write("a.txt", text("two\n"));
    await transaction.seal(landsAll);
    expect((await bench.transactions.commit(alive)).status).toBe("done");
    expect(readdirSync(jobs)).toContain(alive);
    if (begun.ok) await begun.transaction.discard();
  });

  test("with its machine, before the disk had what it said of itself, is swept as well", async () => {
    const bench = createBench("copy", { folder: newFolder() });
    bench.save("a.txt", "one\n");
    const dead = newJobId();
    const at = join(bench.storage.folder, "jobs", dead);
    mkdirSync(join(at, "slots"), { recursive: true });
    mkdirSync(join(bench.storage.folder, "running"), { recursive: true });
    for (const empty of ["state.json", "job.json"]) writeFileSync(join(at, empty), "");
    writeFileSync(join(bench.storage.folder, "running", dead), "");
    expect(createJobArchive(bench.storage.folder, () => new Date()).list()).toEqual([]);
    await bench.apply((view) => view.write("a.txt", text("two\n")));
    expect(existsSync(at)).toBe(false);
  });
});
