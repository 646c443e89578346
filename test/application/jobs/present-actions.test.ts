import { expect, test } from "bun:test";
import { presentActions } from "../../../src/application/jobs/action-report.ts";
import type { StoredJob } from "../../../src/application/ports/jobs.ts";

const LABELS = { undo: "Undo", redo: "Redo", apply: "Apply", diff: "Diff", discard: "Discard" };
const [FIRST, SECOND] = ["job_1_aaaaaaaa", "job_2_bbbbbbbb"];
const GROUP = "slack:C1#msg_1";

const job = (jobId: string, state: StoredJob["state"], more: Partial<StoredJob> = {}) =>
  ({
    jobId,
    groupId: GROUP,
    state,
    kind: "direct",
    changes: [{ path: "a", kind: "added" }],
    ...more,
  }) as StoredJob;

function buttons(
  jobs: readonly StoredJob[],
  stored: readonly string[],
  own: readonly string[] = [],
): string[] {
  const archive = {
    read: (id: string) => jobs.find(({ jobId }) => jobId === id) ?? null,
    list: () => [...jobs],
  };
  const reply = {
    actions: stored.map((message) => ({ label: "old", message })),
    jobs: own.map((job_id) => ({ job_id })),
  };
  return presentActions(archive, reply, LABELS).map(({ label, message }) => `${label}: ${message}`);
}

test("a job in effect offers Undo, an undone one Redo", () => {
  const stored = [`/undo ${FIRST}`, `/diff ${FIRST}`];
  expect(buttons([job(FIRST, "committed")], stored)).toEqual([
    `Undo: /undo ${FIRST}`,
    `Diff: /diff ${FIRST}`,
  ]);
  expect(buttons([job(FIRST, "undone")], stored)).toEqual([`Redo: /redo ${FIRST}`]);
  expect(buttons([job(FIRST, "committed")], [`/redo ${FIRST}`])[0]).toBe(`Undo: /undo ${FIRST}`);
});

test("a job whose undo was evicted, that ran in place, changed nothing or is unknown offers nothing", () => {
  const stored = [`/undo ${FIRST}`, `/diff ${FIRST}`];
  expect(buttons([job(FIRST, "evicted")], stored)).toEqual([]);
  expect(buttons([job(FIRST, "committed", { kind: "none" })], stored)).toEqual([]);
  expect(buttons([job(FIRST, "committed", { changes: [] })], stored)).toEqual([]);
  expect(buttons([], stored)).toEqual([]);
});

test("a preview offers to apply it, to see it and to discard it; applied since, it offers Undo", () => {
  const stored = [`/apply ${FIRST}`, `/diff ${FIRST}`, `/discard ${FIRST}`];
  expect(buttons([job(FIRST, "staged")], stored)).toEqual([
    `Apply: /apply ${FIRST}`,
    `Diff: /diff ${FIRST}`,
    `Discard: /discard ${FIRST}`,
  ]);
  expect(buttons([job(FIRST, "committed")], stored)[0]).toBe(`Undo: /undo ${FIRST}`);
  expect(buttons([job(FIRST, "discarded")], stored)).toEqual([]);
});

test("a group offers Undo, by its own name, while one of its jobs is in effect", () => {
  const stored = [`/undo ${GROUP}`];
  const both = (one: StoredJob["state"], two: StoredJob["state"]) =>
    buttons([job(FIRST, one), job(SECOND, two)], stored)[0];
  expect(both("committed", "committed")).toBe(`Undo: /undo ${GROUP}`);
  expect(both("undone", "committed")).toBe(`Undo: /undo ${GROUP}`);
  expect(both("undone", "undone")).toBe(`Redo: /redo ${GROUP}`);
});

test("a button of an older version, which named nothing, means the jobs of its own reply or is gone", () => {
  const jobs = [job(FIRST, "committed"), job(SECOND, "committed", { groupId: "another" })];
  expect(buttons(jobs, ["/undo"], [FIRST])[0]).toBe(`Undo: /undo ${FIRST}`);
  expect(buttons(jobs, ["/redo"])).toEqual([]);
});

test("buttons about other things stay as they are", () => {
  expect(buttons([], ["/remember", "/code3 go on"])).toEqual(["old: /remember", "old: /code3 go on"]);
});

test("a name that is not a job's leads to no folder", () => {
  const archive = { read: () => expect.unreachable(), list: () => [] };
  const reply = { actions: [{ label: "", message: "/undo job_../../etc" }], jobs: [] };
  expect(presentActions(archive, reply, LABELS)).toEqual([]);
});
