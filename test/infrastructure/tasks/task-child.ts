/** Runs one task with a shell as its worker, and says what the worker says; for a test that kills this process. */
import { createTaskBench } from "./task-kit.ts";

const bench = createTaskBench();
bench.write("a.txt", "one\n");
bench.git("add", ".");
bench.git("commit", "-qm", "first");
console.log(JSON.stringify({ folder: bench.folder }));
await bench.run({
  id: "killed1",
  prompts: ["echo changed > a.txt; rm -f b; echo ready; sleep 600"],
  onProgress: (progress) => {
    if (progress.kind === "text") console.log(progress.text);
  },
});
