/**
 * Holds a draft open as a process of its own: `draft-child.ts FOLDER STEP KIND`. It goes to STEP, says "here", and waits
 * there to be killed.
 */
import { writeSync } from "node:fs";
import { join } from "node:path";
import { openWorkspace } from "../../src/wiring/workspace.ts";

const [folder = "", step = "", kind = ""] = process.argv.slice(2);
const opening = await openWorkspace(
  {
    PATH: process.env.PATH,
    HOME: join(folder, "user"),
    PICOCLAW_HOME: join(folder, "home"),
    PICOCLAW_WORKER_TRANSACTION: kind,
    PICOCLAW_WORKER_CONFINE: kind === "overlay" ? "on" : "off",
  },
  { cwd: join(folder, "ws") },
);
if (!opening.ok) throw new Error(JSON.stringify(opening.problems));
const opened = await opening.workspace.openDraft({
  source: "test",
  startedBy: "user",
  checked: step !== "edits",
  signal: new AbortController().signal,
});
if (!opened.ok) throw new Error(JSON.stringify(opened.refusal));
const { draft } = opened;
const here = () => void writeSync(1, "here\n");
const stay = () => new Promise(() => setInterval(() => {}, 1000));
const work = (commands: readonly object[]) => ({ patch: JSON.stringify(commands) });
const edits = [
  { type: "file_edit", action: "update", target: "a.txt", content: "draft\n" },
  { type: "file_edit", action: "delete", target: "missing.txt" },
];
const shell = (target: string) => ({ type: "shell_command", action: "run", target });
const onOutput = here;

if (step === "opened") here();
else if (step === "running")
  await draft.run({ attempt: 1, work: work([...edits, shell("echo x > b; echo go; sleep 60")]), onOutput });
else {
  await draft.run({
    attempt: 1,
    work: work(step === "edits" ? edits : [...edits, shell("rm -r lib; echo 1 > c")]),
  });
  if (step === "checking" || step === "baseline")
    await draft.check({
      commands: ["echo z > a.txt; echo z > z; echo go; sleep 60"],
      over: step === "checking" ? "draft" : "baseline",
      timeoutSeconds: 100,
      onOutput,
    });
  if (step === "again")
    await draft.run({ attempt: 2, work: work([shell("echo 2 > c; echo go; sleep 60")]), onOutput });
  here();
}
await stay();
