/** The agent's tools, for callers that only show the outcome. */
export interface Toolkit {
  /** Never rejects. After an abort it returns when nothing of the call runs any more. */
  invoke(
    name: string,
    args: unknown,
    options: { readonly signal: AbortSignal; readonly onOutput?: (text: string) => void },
  ): Promise<ToolEnvelope>;
}

export type ToolEnvelope =
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

export type ToolForm = "plain" | "openai" | "anthropic" | "mcp";
