import type { z } from "zod";
import { ALL_TOOLS, findTool, type ToolCatalog, type ToolName } from "./catalog.ts";
import type { CallOptions, SecureTool } from "./create-secure-tool.ts";
import { policyVerdict, type ToolContext } from "./tool-context.ts";
import { failedResult, type ToolResult } from "./tool-result.ts";

type CamelCase<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<CamelCase<Tail>>}`
  : Name;

type Method<Tool> =
  Tool extends SecureTool<string, infer Schema, infer Data>
    ? (args: z.input<Schema>, options?: CallOptions) => Promise<ToolResult<Data>>
    : never;

/** `applyPatch`, `readFile`, … : one method per tool of the catalogue. */
type ToolMethods = {
  readonly [Name in ToolName as CamelCase<Name>]: Method<(typeof ToolCatalog)[Name]>;
};

export interface AgentToolkit extends ToolMethods {
  readonly context: ToolContext;
  /** Calls a tool by name or alias, with arguments of any shape. Never rejects. */
  invoke(name: string, args?: unknown, options?: CallOptions): Promise<ToolResult>;
  /** Those that the policy and the write scope do not refuse outright. */
  available(): readonly SecureTool[];
}

export function createAgentToolkit(context: ToolContext): AgentToolkit {
  const methods = Object.fromEntries(
    ALL_TOOLS.map((tool) => [
      camelCase(tool.name),
      (args: unknown, options?: CallOptions) => tool.invoke(context, args, options),
    ]),
  ) as unknown as ToolMethods;
  return {
    ...methods,
    context,
    async invoke(name, args, options) {
      const tool = findTool(name);
      if (tool === undefined)
        return failedResult("UNKNOWN_TOOL", `unknown tool: ${name.slice(0, 100)}`, "tool");
      return tool.invoke(context, args, options);
    },
    available: () =>
      ALL_TOOLS.filter(
        ({ name, aliases, access }) =>
          policyVerdict(context.policy, [name, ...aliases]) === "allow" &&
          !(access === "write" && context.writeScope === "read-only"),
      ),
  };
}

function camelCase(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
