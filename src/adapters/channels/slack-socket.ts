import type { Timers } from "../../application/ports/platform.ts";
import { pause } from "../../application/serve/take-work.ts";
import { isServiceId, type JsonObject, parseEvent, readObject } from "../../domain/platform/json-members.ts";
import { inTime, type ServiceTrouble } from "./service-call.ts";

export interface SlackSocketDeps {
  /** Asks Slack where to connect (`apps.connections.open`); rejects with its refusal. */
  readonly openAddress: () => Promise<unknown>;
  /** Stores an event; rejects if that failed. Slack shows the answer to the person who used a command. */
  readonly take: (body: JsonObject) => Promise<string | undefined>;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

/** The largest frame that is read. Slack's events are some kilobytes. */
const MOST_CHARS = 1024 ** 2;
const HELLO_MS = 30_000;
const PING_MS = 10_000;
/** Slack pings every few seconds, and answers every ping. */
const SILENCE_MS = 30_000;
/** The end of a connection that was open for this long does not count as a failure. */
const STEADY_MS = 10_000;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;
/** Slack's limit of new connections is by the minute. */
const LONGEST_LIMIT_MS = 5 * 60_000;
const GOODBYE_MS = 2_000;

interface ConnectionEnd {
  readonly trouble: ServiceTrouble;
  readonly wasSteady: boolean;
  /** Slack asked for another one, as it does every few hours. */
  readonly isPlanned: boolean;
  /** As long as Slack wants to be left alone. */
  readonly pauseMs?: number;
}

/**
 * Slack's Socket Mode. A frame of another shape than Slack describes is acknowledged, if it says under which id, and left
 * alone. A connection that cannot be made, ends or falls silent is made again, after pauses that grow up to a minute
 * ([decision 011](../../../docs/decisions/011-wire-protocols-by-hand.md)).
 */
export function createSlackSocket(deps: SlackSocketDeps) {
  const { timers, onTrouble } = deps;
  const closed = new AbortController();
  let trouble: ServiceTrouble | null = { detail: "not connected yet" };
  let running: Promise<void> = Promise.resolve();

  async function run(onFirst: () => void): Promise<void> {
    let failures = 0;
    const onStanding = () => {
      trouble = null;
      onFirst();
    };
    while (!closed.signal.aborted) {
      const end = await connect(deps, onStanding, closed.signal);
      if (closed.signal.aborted) break;
      failures = end.wasSteady ? 0 : failures + 1;
      if (!end.isPlanned) {
        trouble = end.trouble;
        onTrouble(trouble.detail);
      }
      onFirst();
      const growing = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 10), LONGEST_PAUSE_MS);
      const pauseMs = Math.max(failures === 0 ? 0 : growing, end.pauseMs ?? 0);
      if (pauseMs > 0) await pause(timers, pauseMs, closed.signal);
    }
    onFirst();
  }

  return {
    /** Connects, and connects again until `stop`. Resolves when the first attempt succeeded or failed; never rejects. */
    start: (): Promise<void> =>
      new Promise((resolve) => {
        running = run(resolve);
      }),
    /** Why no events arrive now; null while a connection is open. */
    trouble: (): ServiceTrouble | null => trouble,
    stop: (): Promise<void> => {
      closed.abort();
      return running;
    },
  };
}

async function connect(
  deps: SlackSocketDeps,
  onStanding: () => void,
  signal: AbortSignal,
): Promise<ConnectionEnd> {
  const failed = (detail: string) => ({ trouble: { detail }, wasSteady: false, isPlanned: false });
  let address: unknown;
  try {
    address = await inTime(deps.openAddress(), signal, "closed");
  } catch (error) {
    return { ...failed(""), trouble: toTrouble(error), ...limitOf(error) };
  }
  const url = typeof address === "string" ? URL.parse(address) : null;
  if (url === null || (url.protocol !== "wss:" && url.protocol !== "ws:"))
    return failed("apps.connections.open names no address of a socket");
  return signal.aborted ? failed("closed") : converse(new WebSocket(url), deps, onStanding, signal);
}

