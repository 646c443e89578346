import { createHolderRecords, withFolderLocks } from "../../../src/infrastructure/engine/folder-lock.ts";

/** `lock-child.ts FOLDER HOME` takes the lock of a folder as a job does, says its number, and keeps it. */
const [folder = "", home = ""] = process.argv.slice(2);
await withFolderLocks([folder], { timeoutMs: 20_000, holders: createHolderRecords(home) }, () => {
  process.stdout.write(`${process.pid}\n`);
  return new Promise(() => setInterval(() => {}, 60_000));
});
