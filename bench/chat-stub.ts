import type { ScriptedCall, ScriptedReply } from "../test/fakes/model-server/reply.ts";
import { type ModelServer, type SeenRequest, startModelServer } from "../test/fakes/model-server/server.ts";

/** The one edit that every contestant is asked for. */
export const PROMPT = "Create hello.txt containing hello world.";
export const FILE = "hello.txt";
export const CONTENT = "hello world\n";

const PROPOSAL = `## Plan
Create ${FILE}.

## Patch
\`\`\`text:${FILE}
${CONTENT}\`\`\`

## Risk
low
`;

/**
 * A model without latency that has every agent make the same edit by the agent's own tool, and then says it is done. An
 * agent that offers no tools to write with gets a proposal.
 */
export function startChatStub(workspace: string): Promise<ModelServer> {
  return startModelServer({ script: (request) => replyTo(request, workspace) });
}

function replyTo(request: SeenRequest, workspace: string): ScriptedReply {
  const tools = toolsOf(request);
  // PicoClaw's coders look around by tools and write proposals.
  if (tools.length === 0 || JSON.stringify(request.body).includes("a coder of PicoClaw"))
    return { text: PROPOSAL };
  if (hasResult(request)) return { text: "done" };
  const call = callOf(tools, workspace);
  return call === undefined
    ? { text: `no tool to write with among ${tools.map(({ name }) => name)}` }
    : { toolCalls: [call] };
}

interface Offered {
  readonly name: string;
  readonly custom: boolean;
  readonly properties: Readonly<Record<string, { readonly type?: unknown }>>;
  readonly required: readonly string[];
}

/** biome-ignore lint/suspicious/noExplicitAny: what strangers send is looked into freely */
type Loose = any;

function toolsOf({ protocol, body }: SeenRequest): Offered[] {
  const offered = (name: string, schema: Loose, custom = false): Offered => ({
    name,
    custom,
    properties: schema?.properties ?? {},
    required: schema?.required ?? [],
  });
  const list: Loose[] = body.tools ?? [];
  switch (protocol) {
    case "anthropic":
      return list.filter((tool) => tool.input_schema).map((tool) => offered(tool.name, tool.input_schema));
    case "gemini":
      return list
        .flatMap((tool) => tool.functionDeclarations ?? [])
        .map((tool: Loose) => offered(tool.name, tool.parametersJsonSchema ?? tool.parameters));
    case "openai-responses": {
      const more = (Array.isArray(body.input) ? body.input : [])
        .filter((item: Loose) => item.type === "additional_tools")
        .flatMap((item: Loose) => item.tools ?? []);
      const flat = (tools: Loose[]): Loose[] =>
        tools.flatMap((tool) => (tool.type === "namespace" ? flat(tool.tools ?? []) : [tool]));
      return flat([...list, ...more])
        .filter((tool) => tool.type === "function" || tool.type === "custom")
        .map((tool) => offered(tool.name, tool.parameters, tool.type === "custom"));
    }
    default:
      return list.map((tool) => offered(tool.function?.name, tool.function?.parameters));
  }
}

function hasResult({ body }: SeenRequest): boolean {
  const turns: Loose[] = body.messages ?? body.contents ?? (Array.isArray(body.input) ? body.input : []);
  return turns.some(
    (turn) =>
      turn.role === "tool" ||
      String(turn.type ?? "").endsWith("_output") ||
      (Array.isArray(turn.content) && turn.content.some((part: Loose) => part.type === "tool_result")) ||
      (Array.isArray(turn.parts) && turn.parts.some((part: Loose) => part.functionResponse)),
  );
}

const PATCH = `*** Begin Patch\n*** Add File: ${FILE}\n+${CONTENT.trimEnd()}\n*** End Patch`;

/** A tool that writes files, else one that patches, else a shell. */
function callOf(tools: readonly Offered[], workspace: string): ScriptedCall | undefined {
  const called = (...names: string[]) => tools.find(({ name }) => names.includes(name));
  const writer = called("Write", "write_file", "write", "create_file");
  if (writer !== undefined)
    return filled(writer, [
      [["file_path", "filePath", "path"], `${workspace}/${FILE}`],
      [["content", "contents", "text"], CONTENT],
    ]);
  const patcher = called("apply_patch");
  if (patcher?.custom) return { name: patcher.name, arguments: PATCH, custom: true };
  if (patcher !== undefined) return filled(patcher, [[["input", "patch", "patchText"], PATCH]]);
  const code = called("exec");
  if (code?.custom)
    return {
      name: code.name,
      arguments: `text(await tools.apply_patch(${JSON.stringify(PATCH)}))`,
      custom: true,
    };
  const shell = called("Bash", "bash", "run_shell_command", "exec_command", "shell_command", "shell");
  const command = `printf '${CONTENT.trimEnd()}\\n' > ${FILE}`;
  if (shell === undefined) return undefined;
  const isList = [shell.properties.command?.type].flat().includes("array");
  return filled(shell, [[["command", "cmd"], isList ? ["sh", "-c", command] : command]]);
}

/** The first of the names that the tool has; what else it requires gets something of its type. */
function filled(
  tool: Offered,
  values: readonly (readonly [names: readonly string[], value: unknown])[],
): ScriptedCall {
  const args: Record<string, unknown> = {};
  for (const [names, value] of values)
    args[names.find((name) => name in tool.properties) ?? (names[0] as string)] = value;
  for (const name of tool.required) {
    const type = [tool.properties[name]?.type].flat()[0];
    args[name] ??= type === "boolean" ? false : type === "number" || type === "integer" ? 1 : "edit";
  }
  return { name: tool.name, arguments: args };
}
