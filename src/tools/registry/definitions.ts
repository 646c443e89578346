import { z } from "zod";
import { ToolCatalog, type ToolName } from "../catalog.ts";
import type { SecureTool } from "../create-secure-tool.ts";
import { ALL_TOOLS } from "../find-tool.ts";
import { outputSchemaOf } from "./output-schema.ts";

/** How a tool is described to a model. */
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

/** Read off each tool's one schema. Under an alias the same definition stands with that name. */
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

/** All tools, or those given, in one form. */
export function toolDefinitions<Form extends DefinitionForm>(
  form: Form,
  tools: readonly SecureTool[] = ALL_TOOLS,
): readonly ReturnType<(typeof FORMS)[Form]>[] {
  return tools.map((tool) => FORMS[form](tool) as ReturnType<(typeof FORMS)[Form]>);
}
