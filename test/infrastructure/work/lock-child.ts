import { withFolderLocks } from "../../../src/infrastructure/work/transaction/lock.ts";

/** Takes the lock of a folder, says so, and keeps it. */
await withFolderLocks([process.argv[2] as string], { timeoutMs: 20_000 }, () => {
  process.stdout.write("held\n");
  return new Promise(() => setInterval(() => {}, 60_000));
});
