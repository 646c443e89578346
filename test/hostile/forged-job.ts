import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** A forged swap that opens the folder `root` to all users. */
export function forge(storage: string, root: string): void {
  const job = join(storage, "jobs/job_1_aaaaaaaa");
  mkdirSync(join(job, "slots"), { recursive: true });
  const op = { n: 0, root: 0, path: "kept", a: null, b: null, area: "file" };
  const lines = [{ v: 1, roots: [root], stamp: "1" }, op];
  writeFileSync(join(job, "plan.ndjson"), `${lines.map((line) => JSON.stringify(line)).join("\n")}\n`);
  writeFileSync(join(job, "state.json"), JSON.stringify({ state: "staged", at: "", turn: 0 }));
  const doors = [{ root: 0, path: "", mode: 0o777 }];
  const intent = { job_id: "job_1_aaaaaaaa", direction: "commit", turn: 1, skip: [0], found: [], doors };
  writeFileSync(join(storage, "intent.json"), JSON.stringify(intent));
  chmodSync(storage, 0o777);
}
