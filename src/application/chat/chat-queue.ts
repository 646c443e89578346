import { DEAD_AFTER_MS } from "../../domain/store/store-trouble.ts";
import { joinLine, waitUntil } from "../platform/waiting.ts";
import type { ChatTurns, MessageClaim, TurnClaim } from "../ports/chat.ts";

type StopReason = "stopped" | "lost" | "caller";

type QueuedResult<T> =
  | { readonly ran: true; readonly value: T; readonly stopped: StopReason | null }
  /** The caller's signal was aborted before its turn. */
  | { readonly ran: false };

export interface ChatQueueDeps {
  readonly turns: ChatTurns;
  readonly now: () => Date;
  /** Between two looks at the turn that is held: whether it still is, and whether a stop was asked for. */
  readonly lookMs: number;
  /** Between two looks at a turn that another process has. */
  readonly pollMs: number;
  readonly setTimer: (run: () => void, ms: number) => () => void;
  /** The same for what keeps no process from ending. */
  readonly retry: (run: () => void, ms: number) => void;
}

/** The work that runs in this process; `begun` once it has the turn. */
interface RunningWork {
  readonly controller: AbortController;
  begun: boolean;
}

interface TurnRequest<T> extends QueueOptions {
  readonly chatKey: string;
  readonly work: (signal: AbortSignal) => Promise<T>;
  readonly running: RunningWork;
}

/** Gets the chat's turn among all processes, does the work in it, keeps it alive meanwhile, ends it. */
async function holdTurn<T>(deps: ChatQueueDeps, request: TurnRequest<T>): Promise<QueuedResult<T>> {
  const { chatKey, work, signal, running } = request;
  const claim = deps.turns.name(chatKey, request.claim);
  const stopped: { why: StopReason | null } = { why: null };
  const { controller } = running;
  const stop = (why: StopReason) => {
    stopped.why ??= why;
    controller.abort(why);
  };
  const onCaller = () => stop("caller");
  const state = { stopKeeping: () => {} };
  try {
    if (!(await waitForTurn(deps, request, claim))) return { ran: false };
    controller.signal.addEventListener("abort", () => stop(toStopReason(controller.signal.reason)), {
      once: true,
    });
    signal.addEventListener("abort", onCaller, { once: true });
    if (signal.aborted) stop("caller");
    running.begun = true;
    state.stopKeeping = keepAlive(deps, claim, stop);
    return { ran: true, value: await work(controller.signal), stopped: stopped.why };
  } finally {
    state.stopKeeping();
    running.begun = false;
    signal.removeEventListener("abort", onCaller);
    // The turn may be held though the store's answer was lost.
    await endWork(deps, claim);
  }
}

/** No caller waits for a failing store; but this process keeps a turn that was not ended as long as it lives. */
async function endWork(deps: ChatQueueDeps, claim: TurnClaim): Promise<void> {
  try {
    await deps.turns.end(claim);
  } catch {
    deps.retry(() => void endWork(deps, claim), deps.lookMs);
  }
}

async function waitForTurn(
  deps: ChatQueueDeps,
  { signal, onQueued }: QueueOptions,
  claim: TurnClaim,
): Promise<boolean> {
  const { turns } = deps;
  if (await turns.begin(claim)) return true;
  let reported = 0;
  while (!signal.aborted) {
    const { taken, ahead } = await turns.take(claim);
    if (taken) return true;
    if (ahead !== reported) onQueued?.(ahead);
    reported = ahead;
    await turns.beat();
    await waitUntil(signal, (go) => deps.setTimer(go, deps.pollMs));
  }
  return false;
}

function keepAlive(
  { turns, now, lookMs, setTimer }: ChatQueueDeps,
  claim: TurnClaim,
  end: (why: StopReason) => void,
): () => void {
  const state = { over: false, cancel: () => {} };
  const heard = { at: now().getTime() };
  const tick = async () => {
    try {
      await turns.beat();
      const { held, stop } = await turns.look(claim);
      if (state.over) return;
      heard.at = now().getTime();
      if (!held) end("lost");
      else if (stop) end("stopped");
    } catch {
      // The store may be busy for a moment; a process that is silent for longer loses its turn to another.
      if (now().getTime() - heard.at > DEAD_AFTER_MS) end("lost");
    }
    if (!state.over) state.cancel = setTimer(() => void tick(), lookMs);
  };
  state.cancel = setTimer(() => void tick(), lookMs);
  return () => {
    state.over = true;
    state.cancel();
  };
}

