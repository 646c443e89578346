/** A message is begun again: what its earlier attempt left cannot be taken for done, and cannot land any more. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { settleEarlier } from "../../../src/application/serve/answer-messages.ts";
import { createBench } from "../jobs/worker-kit.ts";

const [MESSAGE, GROUP] = ["msg_1", "web:c#msg_1"];
const append = (target: string) => [{ type: "file_edit", action: "append", target, content: "x\n" }];

let bench: ReturnType<typeof createBench>;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

async function draftOf(text: string) {
  const workspace = await bench.open();
  const signal = new AbortController().signal;
  const opened = await workspace.openDraft({
    source: "test",
    startedBy: "user",
    groupId: GROUP,
    checked: false,
    signal,
  });
  if (!opened.ok) throw new Error(JSON.stringify(opened.refusal));
  await opened.draft.run({ attempt: 1, work: { patch: JSON.stringify(append(text)) } });
  return { workspace, draft: opened.draft };
}

describe("what an attempt that was cut off left", () => {
  test("stays when it landed, also when only the store knows of it, and nothing of other messages counts", async () => {
    const landed = await bench.run(append("a.txt"), { groupId: GROUP });
    const noted = await bench.run(append("b.txt"));
    await bench.run(append("c.txt"), { groupId: "web:c#msg_11" });
    const workspace = await bench.open();
    expect(await settleEarlier(workspace, MESSAGE, [noted.jobId])).toEqual([landed.jobId, noted.jobId]);
    expect(bench.read("a.txt")).toBe("x\n");
  });

  test("is dropped when it conflicted with another change", async () => {
    bench.write("a.txt", "1\n");
    const { workspace, draft } = await draftOf("a.txt");
    bench.write("a.txt", "2\n");
    await draft.commit();
    expect(workspace.archive.read(draft.id)).toMatchObject({ state: "staged", outcome: "conflict" });
    expect(await settleEarlier(workspace, MESSAGE, [])).toEqual([]);
    expect(workspace.archive.read(draft.id)).toMatchObject({ state: "discarded" });
    expect(bench.read("a.txt")).toBe("2\n");
  });

  test("cannot land when it still runs", async () => {
    bench.write("a.txt", "1\n");
    const { workspace, draft } = await draftOf("a.txt");
    expect(await settleEarlier(workspace, MESSAGE, [draft.id])).toEqual([]);
    await draft.commit().catch(() => {});
    expect(workspace.archive.read(draft.id)?.state).not.toBe("committed");
    expect(bench.read("a.txt")).toBe("1\n");
  });
});
