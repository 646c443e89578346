/** An agent of your own with hands that cannot break what they touch: bun give-my-agent-tools.ts FOLDER */
import { createAgentToolkit, createToolContext, toolDefinitions } from "picoclaw";

const workspace = process.argv[2] ?? process.cwd();
const toolkit = createAgentToolkit(await createToolContext({ workspace }));

interface Call {
  readonly name: string;
  readonly arguments: unknown;
}

/** Your model stands here: it is shown the definitions and the results so far, and says what to call next. */
function askModel(tools: readonly object[], results: readonly string[]): Call | null {
  const script: readonly Call[] = [
    { name: "write_file", arguments: { path: "todo.md", content: "- buy milk\n" } },
    {
      name: "text_editor",
      arguments: { command: "str_replace", path: "todo.md", old_str: "milk", new_str: "tea" },
    },
    { name: "read_file", arguments: { path: "../secret.txt" } },
    { name: "execute_command", arguments: { command: "cat todo.md" } },
  ];
  return tools.length > 0 ? (script[results.length] ?? null) : null;
}

const definitions = toolDefinitions("openai", toolkit.available());
console.log(`${definitions.length} tools`);
const results: string[] = [];
const jobs: string[] = [];
for (let call = askModel(definitions, results); call !== null; call = askModel(definitions, results)) {
  // Never rejects: what failed or was denied is told to the model like everything else.
  const result = await toolkit.invoke(call.name, call.arguments);
  results.push(JSON.stringify(result));
  if (result.status === "success" && result.job_id !== undefined) jobs.unshift(result.job_id);
  console.log(`${call.name}: ${result.status === "success" ? "success" : result.error.code}`);
}

// Whatever it did, newest first.
for (const job_id of jobs) {
  const undone = await toolkit.undoJob({ job_id });
  console.log(`undo_job: ${undone.status}`);
}
