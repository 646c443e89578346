import { z } from "zod";
import { ALL_TOOLS, ToolCatalog, type ToolName } from "../catalog.ts";
import type { CallOptions, SecureTool } from "../create-secure-tool.ts";
import type { ToolResult } from "../tool-result.ts";
import type { AgentToolkit } from "../toolkit.ts";

const CHANGE_SCHEMA = {
  type: "object",
  properties: { path: { type: "string" }, kind: { type: "string" } },
  required: ["path", "kind"],
} as const;

/** The fields that may accompany the data of every tool. */
const BESIDE_SCHEMA = {
  job_id: { type: "string", description: "The job of this call; undo_job undoes it" },
  changes: { type: "array", items: CHANGE_SCHEMA, description: "What the job changed" },
  notes: { type: "array", items: { type: "string" }, description: "Remarks on the data" },
} as const;

const FAILED_SCHEMA = {
  status: { type: "string", enum: ["failure", "denied"] },
  reason: { type: "string" },
  message: { type: "string" },
  error: { type: "object", properties: { code: { type: "string" } }, required: ["code"] },
} as const;

/** A tool's results as clients of MCP get them: its data with the accompanying fields, or a failure. */
export function outputSchemaOf(tool: Pick<SecureTool, "output">) {
  if (tool.output === undefined) return null;
  const { properties = {}, required = [] } = z.toJSONSchema(tool.output, {
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return {
    type: "object" as const,
    properties: { ...BESIDE_SCHEMA, ...properties, ...FAILED_SCHEMA },
    anyOf: [{ required }, { required: Object.keys(FAILED_SCHEMA) }],
  };
}

export interface ToolDefinition {
  readonly name: string;
  readonly description: string;
  readonly parameters: JsonSchema;
}

export interface JsonSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly required?: readonly string[];
}

/** Read off each tool's one schema. An alias has the same definition under its own name. */
export function definitionOf(tool: SecureTool, name: string = tool.name): ToolDefinition {
  const {
    $schema: _,
    additionalProperties: __,
    ...parameters
  } = z.toJSONSchema(tool.input, {
    io: "input",
    // Every integer has this limit; it says nothing.
    override: ({ jsonSchema }) => {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
    },
  });
  return { name, description: tool.description, parameters: parameters as unknown as JsonSchema };
}

export const TOOL_DEFINITIONS: Readonly<Record<ToolName, ToolDefinition>> = Object.fromEntries(
  Object.keys(ToolCatalog).map((name, at) => [name, definitionOf(ALL_TOOLS[at] as SecureTool)]),
) as Record<ToolName, ToolDefinition>;

export function toOpenAi(tool: SecureTool, name?: string) {
  return { type: "function" as const, function: definitionOf(tool, name) };
}

export function toAnthropic(tool: SecureTool, name?: string) {
  const { parameters, ...rest } = definitionOf(tool, name);
  return { ...rest, input_schema: parameters };
}

export function toMcp(tool: SecureTool, alias?: string) {
  const { name, description, parameters } = definitionOf(tool, alias);
  const readOnly = tool.access === "read";
  const outputSchema = outputSchemaOf(tool);
  return {
    name,
    title: tool.title,
    description,
    inputSchema: parameters,
    ...(outputSchema !== null && { outputSchema }),
    annotations: {
      title: tool.title,
      readOnlyHint: readOnly,
      destructiveHint: !readOnly && (tool.destructive ?? false),
      idempotentHint: readOnly,
      openWorldHint: tool.openWorld ?? false,
    },
  };
}

const FORMS = {
  plain: (tool: SecureTool) => definitionOf(tool),
  openai: (tool: SecureTool) => toOpenAi(tool),
  anthropic: (tool: SecureTool) => toAnthropic(tool),
  mcp: (tool: SecureTool) => toMcp(tool),
} as const;

export type DefinitionForm = keyof typeof FORMS;

export function toolDefinitions<Form extends DefinitionForm>(
  form: Form,
  tools: readonly SecureTool[] = ALL_TOOLS,
): readonly ReturnType<(typeof FORMS)[Form]>[] {
  return tools.map((tool) => FORMS[form](tool) as ReturnType<(typeof FORMS)[Form]>);
}

/** The two tools that work in a task's environment, under the names that its prompt gives them. */
export function environmentDefinitions() {
  const { execute_command: execute, text_editor: editor } = ToolCatalog;
  return {
    execute: definitionOf(execute as SecureTool, "command-executor_execute_command"),
    editor: definitionOf(editor as SecureTool, "text_editor"),
  };
}

/** A toolkit as a model calls it: definitions, and results as one text. */
export function modelTools(toolkit: Pick<AgentToolkit, "available" | "invoke">) {
  return {
    tools: toolkit.available().map((tool) => definitionOf(tool)) as unknown as readonly (ToolDefinition & {
      readonly parameters: Readonly<Record<string, unknown>>;
    })[],
    invoke: async (name: string, args: unknown, options: CallOptions) =>
      resultText(await toolkit.invoke(name, args, options)),
  };
}

function resultText(result: ToolResult): { ok: boolean; text: string; jobId?: string } {
  if (result.status !== "success") return { ok: false, text: `${result.error.code}: ${result.message}` };
  const { job_id: jobId, data, notes = [], changes = [] } = result;
  const text = [
    typeof data === "string" ? data : data === undefined ? "done" : JSON.stringify(data),
    ...(changes.length === 0 ? [] : [`changed: ${changes.map(({ path }) => path).join(", ")}`]),
    ...notes,
  ].join("\n");
  return { ok: true, text, ...(jobId !== undefined && { jobId }) };
}
