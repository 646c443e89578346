import type { TransactionReason } from "../../domain/jobs/result.ts";

/**
 * The web, for reading. Never rejects. Names are looked up once, after each redirect again; only public addresses are dialled, and
 * private ones that the configuration names by host and port.
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
