/** Previews of another machine that are applied or thrown away from a chat. */
import { expect, test } from "bun:test";
import { toActionOutcome } from "../../../src/adapters/web/job-view.ts";
import {
  createChatFarJobs,
  createFleetViewerJobs,
  type FleetViewerJobsDeps,
} from "../../../src/application/fleet/control.ts";
import type { ViewedJob } from "../../../src/application/fleet/viewer-jobs.ts";
import {
  type ActionFacts,
  orderFacts,
  stopFacts,
  wordAction,
} from "../../../src/application/jobs/action-report.ts";
import type { StoredJob } from "../../../src/application/ports/jobs.ts";
import type { Viewer, WhoSpeaks } from "../../../src/application/serve/access.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";

const JOB = "job_1700000000_aaaaaaaa";
const viewed: ViewedJob = {
  job: { jobId: JOB, number: 4 } as StoredJob,
  alive: false,
  machine: { id: "f", name: "attic", here: true },
};

function open(here: readonly string[] = []) {
  const asked: string[] = [];
  const ask = ({ userId, role }: Viewer, what: string) => void asked.push(`${userId} ${role} ${what}`);
  const far = createChatFarJobs({
    own: { has: (jobId) => here.includes(jobId) },
    all: {
      read: async (viewer) => (viewer.userId === "stranger" ? null : viewed),
      act: async (viewer, action, jobId, force = false) => {
        ask(viewer, `${action} ${force}`);
        return orderFacts(action, jobId, { code: "machine-gone", machine: "attic" });
      },
      differences: async () => null,
    },
  });
  const from = (channel: string, userId: string): WhoSpeaks => ({ channel, userId });
  return { far, from, asked };
}

test("an order has the rights that its asker has in a chat: the console's operator alone is one", async () => {
  const { far, from, asked } = open();
  await (await far(from("web", "operator"), JOB))?.act("undo", true);
  await (await far(from("slack", "operator"), JOB))?.act("redo");
  await (await far(from("web", "alice"), JOB))?.act("apply");
  expect(asked).toEqual([
    "operator operator undo true",
    "operator user redo false",
    "alice user apply false",
  ]);
  expect(await far(from("web", "stranger"), JOB)).toBeNull();
  expect(await open([JOB]).far(from("web", "alice"), JOB)).toBeNull();
  // Named by its number, a job of this machine is no more a far one.
  expect(await open([JOB]).far(from("web", "alice"), "#4")).toBeNull();
});

test("the numbers of another machine's jobs to undo together are offered nowhere but at its own terminal", () => {
  const words = messagesFor("en");
  const here: ActionFacts = {
    ...orderFacts("undo", JOB, { code: "unsettled", machine: "attic" }),
    code: "conflict",
    status: "refused",
    together: [5, 3],
  };
  const { machine: _, ...own } = here;
  expect(toActionOutcome(words, own).together).toEqual([5, 3]);
  expect(wordAction(words, own, "chat")).toContain("#5 #3");
  expect(toActionOutcome(words, here)).not.toHaveProperty("together");
  expect(toActionOutcome(words, here).text).toContain("attic");
  expect(wordAction(words, here, "chat")).not.toContain("#5");
});

test.each([
  [true, [`elsewhere ${JOB}`, `order stop ${JOB}`]],
  [false, [`elsewhere ${JOB}`, `stop ${JOB}`]],
])("a job that is stopped by its number, in another server of this machine: %p", async (elsewhere, calls) => {
  const asked: string[] = [];
  const stopped = (jobId: string) =>
    stopFacts({ root: "", archive: { numbers: () => new Map() } }, jobId, { status: "stopped" });
  const jobs = createFleetViewerJobs({
    own: {
      has: (jobId: string) => jobId === JOB,
      read: async () => viewed,
      act: async (_: Viewer, action: string, jobId: string) => {
        asked.push(`${action} ${jobId}`);
        return stopped(jobId);
      },
    },
    jobs: { home: async () => ({ machine: viewed.machine, alone: true }) },
    giver: {
      give: async ({ verb, jobId }: { verb: string; jobId: string }) => {
        asked.push(`order ${verb} ${jobId}`);
        return { status: "answered", answer: stopped(jobId) };
      },
    },
    workspace: "w",
    runsElsewhere: async (jobId: string) => {
      asked.push(`elsewhere ${jobId}`);
      return elsewhere;
    },
  } as unknown as FleetViewerJobsDeps);
  const viewer: Viewer = { channel: "web", userId: "operator", role: "operator", scopes: [] };
  expect((await jobs.act(viewer, "stop", "4")).code).toBe("done");
  expect(asked).toEqual([...calls]);
});

test.each([
  ["done", "done", `The preview ${JOB} was discarded. Nothing else changed.`],
  ["not-a-preview", "not-a-preview", JOB],
  ["machine-away", "machine-away", "attic, the machine that holds this job, is away."],
  ["unsettled", "unsettled", "attic started this"],
] as const)("a preview that is thrown away there: %s", async (status, code, text) => {
  const { machine } = viewed;
  const answered = status === "done" || status === "not-a-preview";
  const all = createFleetViewerJobs({
    own: { has: () => false, read: async () => null },
    store: { ownerOf: async () => ({ channel: "web", userId: "alice" }) },
    jobs: { read: async () => ({ ...viewed, machine, workspace: "there", events: [], tail: "" }) },
    giver: {
      give: async () =>
        answered ? { status: "answered", answer: status } : { status: status.replace("machine-", "") },
    },
  } as unknown as FleetViewerJobsDeps);
  const far = createChatFarJobs({ own: { has: () => false }, all });
  const facts = await (await far({ channel: "web", userId: "alice" }, JOB))?.act("discard");
  expect(facts?.code).toBe(code);
  if (facts !== undefined) expect(wordAction(messagesFor("en"), facts, "chat")).toContain(text);
});
