import type { Subcommand } from "./command.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** One line a command, in the order of the help; each is imported when it is called. */
const COMMANDS: Readonly<Record<string, () => Promise<Subcommand>>> = {
  chat: async () => (await import("./chat.ts")).command,
  apply: async () => (await import("./apply.ts")).command,
  discard: async () => (await import("./undo.ts")).discardCommand,
  undo: async () => (await import("./undo.ts")).command,
  redo: async () => (await import("./undo.ts")).redoCommand,
  jobs: async () => (await import("./jobs.ts")).command,
  stop: async () => (await import("./undo.ts")).stopCommand,
  ps: async () => (await import("./ps.ts")).command,
  show: async () => (await import("./show.ts")).command,
  diff: async () => (await import("./diff.ts")).command,
  why: async () => (await import("./why.ts")).command,
  checks: async () => (await import("./checks.ts")).command,
  stats: async () => (await import("./stats.ts")).command,
  export: async () => (await import("./chats.ts")).exportCommand,
  compare: async () => (await import("./compare.ts")).command,
  bisect: async () => (await import("./bisect.ts")).command,
  tool: async () => (await import("./tool.ts")).command,
  tools: async () => (await import("./tool.ts")).toolsCommand,
  solve: async () => (await import("./solve.ts")).command,
  pair: async () => (await import("./pair.ts")).command,
  mcp: async () => (await import("./mcp.ts")).command,
  acp: async () => (await import("./mcp.ts")).acpCommand,
  env: async () => (await import("./env.ts")).command,
  images: async () => (await import("./env.ts")).imagesCommand,
  serve: async () => (await import("./serve.ts")).command,
  join: async () => (await import("./serve.ts")).joinCommand,
  fleet: async () => (await import("./fleet.ts")).command,
  run: async () => (await import("./run.ts")).command,
  init: async () => (await import("./init.ts")).command,
  login: async () => (await import("./login.ts")).command,
  config: async () => (await import("./config.ts")).command,
  trust: async () => (await import("./trust.ts")).command,
  doctor: async () => (await import("./doctor.ts")).command,
  db: async () => (await import("./db.ts")).command,
  backup: async () => (await import("./db.ts")).backupCommand,
  restore: async () => (await import("./db.ts")).restoreCommand,
  completion: async () => (await import("./help.ts")).completionOf(allCommands),
  man: async () => (await import("./help.ts")).manOf(allCommands),
  update: async () => (await import("./update.ts")).command,
  uninstall: async () => (await import("./update.ts")).uninstallCommand,
  demo: async () => (await import("./demo.ts")).commandWith(dispatch),
} satisfies TakenNames & Readonly<Record<string, unknown>>;

/** A command of such a name would never run; the compiler says who answers instead. */
interface TakenNames {
  readonly version?: "src/main.ts answers this name before it reads the table";
  readonly help?: "dispatch answers this name before it reads the table";
  readonly log?: "OTHER_NAMES has this name for jobs";
}

/** Names that users of other tools type. */
const OTHER_NAMES: Readonly<Record<string, string>> = { log: "jobs" };

function allCommands(): Promise<readonly Subcommand[]> {
  return Promise.all(Object.values(COMMANDS).map((load) => load()));
}

export async function dispatch(
  name: string | undefined,
  args: readonly string[],
  program: CliProgram,
): Promise<number> {
  const [about] = args;
  if (name === "help" && about !== undefined && !about.startsWith("-"))
    return dispatch(about, ["--help"], program);
  const atTerminal = program.inIsTerminal && program.outIsTerminal;
  if (name === undefined && args.length === 0 && atTerminal) return guarded(program, args, openBare);
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const { help } = await import("./help.ts");
    program.out(help(program, await allCommands()));
    return name === undefined ? EXIT.usage : EXIT.done;
  }
  if (name.startsWith("-"))
    return (await import("./flags.ts")).flagsFirst(program, [name, ...args], dispatch);
  const known = OTHER_NAMES[name] ?? name;
  const load = Object.hasOwn(COMMANDS, known) ? COMMANDS[known] : undefined;
  // A sentence is not the name of a command but a message.
  if (load === undefined && args.length === 0 && /\s|[^\x00-\x7f]/.test(name.trim()))
    return guarded(program, args, async (here) => (await import("./chat.ts")).chatFrom(here, name));
  if (load === undefined) {
    const names = Object.keys({ ...COMMANDS, ...OTHER_NAMES });
    const text = (await import("./help.ts")).unknownCommand(program, name, names);
    const { refuseInput } = await import("./command.ts");
    return refuseInput({ ...program, json: args.includes("--json") }, "unknown-command", text);
  }
  return guarded(program, args, async (here) => {
    const command = await load();
    if ("runAction" in command) return command.runAction(here, args);
    const { runWithFlags } = await import("./flags.ts");
    return runWithFlags(here, command, args);
  });
}

const SIGNAL_MS = 50;

async function guarded(
  whole: CliProgram,
  args: readonly string[],
  run: (program: CliProgram) => Promise<number>,
): Promise<number> {
  const program = { ...whole, json: args.includes("--json") };
  const state = { isInterrupted: false };
  const interrupt = () => {
    state.isInterrupted = true;
    // A single listener means that no job has to be taken back first.
    if (process.listenerCount("SIGINT") === 1) process.exit(EXIT.interrupted);
  };
  process.on("SIGINT", interrupt);
  try {
    const code = await run(program).catch(async (error: unknown) => {
      const { reportCrash } = await import("./crash.ts");
      return reportCrash(program, error);
    });
    // Ctrl-C reaches the processes of a job too, and their end may be reported before the signal arrives.
    if (code !== EXIT.done && program.inIsTerminal)
      await new Promise((resolve) => setTimeout(resolve, SIGNAL_MS));
    return state.isInterrupted && code !== EXIT.done ? EXIT.interrupted : code;
  } finally {
    process.off("SIGINT", interrupt);
  }
}

/** `picoclaw` alone at a terminal: the conversation; without a model that could answer, the set-up first. */
async function openBare(program: CliProgram): Promise<number> {
  if (!program.isConfigured()) {
    const code = await (await import("./init.ts")).init(program, { values: {}, words: [] });
    if (code !== EXIT.done || !program.isConfigured()) return code;
  }
  const wish = { route: undefined, first: null };
  return (await import("./open-conversation.ts")).openConversation(program, {}, wish);
}
