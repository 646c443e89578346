import type { ModelLimits } from "./model-settings.ts";

export type ExpiredTimer = "connectTimeout" | "firstTokenTimeout" | "idleTimeout" | "over";

/** How long to wait for a server to close a stream that has said all: its connection can then be used again. */
const LINGER_MS = 200;

export interface StreamWatch {
  /** The server answered at all. */
  connected(): void;
  /** The first part of the answer came. */
  begun(): void;
  /** Something came. */
  heard(): void;
  over(): void;
  /** Nobody is waiting for the server while this is so. */
  away(isAway: boolean): void;
  stop(): void;
}

/** Watches one try: calls `expire` once, with the limit that was passed. */
export function startStreamWatch(parts: {
  readonly limits: ModelLimits;
  readonly connects: (signal: AbortSignal) => Promise<boolean>;
  readonly expire: (which: ExpiredTimer) => void;
}): StreamWatch {
  const { limits, expire } = parts;
  const probing = new AbortController();
  let phase: "waiting" | "answering" | "over" = "waiting";
  let since = performance.now();
  let away = false;
  let timer: ReturnType<typeof setTimeout>;

  const limit = () =>
    phase === "waiting" ? limits.firstTokenMs : phase === "over" ? LINGER_MS : limits.idleMs;
  const arm = (ms: number) => {
    timer = setTimeout(look, Math.max(1, ms));
  };
  /** Set again only when it fires, not at every piece. */
  const look = () => {
    const left = limit() - (performance.now() - since);
    if (away || left > 0) return arm(away ? limit() : left);
    expire(phase === "waiting" ? "firstTokenTimeout" : phase === "over" ? "over" : "idleTimeout");
  };
  arm(Math.min(limit(), limits.idleMs));

  // fetch does not tell when it is connected, and a server may say nothing until its first token: a connection of our
  // own, made only when the answer is late, tells a slow model from a dead host.
  let connected = false;
  const late = setTimeout(() => {
    void parts.connects(probing.signal).then((yes) => {
      if (yes) connected = true;
    });
  }, limits.connectMs / 4);
  const connecting = setTimeout(() => {
    if (!connected) expire("connectTimeout");
  }, limits.connectMs);

  const endProbe = () => {
    clearTimeout(late);
    clearTimeout(connecting);
    probing.abort();
  };
  return {
    connected: endProbe,
    begun: () => {
      if (phase !== "waiting") return;
      phase = "answering";
      since = performance.now();
    },
    heard: () => {
      if (phase === "answering") since = performance.now();
    },
    over: () => {
      phase = "over";
      since = performance.now();
      clearTimeout(timer);
      arm(LINGER_MS);
    },
    away: (isAway) => {
      away = isAway;
      if (!isAway && phase === "answering") since = performance.now();
    },
    stop: () => {
      clearTimeout(timer);
      endProbe();
    },
  };
}