/** Reads frames until the connection ends, and pings so that a dead one is noticed. */
function converse(
  socket: WebSocket,
  { take, timers, onTrouble }: SlackSocketDeps,
  onStanding: () => void,
  signal: AbortSignal,
): Promise<ConnectionEnd> {
  const over = Promise.withResolvers<ConnectionEnd>();
  let reason = "the connection ended";
  let heardAt = timers.now().getTime();
  let isStanding = false;
  let wasSteady = false;
  let isPlanned = false;
  const cancels = new Set<() => void>();
  const later = (ms: number, callback: () => void) => {
    const cancel = timers.after(ms, () => {
      cancels.delete(cancel);
      callback();
    });
    cancels.add(cancel);
  };
  const leave = (why: string) => {
    reason = why;
    socket.close(1000);
    // A peer that is gone answers no goodbye.
    later(GOODBYE_MS, () => socket.terminate());
  };
  const ping = () => {
    if (timers.now().getTime() - heardAt > SILENCE_MS) return leave("Slack has fallen silent");
    if (socket.readyState === WebSocket.OPEN) socket.ping();
    later(PING_MS, ping);
  };
  const acknowledge = async (id: string, body: JsonObject) => {
    try {
      const answer = await take(body);
      const payload = answer === undefined ? {} : { text: answer };
      // Over another connection Slack would not know the envelope; it sends the event again.
      if (socket.readyState === WebSocket.OPEN) socket.send(JSON.stringify({ envelope_id: id, payload }));
    } catch (error) {
      onTrouble(error);
    }
  };
  const read = (frame: SlackFrame) => {
    if (frame.kind === "envelope") return void acknowledge(frame.id, frame.body);
    if (frame.kind === "goodbye") {
      isPlanned = wasSteady;
      return leave("Slack asked for another connection");
    }
    if (isStanding) return;
    isStanding = true;
    later(STEADY_MS, () => {
      wasSteady = true;
    });
    onStanding();
  };

  const hear = () => {
    heardAt = timers.now().getTime();
  };
  socket.addEventListener("ping", hear);
  socket.addEventListener("pong", hear);
  socket.addEventListener("message", ({ data }) => {
    hear();
    const frame = typeof data === "string" ? readFrame(data) : null;
    if (frame !== null) read(frame);
  });
  socket.addEventListener("error", (event) => {
    reason = (event as Partial<ErrorEvent>).message || "the connection failed";
  });
  socket.addEventListener("close", () => {
    for (const cancel of cancels) cancel();
    signal.removeEventListener("abort", onAbort);
    over.resolve({ trouble: { detail: reason }, wasSteady, isPlanned });
  });
  const onAbort = () => leave("closed");
  signal.addEventListener("abort", onAbort);
  later(HELLO_MS, () => {
    if (!isStanding) leave("Slack did not greet");
  });
  later(PING_MS, ping);
  return over.promise;
}

/** A frame of Socket Mode, with nothing in it of a shape that Slack does not describe. */
type SlackFrame =
  | { readonly kind: "hello" | "goodbye" }
  | { readonly kind: "envelope"; readonly id: string; readonly body: JsonObject };

/** Null for a frame that needs no answer. The body of an envelope that is too large, or not an event, is empty. */
function readFrame(text: string): SlackFrame | null {
  const frame = readObject(text.length > MOST_CHARS ? undefined : parseEvent(text));
  if (frame.type === "hello") return { kind: "hello" };
  if (frame.type === "disconnect") return { kind: "goodbye" };
  const id = frame.envelope_id ?? /"envelope_id"\s*:\s*"([\w.-]{1,255})"/.exec(text)?.[1];
  return isServiceId(id) ? { kind: "envelope", id, body: readObject(frame.payload) } : null;
}

/** The refusals that only another token, or another app, can end. */
const TOKEN_REFUSALS =
  /^(?:invalid_auth|not_authed|account_inactive|token_|not_allowed_token_type|missing_scope|forbidden_team|user_removed_from_team|team_disabled)/;

function toTrouble(error: unknown): ServiceTrouble {
  const { data, message } = error as { data?: { error?: unknown }; message?: unknown };
  const said = typeof data?.error === "string" ? data.error.slice(0, 200) : String(message ?? error);
  const detail = `apps.connections.open: ${said}`;
  return TOKEN_REFUSALS.test(said) ? { detail, remedy: "SLACK_APP_TOKEN" } : { detail };
}

function limitOf(error: unknown): { readonly pauseMs?: number } {
  const { retryAfter: seconds } = error as { retryAfter?: unknown };
  if (typeof seconds !== "number" || !(seconds > 0)) return {};
  return { pauseMs: Math.min(seconds * 1000, LONGEST_LIMIT_MS) };
}
