import { z } from "zod";
import type { SecureTool } from "../create-secure-tool.ts";

const CHANGE_SCHEMA = {
  type: "object",
  properties: { path: { type: "string" }, kind: { type: "string" } },
  required: ["path", "kind"],
} as const;

/** What may stand beside the data of every tool. */
const BESIDE_SCHEMA = {
  job_id: { type: "string", description: "The job that was made; undo_job takes it back" },
  changes: { type: "array", items: CHANGE_SCHEMA, description: "What the job changed" },
  notes: { type: "array", items: { type: "string" }, description: "What to know beside the data" },
} as const;

/** How every call ends that does not succeed. */
const FAILED_SCHEMA = {
  status: { type: "string", enum: ["failure", "denied"] },
  reason: { type: "string" },
  message: { type: "string" },
  error: { type: "object", properties: { code: { type: "string" } }, required: ["code"] },
} as const;

export interface OutputSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, unknown>>;
  /** A success with its data, or a failure. */
  readonly anyOf: readonly { readonly required: readonly string[] }[];
}

/** The structure of a tool's results, as clients of MCP get them: its data with what stands beside it, or a failure. */
export function outputSchemaOf(tool: Pick<SecureTool, "output">): OutputSchema | null {
  if (tool.output === undefined) return null;
  const { properties = {}, required = [] } = z.toJSONSchema(tool.output, {
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return {
    type: "object",
    properties: { ...BESIDE_SCHEMA, ...properties, ...FAILED_SCHEMA },
    anyOf: [{ required }, { required: Object.keys(FAILED_SCHEMA) }],
  };
}
