/** Other people in the workspace, each a process of its own: `race-actors.ts ROLE ARGS…`. Prints `ready` first. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { locateStorage } from "../../src/infrastructure/platform/workspace-storage.ts";
import { landsAll } from "../contracts/lands-all.ts";
import { newJobId, openTransactions, text } from "../contracts/transaction-bench.ts";

const [role = "", folder = "", ...rest] = process.argv.slice(2);
const workspace = join(folder, "ws");

const roles: Record<string, () => Promise<void> | void> = {
  /** Turns a folder into a symlink to the outside and back, as fast as it can. */
  flip() {
    const [path = "", outside = ""] = rest;
    const at = join(workspace, path);
    for (;;) {
      try {
        renameSync(at, `${at}.real`);
        symlinkSync(outside, at);
        rmSync(at);
        renameSync(`${at}.real`, at);
      } catch {
        // A job recreated the folder in the instant without one: that one is removed, the real one is restored.
        rmSync(at, { recursive: true, force: true });
        if (existsSync(`${at}.real`)) renameSync(`${at}.real`, at);
        else mkdirSync(at);
      }
    }
  },
  /** Saves a numbered text again and again, half of the time by rename, and logs each save that is done. */
  save() {
    const [path = "", log = "", count = "0"] = rest;
    for (let i = 1; i <= Number(count); i++) {
      const at = join(workspace, path);
      if (i % 2 === 0) {
        writeFileSync(`${at}.tmp`, `save ${i}\n`);
        renameSync(`${at}.tmp`, at);
      } else writeFileSync(at, `save ${i}\n`);
      appendFileSync(log, `save ${i}\n`);
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1);
    }
  },
  /** Applies jobs that each append a line to one file and make one of their own. */
  async jobs() {
    const [who = "", count = "0"] = rest;
    const home = join(folder, "home");
    const transactions = openTransactions(locateStorage(workspace, home, workspace), home);
    for (let i = 0; i < Number(count); i++) {
      const jobId = newJobId();
      const begun = await transactions.begin({ startedBy: "user", jobId, kind: "direct" });
      if (!begun.ok) throw new Error(begun.refusal.message);
      const { view } = begun.transaction;
      const before = Buffer.from(view.read("shared.txt")).toString();
      view.write("shared.txt", text(`${before}${who}.${i}\n`));
      view.write(`own/${who}.${i}.txt`, text(`${who}.${i}\n`));
      await begun.transaction.seal(landsAll);
      const outcome = await transactions.commit(jobId);
      writeSync(1, `${outcome.status} ${who}.${i} ${jobId}\n`);
    }
  },
};

mkdirSync(folder, { recursive: true });
writeSync(1, "ready\n");
await roles[role]?.();
