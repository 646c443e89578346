import type { WorkKeeper } from "../serve/keep-work.ts";
import { createWorkTaker } from "../serve/take-work.ts";
import { roleInChat, type Viewer } from "../serve/viewer.ts";
import type { ViewerJobs } from "./viewer-jobs.ts";
import type { AccessStore } from "../ports/access.ts";
import { SCOPES } from "../ports/access.ts";
import { ACTING_VERBS, type ControlOrder, type ControlOrders } from "../ports/control-orders.ts";
import type { Timers } from "../ports/timers.ts";
import type { Work } from "../ports/work-queue.ts";
import { encodeDifferences, type OrderAnswers } from "./order-answers.ts";

export interface ServeOrdersDeps {
  readonly orders: Pick<ControlOrders, "take" | "answer" | "passOn" | "isHeard" | "sweep">;
  /** The jobs of this workspace, and of no other. */
  readonly jobs: ViewerJobs;
  readonly access: Pick<AccessStore, "sessions" | "tokens" | "people">;
  /** Whether another server of this machine carries the job out: that one must end it, or it would be ended itself. */
  readonly runsElsewhere: (jobId: string) => Promise<boolean>;
  /** Tells the other machines of a job, before the answer does. */
  readonly tell: (jobId: string) => Promise<void>;
  readonly keeper: Pick<WorkKeeper, "hold" | "drop" | "end">;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

interface TakenOrder {
  readonly work: Work;
  readonly order: ControlOrder;
}

/** Beside whatever else is done here. */
const AT_ONCE = 16;
const SWEEP_MS = 60_000;
const PASSED_ON_MS = 200;

/** Carries out what other machines ask about jobs of this workspace. */
export function serveOrders(parts: ServeOrdersDeps) {
  const { orders, keeper, timers } = parts;
  const taking = createWorkTaker<TakenOrder>({
    claim: () => orders.take(),
    run,
    limit: AT_ONCE,
    perGroup: AT_ONCE / 2,
    timers,
    onTrouble: parts.onTrouble,
  });

  async function run({ work, order }: TakenOrder): Promise<void> {
    const lost = keeper.hold(work);
    try {
      if (order.verb === "stop" && (await parts.runsElsewhere(order.jobId))) {
        await keeper.end(() => orders.passOn(work));
        // The other one is to be faster.
        return await new Promise<void>((resolve) => void timers.after(PASSED_ON_MS, resolve));
      }
      const answer = await answerTo(order).catch((error: unknown) => {
        parts.onTrouble(error);
        return { failed: true };
      });
      if (!lost.aborted) await keeper.end(() => orders.answer(work, JSON.stringify(answer)));
    } finally {
      keeper.drop(work);
    }
  }

  async function answerTo(order: ControlOrder): Promise<unknown> {
    const value = await carryOut(parts.jobs, await viewerOf(parts, order), order);
    // Whoever asked looks at the job next.
    if (isActing(order)) await parts.tell(order.jobId);
    return { value };
  }

  const state = { cancel: () => {}, closed: false };
  function sweeps(): void {
    if (state.closed) return;
    state.cancel = timers.after(SWEEP_MS, () => void orders.sweep().catch(parts.onTrouble).finally(sweeps));
  }
  sweeps();

  return {
    look: taking.look,
    async stop(): Promise<void> {
      state.closed = true;
      state.cancel();
      taking.close();
      await taking.idle();
    },
  };
}

function carryOut(
  jobs: ViewerJobs,
  viewer: Viewer,
  { verb, jobId, force = false, path }: ControlOrder,
): Promise<OrderAnswers[typeof verb]> {
  switch (verb) {
    case "undo":
    case "redo":
      return jobs.takeBack(viewer, jobId, verb, force);
    case "apply":
      return jobs.applyPreview(viewer, jobId);
    case "rest":
      return jobs.applyRest(viewer, jobId);
    case "discard":
      return jobs.discard(viewer, jobId) as Promise<OrderAnswers["discard"]>;
    case "stop":
      return jobs.stop(viewer, jobId);
    case "show":
      return readShownJob(jobs, viewer, jobId);
    case "diff":
      return jobs.differences(viewer, jobId, path).then((files) => encodeDifferences(files ?? []));
    case "output":
      return readJobOutput(jobs, viewer, jobId);
  }
}

async function readShownJob(jobs: ViewerJobs, viewer: Viewer, jobId: string): Promise<OrderAnswers["show"]> {
  const viewed = await jobs.read(viewer, jobId);
  return viewed === null ? null : { viewed, journal: await jobs.journal(viewer, jobId) };
}

async function readJobOutput(jobs: ViewerJobs, viewer: Viewer, jobId: string): Promise<string> {
  return (await jobs.read(viewer, jobId)) === null ? "" : jobs.output(jobId, viewer);
}

function isActing({ verb }: ControlOrder): boolean {
  return (ACTING_VERBS as readonly string[]).includes(verb);
}

const NOBODY: Viewer = { channel: "", userId: "", role: "user", scopes: [] };

/** An order's word on what somebody may do counts for nothing: the store is asked. Whoever has no right owns no job. */
async function viewerOf(
  { access, orders, timers }: Pick<ServeOrdersDeps, "access" | "orders" | "timers">,
  order: ControlOrder,
): Promise<Viewer> {
  const { channel, userId, role } = order.asker;
  const isSame = (one: { readonly userId: string; readonly role: string }) =>
    one.userId === userId && one.role === role;
  const scope = isActing(order) ? "jobs" : "read";
  const [sessions, people] = await Promise.all([
    access.sessions(timers.now().toISOString()),
    access.people(),
  ]);
  const holds =
    sessions.some(isSame) ||
    (await access.tokens()).some((token) => isSame(token) && token.scopes.includes(scope));
  if (!holds || channel !== "web") {
    // Whoever is answered in a chat was let in there; jobs of the same person elsewhere are none of the chat's.
    const inChat = role === roleInChat({ channel, userId }) && (await orders.isHeard({ channel, userId }));
    return inChat ? { channel, userId, role, scopes: [] } : NOBODY;
  }
  const also = people
    .filter((person) => person.name === userId && person.channel !== "web")
    .map((person) => ({ channel: person.channel, userId: person.userId }));
  return { channel, userId, role, scopes: SCOPES, also };
}
