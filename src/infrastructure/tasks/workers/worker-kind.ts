import type { WorkerProgress } from "../../../application/ports/worker-executor.ts";
import type { TaskUsage } from "../../../domain/tasks/events.ts";
import type { WorkerKindName } from "../../../domain/tasks/worker-kind-names.ts";

/** One worker CLI: how it is called without a person at hand, and how its event stream is read. A new one is one file. */
export interface WorkerKind {
  readonly name: WorkerKindName;
  readonly aliases: readonly WorkerKindName[];
  /** Our own image, by its folder under `images/`. */
  readonly image: string;
  /** Where the image is published, for whoever does not build it. */
  readonly pullFrom: string;
  /** The prompt comes on standard input: a command line can be read by everybody, and has a limit. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Files of a login, from the user's HOME to the container's; the first that exists of each entry. */
  readonly credentials: readonly CredentialFile[];
  /** Variables of the host that stand in for a login. The first is the one to advise. */
  readonly keyVariables: readonly string[];
  createReader(): StreamReader;
}

export interface CredentialFile {
  readonly path: string;
  /** Whether it proves a login; others only come along. */
  readonly isLogin: boolean;
}

/** Reads one run's standard output as it arrives. Never throws: what is no event is passed over. */
export interface StreamReader {
  /** What the new lines say. */
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
}

/** A JSON object from a stream; nothing in it is taken for granted. */
export type StreamEvent = Readonly<Record<string, unknown>>;

export function objectAt(value: unknown, ...keys: readonly string[]): StreamEvent {
  let at = value;
  for (const key of keys) at = isObject(at) ? at[key] : undefined;
  return isObject(at) ? at : {};
}

export function textAt(event: StreamEvent, key: string): string {
  const value = event[key];
  return typeof value === "string" ? value : "";
}

export function numberAt(event: StreamEvent, key: string): number {
  const value = event[key];
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

export function listAt(event: StreamEvent, key: string): readonly StreamEvent[] {
  const value = event[key];
  return Array.isArray(value) ? value.filter(isObject) : [];
}

function isObject(value: unknown): value is StreamEvent {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a message of an HTTP client means. A 502 is the word of a proxy, ours above all, that nobody answers behind it. */
export function troubleOf(message: string): Extract<WorkerProgress, { kind: "trouble" }> {
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
