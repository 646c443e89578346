import type { CallToolResult } from "@modelcontextprotocol/sdk/types.js";
import type { McpEnvelope } from "./host.ts";

/**
 * An envelope as the protocol carries it. What the model must know stands in both forms, since some clients show it
 * the text and others the structure: the data with the job and the notes beside it, or the failure with its code.
 */
export function toCallResult(envelope: McpEnvelope): CallToolResult {
  if (envelope.status !== "success") {
    const { status, message, error } = envelope;
    return {
      content: [{ type: "text", text: `${status} (${error.code}): ${message}` }],
      structuredContent: { ...envelope },
      isError: true,
    };
  }
  const { status: _, data, ...beside } = envelope;
  const structuredContent: Record<string, unknown> = { ...beside, ...asObject(data) };
  return { content: [{ type: "text", text: JSON.stringify(structuredContent) }], structuredContent };
}

function asObject(data: unknown): object {
  if (data === undefined || data === null) return {};
  return typeof data === "object" && !Array.isArray(data) ? data : { data };
}
