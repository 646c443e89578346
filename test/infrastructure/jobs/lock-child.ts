import { withFolderLocks } from "../../../src/infrastructure/platform/folder-lock.ts";

/** `lock-child.ts FOLDER` takes the lock of a folder as a job does, says its number, and keeps it. */
const [folder = ""] = process.argv.slice(2);
await withFolderLocks([folder], { timeoutMs: 20_000 }, () => {
  process.stdout.write(`${process.pid}\n`);
  return new Promise(() => setInterval(() => {}, 60_000));
});
