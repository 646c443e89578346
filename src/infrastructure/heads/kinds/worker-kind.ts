import { randomBytes } from "node:crypto";
import type { WorkerProgress } from "../../../application/ports/heads.ts";
import type { WorkerKindName } from "../../../domain/config/configured-kinds.ts";
import type { TaskUsage } from "../../../domain/models/model-facts.ts";
import { attemptOr } from "../../../domain/platform/error-text.ts";
import { isJsonObject } from "../../../domain/platform/json-members.ts";

/** One worker CLI: how it is called without a person at hand, and how its event stream is read. A new one is one file. */
export interface WorkerKind {
  readonly name: WorkerKindName;
  readonly aliases: readonly WorkerKindName[];
  /** Our own image, by its folder under `images/`. */
  readonly image: string;
  /** The prompt is passed on standard input: every process can read a command line, and its length is limited. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Files and whole folders of a login and its settings, from the user's HOME to the container's. */
  readonly credentials: readonly CredentialFile[];
  /** The parts of those folders that are left out: data that the CLI only remembers. */
  readonly leftOut: readonly string[];
  /** Variables whose value is a key. The first is the one to advise. */
  readonly keyVariables: readonly string[];
  readonly plainVariables: readonly string[];
  /** The JSON settings that declare a key as its login, and the tools that it lacks; `choose` adds them to the user's own. */
  readonly keySettings?: {
    readonly path: string;
    choose(
      settings: Readonly<Record<string, unknown>>,
      env: Readonly<Record<string, string>>,
      isContestant?: boolean,
    ): Readonly<Record<string, unknown>>;
  };
  /** Where the CLI sends its key, and how it is led to another server instead. */
  route(given: RouteInput): KeyRoute;
  /**
   * The call with a session: a new one (`id` is ours, where it takes one), or an earlier one. `isTrusted`: whether
   * the settings that the project itself has for this CLI hold. `isContestant`: its server must not search the web for it.
   */
  inSession(
    argv: readonly [string, ...string[]],
    session: {
      readonly id: string;
      readonly resumes: boolean;
      readonly isTrusted: boolean;
      readonly isContestant: boolean;
    },
  ): readonly [string, ...string[]];
  /** Paths of its server that a run asks, behind the path of `upstream`. */
  readonly asks: RegExp;
  createReader(): StreamReader;
}

interface RouteInput {
  readonly env: Readonly<Record<string, string>>;
  /** A file of the HOME; null where it does not exist. */
  readonly textOf: (path: string) => string | null;
}

export interface KeyRoute {
  /** The server that the keys are for. */
  readonly upstream: string;
  /** The settings that make the CLI use `base`, an address with the path of `upstream`. */
  lead(base: string): {
    readonly env: Readonly<Record<string, string>>;
    readonly argv: readonly [string, ...string[]];
  };
}

/** The stand-in that a CLI gets instead of a key. */
export function makeStandIn(): string {
  return `picoclaw-${randomBytes(16).toString("hex")}`;
}

interface CredentialFile {
  readonly path: string;
  /** Whether it proves a login; others only come along. */
  readonly isLogin: boolean;
}

/** Reads one run's standard output as it arrives. Never throws: lines that are not events are skipped. */
export interface StreamReader {
  /** The content of the new lines. */
  feed(text: string): WorkerProgress[];
  /** After the last line. */
  end(): StreamFindings;
}

export interface StreamFindings {
  /** The worker's last words. */
  readonly summary: string;
  /** Why the worker itself says that it failed. */
  readonly error: string | null;
  readonly usage: TaskUsage;
  readonly saidChanged: readonly string[];
  /** The id by which the session continues; empty if it named none. */
  readonly sessionId: string;
}

/** A JSON object from a stream; nothing in it is taken for granted. */
export type StreamEvent = Readonly<Record<string, unknown>>;

export function objectAt(value: unknown, ...keys: readonly string[]): StreamEvent {
  let at = value;
  for (const key of keys) at = isJsonObject(at) ? at[key] : undefined;
  return isJsonObject(at) ? at : {};
}

export function textAt(event: StreamEvent, key: string): string {
  const value = event[key];
  return typeof value === "string" ? value : "";
}

/** Beyond this no CLI means what it tells: of tokens, of dollars, of a status. */
const LARGEST_FIGURE = 1e9;

export function numberAt(event: StreamEvent, key: string): number {
  const value = event[key];
  return typeof value === "number" && value >= 0 && value <= LARGEST_FIGURE ? value : 0;
}

export function listAt(event: StreamEvent, key: string): readonly StreamEvent[] {
  const value = event[key];
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

/** The trouble behind an HTTP client's message. With a 502, PicoClaw's proxy reports that no server answers behind it. */
export function readTrouble(message: string): Extract<WorkerProgress, { kind: "trouble" }> {
  const code =
    /\b40[13]\b|unauthori[sz]ed|authentication|invalid (?:x-)?api.?key|API key not valid|please run \/login/i.test(
      message,
    )
      ? "unauthorized"
      : /\b502\b|connection (?:failed|refused|error)|ECONNREFUSED|ENOTFOUND|fetch failed|error sending request|waiting for network|unable to connect|timed out/i.test(
            message,
          )
        ? "unreachable"
        : "other";
  return { kind: "trouble", code, text: message };
}

/** A line may be a whole file that was read; one without end is not kept. */
const LONGEST_LINE = 8 * 1024 ** 2;

export interface EventReader {
  on(event: StreamEvent): WorkerProgress[];
  end(): StreamFindings;
}

/** Cuts a stream into lines and hands on those that are JSON objects. */
export function readJsonLines({ on, end }: EventReader): StreamReader {
  let held = "";
  let tooLong = false;
  function take(line: string): WorkerProgress[] {
    const event = parse(line);
    return event === null ? [] : on(event);
  }
  return {
    feed(text) {
      const found: WorkerProgress[] = [];
      const lines = text.split("\n");
      for (const [index, piece] of lines.entries()) {
        if (!tooLong) held += piece;
        if (held.length > LONGEST_LINE) {
          held = "";
          tooLong = true;
        }
        if (index === lines.length - 1) break;
        if (!tooLong) found.push(...take(held));
        held = "";
        tooLong = false;
      }
      return found;
    },
    end() {
      if (held !== "") take(held);
      held = "";
      return end();
    },
  };
}

function parse(line: string): StreamEvent | null {
  if (!line.trimStart().startsWith("{")) return null;
  return attemptOr(null, () => JSON.parse(line) as StreamEvent);
}
