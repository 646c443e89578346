/** A change lands only if the project's tests stay green: bun a-draft-judged-by-tests.ts FOLDER */
import { createToolContext } from "picoclaw";

const { workspace } = await createToolContext({ workspace: process.argv[2] ?? process.cwd() });

/** Tries a patch in a draft of its own; the folder is untouched until the last line of it. */
async function tryPatch(patch: string, test: string): Promise<string> {
  const opened = await workspace.openDraft({
    source: "example",
    startedBy: "user",
    checked: true,
    signal: AbortSignal.timeout(600_000),
  });
  if (!opened.ok) return `no draft: ${opened.refusal.message}`;
  const { draft } = opened;
  const ran = await draft.run({ attempt: 1, work: { patch } });
  if (ran.about !== "attempt" || ran.results.some(({ success }) => !success)) {
    await draft.discard("the patch failed");
    return "discarded: the patch failed";
  }
  // In a throw-away view, confined and without network.
  const checked = await draft.check({ commands: [test], over: "draft", attempt: 1, timeoutSeconds: 300 });
  if (!checked.ok) {
    await draft.discard("not checked");
    return `discarded: ${checked.message}`;
  }
  const [run] = checked.runs;
  if (run?.exitCode !== 0) {
    await draft.discard("red");
    return `discarded: ${run?.output.trim()}`;
  }
  const landed = await draft.commit();
  return landed.success ? `landed as ${landed.jobId}` : landed.status;
}

const write = (text: string) => ["```txt:answer.txt", text, "```"].join("\n");
const test = "grep -qx 42 answer.txt || { echo 'the answer is wrong'; exit 1; }";
console.log(await tryPatch(write("41"), test));
console.log(await tryPatch(write("42"), test));
