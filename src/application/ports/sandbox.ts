import type { TransactionReason } from "../../domain/jobs/result.ts";

/**
 * The web, for reading. A call never rejects. Names are looked up once and only public addresses are dialled, after
 * each redirect again; a host of the configuration by name and port may be private.
 */
export interface WebReader {
  read(url: string, signal: AbortSignal): Promise<WebRead>;
}

export type WebRead =
  | {
      readonly ok: true;
      /** Where it was found in the end. */
      readonly url: string;
      readonly status: number;
      /** Without parameters: `text/html`. */
      readonly type: string;
      readonly text: string;
      /** The page was longer than what is read. */
      readonly cut: boolean;
    }
  | { readonly ok: false; readonly why: WebRefusal; readonly detail: string };

type WebRefusal =
  | "bad-url"
  /** Not allowed by the configuration, or not a public address. */
  | "refused"
  | "no-such-host"
  | "unreachable"
  | "timeout"
  | "aborted"
  | "too-many-redirects"
  /** An image, an archive: nothing to read. */
  | "not-text";

/** How jobs with processes are staged on this machine, and why so. */
export interface Staging {
  readonly kind: "overlay" | "copy" | "none";
  readonly reason: TransactionReason;
  /** bubblewrap, when there is one: without it nothing is confined. */
  readonly bubblewrap: string | null;
}

/** The message for a sandbox that ended without output, for example because it was killed. */
export const SILENT_SANDBOX = "the sandbox did not start";

/** Thrown by a call to an executor that has ended. */
export class ChannelClosed extends Error {
  readonly code = "EXECUTOR_ENDED";

  constructor() {
    super("the executor ended");
  }
}

/** The real location of the entry at a path of a view. */
export interface LayeredPath {
  /** The upper, or the workspace itself. */
  readonly root: string;
  readonly below: string;
  /** The folder of the workspace that shows through it, where it is a folder of the upper. */
  readonly shows?: string;
}
