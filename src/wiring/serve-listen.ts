import { createWebApp } from "../adapters/web/app.ts";
import { enterFleet } from "../application/fleet/keep-machine.ts";
import type { ListenOptions, Serving } from "../application/inbox/server.ts";
import { createTellEnd } from "../application/tasks/tell-end.ts";
import { chatMessagesFor, solveMessagesFor } from "../domain/texts/texts.ts";
import { openWorkQueue } from "../infrastructure/inbox/queue/open-work-queue.ts";
import { listenHttp } from "../infrastructure/runtime/http-server.ts";
import { timers } from "../infrastructure/runtime/timers.ts";
import { createMessageStore } from "../infrastructure/store/message-store.ts";
import { createOwnerNames } from "../infrastructure/work/process/owner-name.ts";
import { labelsOf, openFleet, openMachine } from "./fleet.ts";
import { type Inbox, openInbox } from "./serve-inbox.ts";
import type { ListenParts, ServeParts } from "./serve-parts.ts";
import { startRounds } from "./serve-rounds.ts";
import { createWebHost } from "./serve-web.ts";

const LIMIT_BYTES = 10 * 1024 ** 2;
/** Together less than the thirty seconds in which a service manager expects us gone. */
const [ANSWER_GRACE_MS, SEND_GRACE_MS] = [20_000, 5_000];

/** Wires receiving, answering, sending and the web together, and listens. */
export async function listenAndServe(
  given: ListenParts,
  { host, port, log }: ListenOptions,
): Promise<Serving> {
  const { state } = given;
  const publicUrl = given.config.serve.public_url?.replace(/\/+$/, "") ?? null;
  const onTrouble = (error: unknown, place = "serve") =>
    log(`${place}: ${state.current().workspace.mask(textOf(error))}`);
  const work = await openWork(given, onTrouble);
  const { queue } = work;
  const taken = await enterFleet(work.fleet, timers);
  if (taken !== null) {
    await queue.close().catch(onTrouble);
    throw Object.assign(new Error(given.words().machineTaken(taken.takenBy, given.home)), {
      code: "machine",
    });
  }
  const parts: ServeParts = { ...given, ...work, startedAt: new Date(), publicUrl, log, onTrouble };
  const closing = new AbortController();
  const inbox = await openInbox(parts);
  const forges = await openForges(parts);
  const place = { host, port, publicUrl };
  const mcp = lateMcp(parts);
  const renew = { rounds: async () => {} };
  const reload = async () => {
    const problem = await state.reload();
    if (problem === null) await renew.rounds();
    return problem;
  };
  const web = createWebHost({
    ...parts,
    inbox,
    forges,
    place,
    mcp: mcp.answer,
    closing: closing.signal,
    reload,
  });
  const server = listenHttp({ host, port, limitBytes: LIMIT_BYTES, fetch: createWebApp(web) });
  place.port = server.port;
  const { machine, rounds } = await startAll(parts, inbox, forges).catch(async (error: unknown) => {
    // Nobody would answer what is taken in here.
    closing.abort();
    await server.close();
    await giveUpStart(parts, inbox, forges);
    throw error;
  });
  renew.rounds = rounds.renew;
  const shown = host.includes(":") ? `[${host}]` : host === "0.0.0.0" ? "127.0.0.1" : host;
  return {
    url: publicUrl ?? `http://${shown}:${server.port}`,
    reload,
    async stop() {
      rounds.stop();
      machine.drain();
      closing.abort();
      server.drain();
      const tasksEnd = forges?.stop();
      // A store that does not answer is not waited for longer than anything else.
      const giveUp = timers.after(ANSWER_GRACE_MS + SEND_GRACE_MS, () => inbox.keeper.stop());
      await inbox.answering.stop(ANSWER_GRACE_MS);
      await inbox.sending.stop(SEND_GRACE_MS);
      giveUp();
      inbox.keeper.stop();
      await tasksEnd;
      await mcp.close();
      await Promise.all([...inbox.channels.values()].map((channel) => channel.close()));
      await server.close();
      await queue.close().catch(onTrouble);
      await machine.leave();
    },
  };
}

/** The queue of this process, and the inbox and outbox over it. */
async function openWork(parts: ListenParts, onTrouble: (error: unknown) => void) {
  const { db, databaseUrl, state, workspaceName: workspace } = parts;
  const owners = createOwnerNames(process.pid);
  const { isGone } = owners;
  const owner = owners.next();
  const { queue, newWorkId } = await openWorkQueue({ db, databaseUrl, owner, isGone, timers, onTrouble });
  const fleet = openFleet({
    ...parts,
    ...owners,
    owner,
    root: state.current().workspace.root,
    kind: "serve",
    labels: labelsOf(parts.config),
    lanes: parts.config.serve.max_chats,
  });
  const store = await createMessageStore({ db, now: timers.now, workspace, queue, newWorkId });
  return { queue, store, fleet };
}

type Forges = Awaited<ReturnType<typeof openForges>>;

async function startAll(parts: ServeParts, inbox: Inbox, forges: Forges) {
  const machine = await openMachine(parts, inbox);
  await startInbox(parts, inbox);
  await forges?.start();
  return { machine, rounds: await startRounds(parts, inbox) };
}

async function giveUpStart({ queue, onTrouble }: ServeParts, inbox: Inbox, forges: Forges): Promise<void> {
  inbox.keeper.stop();
  await forges?.stop();
  await Promise.all([...inbox.channels.values()].map((channel) => channel.close()));
  await queue.close().catch(onTrouble);
}

/** First what an earlier process left half done, then what waits. */
async function startInbox({ state, queue }: ServeParts, inbox: Inbox): Promise<void> {
  const { workspace } = state.current();
  await workspace.repair();
  await workspace.closeDeadJobs();
  await inbox.keeper.start();
  for (const { look } of [inbox.answering, inbox.sending]) {
    queue.onWork(look);
    look();
  }
  await inbox.reached.start();
}

/** Null where environments are off or no forge has a token. */
async function openForges({ env, options, config, db, log, state, store }: ServeParts) {
  if (!config.command_executor.enabled) return null;
  const tellEnd = createTellEnd({
    chat: () => state.current().config.notify.chat,
    post: (reply) => store.post(reply),
    solveWords: () => solveMessagesFor(state.current().locale),
    chatWords: () => chatMessagesFor(state.current().locale),
    uuid: () => crypto.randomUUID(),
    now: timers.now,
  });
  const { openForgeService } = await import("./serve-forges.ts");
  const opened = await openForgeService(env, options, { db, say: log, tellEnd });
  if (typeof opened !== "string") return opened;
  log(opened);
  return null;
}

/** The MCP endpoint, loaded at its first request. */
function lateMcp({ state }: ServeParts) {
  const made: { endpoint?: ReturnType<typeof state.openMcp> } = {};
  return {
    async answer() {
      made.endpoint ??= state.openMcp();
      const endpoint = await made.endpoint;
      return (request: Request) => endpoint.handle(request);
    },
    close: async () => (await made.endpoint)?.close(),
  };
}

function textOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
