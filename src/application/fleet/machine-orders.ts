import type { ActionFacts } from "../jobs/action-report.ts";
import { createPause } from "../platform/give-way.ts";
import {
  ACTING_VERBS,
  type ControlOrder,
  type ControlOrders,
  ORDER_ENDS,
  type OrderVerb,
} from "../ports/fleet.ts";
import type { FileDifference, JournalLine } from "../ports/jobs.ts";
import type { PreviewDiscard } from "../ports/jobs-workspace.ts";
import type { Timers } from "../ports/platform.ts";
import { type AccessStore, SCOPES, type Work, type WorkQueue } from "../ports/serve.ts";
import { roleInChat, type Viewer } from "../serve/access.ts";
import { createWorkTaker, repeat, type WorkKeeper } from "../serve/take-work.ts";
import type { JobAction, RestFacts, ViewedJob, ViewerJobs } from "./viewer-jobs.ts";

/** The answers to each kind of order, as JSON. */
export interface OrderAnswers extends Readonly<Record<Exclude<JobAction, "discard">, ActionFacts>> {
  readonly rest: ActionFacts | RestFacts;
  readonly discard: PreviewDiscard["status"];
  readonly show: { readonly viewed: ViewedJob; readonly journal: readonly JournalLine[] } | null;
  readonly diff: readonly EncodedDifference[];
  readonly output: string;
}

/** Absent is unknown, null is absence, as in a `FileDifference`. */
export interface EncodedDifference {
  readonly path: string;
  readonly before?: string | null;
  readonly after?: string | null;
  readonly base?: string;
}

/** For all files of a job together. Content beyond it is not sent, and shown as unknown. */
const MOST_BYTES = 8 * 1024 ** 2;

async function encodeDifferences(files: Iterable<FileDifference>): Promise<EncodedDifference[]> {
  const pause = createPause();
  const encoded: EncodedDifference[] = [];
  let room = MOST_BYTES;
  for (const { path, before, after, base } of files) {
    const bytes = (before?.length ?? 0) + (after?.length ?? 0) + (base?.length ?? 0);
    await pause(bytes);
    room -= bytes;
    encoded.push({
      path,
      ...(room >= 0 && before !== undefined && { before: before === null ? null : encode(before) }),
      ...(room >= 0 && after !== undefined && { after: after === null ? null : encode(after) }),
      ...(room >= 0 && base !== undefined && { base: encode(base) }),
    });
  }
  return encoded;
}

export function decodeDifferences(files: readonly EncodedDifference[]): FileDifference[] {
  const decode = (text: string | null | undefined) =>
    typeof text === "string" ? new Uint8Array(Buffer.from(text, "base64")) : text;
  return files.map(({ path, before, after, base }) => ({
    path,
    before: decode(before),
    after: decode(after),
    ...(base !== undefined && { base: decode(base) as Uint8Array }),
  }));
}

const encode = (bytes: Uint8Array): string => Buffer.from(bytes).toString("base64");

export interface GiveOrdersDeps {
  readonly orders: Pick<ControlOrders, "place" | "look" | "collect" | "withdraw">;
  readonly queue: Pick<WorkQueue, "onWork">;
  readonly newId: () => string;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
  /** Within this an order is begun, or never. */
  readonly limitMs?: number;
}

/** `away`: not taken in time, and withdrawn. `unsettled`: begun, its end unknown. `gone`: begun, and its machine is silent. */
export type OrderResult<T> =
  | { readonly status: "answered"; readonly answer: T }
  | { readonly status: "away" }
  | { readonly status: "unsettled" }
  | { readonly status: "gone" };

export type OrderGiver = ReturnType<typeof createOrderGiver>;

const ORDER_LIMIT_MS = 5_000;
/** One that was begun may take as long as a large job takes to be taken back. */
const LONGEST_MS = 60_000;
/** A machine that dies over an order does not report it. */
const WATCH_MS = 2_000;

