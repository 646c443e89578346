import type { Workspace } from "../../application/ports/jobs-workspace.ts";
import type { Toolkit } from "../../application/ports/tools.ts";

export interface McpHost extends Toolkit, Pick<Workspace, "root" | "archive" | "mask"> {
  readonly version: string;
  /** The user named the workspace by hand, so the roots of a client do not limit it. */
  readonly workspaceIsGiven: boolean;
  /** Definitions as `tools/list` sends them. */
  readonly tools: readonly object[];
  /** The path without symlinks; null for what is not there. */
  realPath(path: string): string | null;
  /** For people, never on the way of the protocol. */
  log(text: string): void;
}

/** A client that never reads our standard error must not stop us when its pipe is full. */
const MOST_LOG_LINES = 200;

export function limitLog(log: (text: string) => void): (text: string) => void {
  let left = MOST_LOG_LINES;
  return (text) => {
    left -= 1;
    if (left >= 0) log(left === 0 ? `${text}\nmcp: further messages are left out` : text);
  };
}

interface McpEndpoint {
  handle(request: Request): Promise<Response>;
  close(): Promise<void>;
}

/** An endpoint that is opened at its first request. */
export function lateEndpoint(open: () => Promise<McpEndpoint>) {
  const made: { endpoint?: Promise<McpEndpoint> } = {};
  return {
    async answer() {
      made.endpoint ??= open();
      const endpoint = await made.endpoint;
      return (request: Request) => endpoint.handle(request);
    },
    close: async () => (await made.endpoint)?.close(),
  };
}
