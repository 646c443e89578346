import type { CliCommand } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** One line per command; each is imported when it is called. */
const COMMANDS: Readonly<Record<string, () => Promise<CliCommand>>> = {
  chat: async () => (await import("./chat.ts")).chat,
  apply: async () => (await import("./apply.ts")).apply,
  undo: async () => (await import("./undo.ts")).undo,
  redo: async () => (await import("./undo.ts")).redo,
  jobs: async () => (await import("./jobs.ts")).jobs,
  stop: async () => (await import("./stop.ts")).stop,
  show: async () => (await import("./show.ts")).show,
  tool: async () => (await import("./tool.ts")).tool,
  tools: async () => (await import("./tools.ts")).tools,
  solve: async () => (await import("./solve.ts")).solve,
  pair: async () => (await import("./pair.ts")).pair,
  mcp: async () => (await import("./mcp.ts")).mcp,
  env: async () => (await import("./env.ts")).env,
  images: async () => (await import("./images.ts")).images,
  serve: async () => (await import("./serve.ts")).serve,
  run: async () => (await import("./run.ts")).run,
  init: async () => (await import("./init.ts")).init,
  config: async () => (await import("./config.ts")).config,
  trust: async () => (await import("./trust.ts")).trust,
  db: async () => (await import("./db.ts")).db,
  doctor: async () => (await import("./doctor.ts")).doctor,
  demo: async () => {
    const { demo } = await import("./demo.ts");
    return (program, args) => demo(program, args, dispatch);
  },
};

export async function dispatch(
  name: string | undefined,
  args: readonly string[],
  program: CliProgram,
): Promise<number> {
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    program.out((await import("./help.ts")).help(program.env));
    return name === undefined ? EXIT.usage : EXIT.done;
  }
  const load = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  if (load === undefined) {
    const text = (await import("./help.ts")).unknownCommand(program.env, name, Object.keys(COMMANDS));
    const { fail } = await import("./fail.ts");
    return fail(program, args.includes("--json"), { exitCode: EXIT.usage, code: "unknown-command", text });
  }
  try {
    return await (await load())(program, args);
  } catch (error) {
    const { reportCrash } = await import("./crash.ts");
    return reportCrash(program, error, args.includes("--json"));
  }
}