export function createOrderGiver(deps: GiveOrdersDeps) {
  const { orders, timers, limitMs = ORDER_LIMIT_MS } = deps;
  const pending = new Map<string, (given: OrderResult<unknown>) => void>();
  const state = { looking: false, again: false };

  function end(id: string, given: OrderResult<unknown>): void {
    const resolve = pending.get(id);
    pending.delete(id);
    resolve?.(given);
  }

  async function settle(id: string): Promise<void> {
    const { value, failed } = JSON.parse(await orders.collect(id)) as { value?: unknown; failed?: true };
    end(id, failed === true ? { status: "unsettled" } : { status: "answered", answer: value });
  }

  async function lookOnce(): Promise<void> {
    const states = await orders.look([...pending.keys()]);
    for (const [id, now] of states) {
      if (now === "answered") await settle(id);
      if (now === "cut-off") end(id, { status: "unsettled" });
      if (now === "gone") end(id, { status: "gone" });
    }
  }

  async function look(): Promise<void> {
    state.again = true;
    if (state.looking) return;
    state.looking = true;
    while (state.again && pending.size > 0) {
      state.again = false;
      await lookOnce().catch(deps.onTrouble);
    }
    state.looking = false;
  }

  function watch(id: string): void {
    timers.after(WATCH_MS, () => {
      if (!pending.has(id)) return;
      void look();
      watch(id);
    });
  }

  async function giveUp(id: string): Promise<void> {
    const never = await orders.withdraw(id).catch(() => false);
    if (never) end(id, { status: "away" });
    else await look();
  }

  const unlisten = deps.queue.onWork(
    () => {
      if (pending.size > 0) void look();
    },
    { queue: ORDER_ENDS },
  );

  return {
    async give<Verb extends OrderVerb>(
      order: Omit<ControlOrder, "id"> & { readonly verb: Verb },
    ): Promise<OrderResult<OrderAnswers[Verb]>> {
      const id = deps.newId();
      const cancels: (() => void)[] = [];
      const given = new Promise<OrderResult<unknown>>((resolve) => void pending.set(id, resolve));
      try {
        await orders.place({ ...order, id }, limitMs);
        watch(id);
        cancels.push(timers.after(limitMs, () => void giveUp(id)));
        cancels.push(timers.after(LONGEST_MS, () => end(id, { status: "unsettled" })));
        return (await given) as OrderResult<OrderAnswers[typeof order.verb]>;
      } finally {
        for (const cancel of cancels) cancel();
        pending.delete(id);
      }
    },
    close: unlisten,
  };
}

export interface ServeOrdersDeps {
  readonly orders: Pick<ControlOrders, "take" | "answer" | "passOn" | "isHeard" | "sweep">;
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

/** Runs beside the other work of this process. */
const AT_ONCE = 16;
const SWEEP_MS = 60_000;
const PASSED_ON_MS = 200;

/** Carries out what other machines ask about jobs of this workspace. */
export function serveOrders(deps: ServeOrdersDeps) {
  const { orders, keeper, timers } = deps;
  const taking = createWorkTaker<TakenOrder>({
    claim: () => orders.take(),
    run,
    limit: AT_ONCE,
    perGroup: AT_ONCE / 2,
    timers,
    onTrouble: deps.onTrouble,
  });

  async function run({ work, order }: TakenOrder): Promise<void> {
    const lost = keeper.hold(work);
    try {
      if (order.verb === "stop" && (await deps.runsElsewhere(order.jobId))) {
        await keeper.end(() => orders.passOn(work));
        // The other one is to be faster.
        return await new Promise<void>((resolve) => void timers.after(PASSED_ON_MS, resolve));
      }
      const answer = await answerTo(order).catch((error: unknown) => {
        deps.onTrouble(error);
        return { failed: true };
      });
      if (!lost.aborted) await keeper.end(() => orders.answer(work, JSON.stringify(answer)));
    } finally {
      keeper.drop(work);
    }
  }

  async function answerTo(order: ControlOrder): Promise<unknown> {
    const value = await carryOut(deps.jobs, await viewerOf(deps, order), order);
    // The caller reads the job next.
    if (isActing(order)) await deps.tell(order.jobId);
    return { value };
  }

  const stopSweeps = repeat(orders.sweep, SWEEP_MS, deps);

  return {
    look: taking.look,
    async stop(): Promise<void> {
      void stopSweeps();
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
    case "rest":
      return jobs.applyRest(viewer, jobId);
    case "discard":
      return jobs.act(viewer, verb, jobId).then(toDiscarded);
    case "show":
      return readShownJob(jobs, viewer, jobId);
    case "diff":
      return jobs.differences(viewer, jobId, path).then((files) => encodeDifferences(files ?? []));
    case "output":
      return readJobOutput(jobs, viewer, jobId);
    default:
      return jobs.act(viewer, verb, jobId, force);
  }
}

/** As machines of every version read it. */
function toDiscarded({ code }: ActionFacts): OrderAnswers["discard"] {
  return code === "done" || code === "not-a-preview" ? code : "unknown";
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

/** The rights that an order states are ignored: the store is asked. A user without rights owns no job. */
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
    // Who is answered in a chat was admitted there, which gives no access to the same person's jobs elsewhere.
    const inChat = role === roleInChat({ channel, userId }) && (await orders.isHeard({ channel, userId }));
    return inChat ? { channel, userId, role, scopes: [] } : NOBODY;
  }
  const also = people
    .filter((person) => person.name === userId && person.channel !== "web")
    .map((person) => ({ channel: person.channel, userId: person.userId }));
  return { channel, userId, role, scopes: SCOPES, also };
}
