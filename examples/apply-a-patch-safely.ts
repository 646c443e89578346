/** A patch is carried out as a whole or not at all, and taken back exactly: bun apply-a-patch-safely.ts FOLDER */
import { executeWorkerPatch, formatExecutionResults, undoJob, WorkerError } from "picoclaw";

const workspace = process.argv[2] ?? process.cwd();

/** Any of the five formats; this is Markdown as models write it. */
const patch = (command: string) => ["```txt:hello.txt", "Hello", "```", "```bash", command, "```"].join("\n");

// A command of it fails: with `atomic` nothing of it stays.
const failed = await executeWorkerPatch(patch("exit 3"), { workspace, atomic: true });
console.log(`${failed.status}: ${failed.changes.length} changes`);

const applied = await executeWorkerPatch(patch("wc -c < hello.txt"), { workspace, atomic: true });
console.log(formatExecutionResults(applied.results, "en").replace(/ \(\d+ms\)/g, ""));
for (const { kind, path } of applied.changes) console.log(`${kind} ${path}`);

const undone = await undoJob(applied.job_id, { workspace });
console.log(`undo: ${undone.status}`);

// What is no patch throws before anything runs.
try {
  await executeWorkerPatch("please make it nicer", { workspace });
} catch (error) {
  if (!(error instanceof WorkerError)) throw error;
  console.log(`refused: ${error.code}`);
}
