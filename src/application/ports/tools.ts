/** The agent's tools, as those call them who only show what came of it. */
export interface Toolkit {
  /** Never rejects. */
  invoke(
    name: string,
    args: unknown,
    options: { readonly signal: AbortSignal; readonly onOutput?: (text: string) => void },
  ): Promise<ToolEnvelope>;
}

export type ToolEnvelope =
  | { readonly status: "success"; readonly data?: unknown; readonly notes?: readonly string[] }
  | {
      readonly status: "failure" | "denied";
      readonly reason: string;
      readonly message: string;
      readonly error: { readonly code: string };
    };

export type ToolForm = "plain" | "openai" | "anthropic" | "mcp";
