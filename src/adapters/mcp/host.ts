import type { Workspace } from "../../application/ports/jobs-workspace.ts";

/** The services of the MCP server: the tools and the jobs of one workspace. */
export interface McpHost extends Pick<Workspace, "root" | "archive" | "mask"> {
  readonly version: string;
  /** The user named the workspace by hand, so the roots of a client do not limit it. */
  readonly workspaceIsGiven: boolean;
  readonly tools: readonly McpTool[];
  /** Never rejects. After an abort it returns when nothing of the call runs any more. */
  invoke(name: string, args: unknown, options: McpCallOptions): Promise<McpEnvelope>;
  /** The path without symlinks; null for what is not there. */
  realPath(path: string): string | null;
  /** For people, never on the way of the protocol. */
  log(text: string): void;
}

interface McpCallOptions {
  readonly signal: AbortSignal;
  readonly onOutput: (text: string) => void;
}

/** A definition as `tools/list` sends it. */
interface McpTool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: {
    readonly type: "object";
    readonly properties: Readonly<Record<string, unknown>>;
    readonly required?: readonly string[];
  };
  /** The content of `structuredContent`, also of a failure. */
  readonly outputSchema?: {
    readonly type: "object";
    readonly properties: Readonly<Record<string, unknown>>;
    readonly anyOf: readonly object[];
  };
  readonly annotations: {
    readonly title: string;
    readonly readOnlyHint: boolean;
    readonly destructiveHint: boolean;
    readonly idempotentHint: boolean;
    readonly openWorldHint: boolean;
  };
}

/** How a call ends, as the toolkit says it. */
export type McpEnvelope =
  | {
      readonly status: "success";
      readonly data?: unknown;
      readonly job_id?: string;
      readonly changes?: readonly object[];
      readonly notes?: readonly string[];
    }
  | {
      readonly status: "failure" | "denied";
      readonly reason: string;
      readonly message: string;
      readonly error: { readonly code: string };
    };
