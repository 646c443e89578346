export interface StoreTrouble {
  readonly kind: "sqlite" | "postgres";
  /** The file, or the address without a password. */
  readonly name: string;
  readonly detail: string;
  /** `newer`, `older`: the version that made its tables. `distrusted`: the server's certificate. `read-only`: the server. */
  readonly why: "newer" | "older" | "damaged" | "distrusted" | "read-only" | "unreachable";
}

export interface NewerSchema {
  /** This version can work on with. */
  readonly added: readonly string[];
  /** It cannot. */
  readonly breaking: readonly string[];
}

export type StoreAwayKind = "unreachable" | "locked" | "gone" | "read-only" | "denied";

/** The store cannot take a statement now; the message says why. */
export class StoreAway extends Error {
  constructor(
    readonly kind: StoreAwayKind,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

const AWAY_SYSTEM_CODES = new Set(
  "ECONNREFUSED ECONNRESET EPIPE ETIMEDOUT EHOSTUNREACH ENETUNREACH ENOTFOUND EAI_AGAIN".split(" "),
);
/** Connection exceptions, and a server that starts, ends, recovers or has no connection left. */
const AWAY_SERVER_STATES = /^(08\w{3}|57P0[1-5]|53300)$/;
/** A standby, or a server that an operator or its provider keeps from being written. */
const READ_ONLY_STATE = "25006";
/** Another session keeps a table or a row locked. */
const LOCKED_STATE = "55P03";
/** The account lacks a right, may not log in, or its password was changed. */
const DENIED_STATES = /^(42501|28000|28P01)$/;
/** The driver's messages about a connection without a code. */
const AWAY_DRIVER_TEXT =
  /^Connection terminated|connection error and is not queryable|timeout exceeded when trying to connect/;

/** Why the store cannot take a statement now, or null where the statement is at fault. */
export function readStoreAway(error: unknown): StoreAwayKind | null {
  if (!(error instanceof Error)) return null;
  if (error instanceof StoreAway) return error.kind;
  if (isLockedError(error)) return "locked";
  const { code, syscall } = error as Error & { readonly code?: unknown; readonly syscall?: unknown };
  if (typeof code !== "string") return AWAY_DRIVER_TEXT.test(error.message) ? "unreachable" : null;
  if (code === READ_ONLY_STATE) return "read-only";
  if (code === LOCKED_STATE) return "locked";
  if (DENIED_STATES.test(code)) return "denied";
  // A socket that is not there.
  const isAway =
    AWAY_SYSTEM_CODES.has(code) ||
    AWAY_SERVER_STATES.test(code) ||
    (code === "ENOENT" && syscall === "connect");
  return isAway ? "unreachable" : null;
}

export function isStoreAway(error: unknown): boolean {
  return readStoreAway(error) !== null;
}

/** The store exists but is read-only. If the address does not answer, that is unknown. */
export function isStoreClosed(error: unknown): boolean {
  const away = readStoreAway(error);
  return away !== null && away !== "unreachable";
}

const SQLITE_BUSY = 5;

/** SQLite found another process writing; its extended codes have the plain one in their lowest byte. */
export function isLockedError(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as { readonly code?: unknown; readonly errcode?: unknown };
  return code === "ERR_SQLITE_ERROR" && typeof errcode === "number" && (errcode & 0xff) === SQLITE_BUSY;
}

/**
 * Since when a process has reached the store without interruption (`longestMs` apart at most). The silence of others counts only from
 * then on: during an outage, or while this machine slept, no signal could arrive.
 */
export function createReach(longestMs: number) {
  const state: { last: number | null; since: number } = { last: null, since: Number.NEGATIVE_INFINITY };
  return {
    /** The store was reached at this moment; since when that has held. */
    reached(at: number): number {
      if (state.last !== null && at - state.last > longestMs) state.since = at;
      state.last = at;
      return state.since;
    },
  };
}

export const BEAT_MS = 3_000;

export const DEAD_AFTER_MS = 15_000;