function toStopReason(reason: unknown): StopReason {
  return reason === "stopped" || reason === "lost" ? reason : "caller";
}

/** One chat in order, chats side by side: within this process by the order of calls, among processes by the chat's turn. */
export type ChatQueue = ReturnType<typeof createChatQueue>;

interface QueueOptions {
  readonly signal: AbortSignal;
  /** Called with the number of messages ahead when this one has to wait, and when the number changes. */
  readonly onQueued?: ((ahead: number) => void) | undefined;
  readonly claim?: MessageClaim | undefined;
}

export function createChatQueue(deps: ChatQueueDeps) {
  const lines = new Map<string, ChatLine>();
  return {
    /** Runs the work when the chat is free. Its signal aborts with the caller's, on `/stop`, and if the lease is lost. */
    async run<T>(
      chatKey: string,
      work: (signal: AbortSignal) => Promise<T>,
      options: QueueOptions,
    ): Promise<QueuedResult<T>> {
      const { signal, onQueued } = options;
      if (signal.aborted) return { ran: false };
      const line = lines.get(chatKey) ?? { waiting: [], running: null };
      lines.set(chatKey, line);
      const place = { ahead: line.waiting.length + (line.running === null ? 0 : 1) };
      if (place.ahead > 0) onQueued?.(place.ahead);
      if (!(await nextTurn(line, signal, onQueued))) return { ran: false };
      try {
        return await holdTurn(deps, { ...options, chatKey, work, running: line.running! });
      } finally {
        const next = line.waiting.shift();
        line.running = null;
        if (next === undefined) lines.delete(chatKey);
        else next.go();
        for (const [index, one] of line.waiting.entries()) one.onQueued?.(index + 1);
      }
    },
    /** Aborts the running work of this chat, in whichever process; false if there is none. Waiting work is not touched. */
    async stop(chatKey: string): Promise<boolean> {
      const running = lines.get(chatKey)?.running;
      if (running?.begun) {
        running.controller.abort("stopped" satisfies StopReason);
        return true;
      }
      return deps.turns.requestStop(chatKey);
    },
  };
}

interface ChatLine {
  readonly waiting: { go: () => void; onQueued?: ((ahead: number) => void) | undefined }[];
  running: RunningWork | null;
}

/** Waits for this process's own line; false when the caller gave up first. */
function nextTurn(line: ChatLine, signal: AbortSignal, onQueued: QueueOptions["onQueued"]): Promise<boolean> {
  const begin = () => {
    line.running = { controller: new AbortController(), begun: false };
  };
  if (line.running === null && line.waiting.length === 0) {
    begin();
    return Promise.resolve(true);
  }
  return waitUntil(signal, (done) => {
    const go = () => {
      begin();
      done();
    };
    return joinLine(line.waiting, { onQueued, go });
  });
}

/** Messages that reach a coder while it works, within this process. */
export type Steering = ReturnType<typeof createSteering>;

interface SteeringDesk {
  take(): readonly string[];
  close(): void;
}

interface WaitingMessage {
  readonly text: string;
  readonly answer: (taken: boolean) => void;
}

export function createSteering() {
  const desks = new Map<string, WaitingMessage[]>();
  return {
    /** A coder begins to work in this chat. */
    open(chatKey: string): SteeringDesk {
      const waiting: WaitingMessage[] = [];
      desks.set(chatKey, waiting);
      const clear = (taken: boolean) => {
        const all = waiting.splice(0);
        for (const { answer } of all) answer(taken);
        return all.map(({ text }) => text);
      };
      return {
        take: () => clear(true),
        close() {
          if (desks.get(chatKey) === waiting) desks.delete(chatKey);
          clear(false);
        },
      };
    },
    isOpen: (chatKey: string) => desks.has(chatKey),
    /** True once the coder of this chat took the message in, false if it ended before or the signal took it back; null without a coder. */
    offer(chatKey: string, text: string, signal: AbortSignal): Promise<boolean> | null {
      const desk = desks.get(chatKey);
      if (desk === undefined || signal.aborted) return null;
      return new Promise<boolean>((answer) => {
        const message = { text, answer };
        desk.push(message);
        const takeBack = () => {
          const at = desk.indexOf(message);
          if (at >= 0) desk.splice(at, 1);
          answer(false);
        };
        signal.addEventListener("abort", takeBack, { once: true });
      });
    },
  };
}
