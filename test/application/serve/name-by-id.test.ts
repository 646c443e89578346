/** Replies where several machines have jobs of the same numbers. */
import { expect, test } from "bun:test";
import { type ActionFacts, discardFacts } from "../../../src/application/jobs/action-report.ts";
import type { Reply } from "../../../src/application/ports/chat.ts";
import { nameById } from "../../../src/application/serve/answer-messages.ts";

const JOB = "job_1700000000_aaaaaaaa";

test("a reply names its jobs by their ids, in its words, its loop's undo and its buttons", () => {
  const workspace = { root: "/w", archive: { numbers: () => new Map([[JOB, 4]]) } };
  const facts: ActionFacts = discardFacts(workspace, JOB, { status: "done" });
  const loop = { kind: "loop", changes: [], outward: null, evictions: [], undo: "#4" } as const;
  const conflict = {
    ...facts,
    action: "undo",
    code: "conflict",
    status: "refused",
    together: [5, 4],
  } as const;
  const reply = {
    text: "",
    said: [
      { kind: "action", facts },
      { kind: "action", facts: conflict },
      loop,
      { kind: "text", text: "See #4." },
    ],
    ok: true,
    sessionId: "",
    jobs: [{ job_id: JOB, number: 4 }],
    actions: [
      { label: "together", message: "/undo #5 #4" },
      { label: "undo", message: `/undo ${JOB}` },
    ],
  } as unknown as Reply;
  const named = nameById(reply, "en");
  expect(named.text).toContain(`The preview ${JOB} was discarded.`);
  expect(named.text).toContain(`/undo ${JOB}`);
  // A model's own words stay as they are.
  expect(named.text.match(/#\d/g)).toEqual(["#4"]);
  expect(named.jobs).toEqual([{ job_id: JOB }] as unknown as Reply["jobs"]);
  expect(named.actions.map(({ label }) => label)).toEqual(["undo"]);
});
