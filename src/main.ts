import { writeSync } from "node:fs";
import { toFaultText } from "./domain/platform/error-text.ts";
import { takeFaults } from "./infrastructure/platform/process-faults.ts";
import { VERSION } from "./version.ts";

/** Whether standard output has begun: a document for programs is printed once. */
const said = { onOut: false };

/** The way in. `--version` touches nothing else; every other command imports what it uses when it uses it. */
async function main([command, ...rest]: readonly string[]): Promise<number> {
  if (command === "--version" || command === "-V" || command === "version") {
    console.log(VERSION);
    return 0;
  }
  // Beside a background process, started by this program itself.
  if (command === "--keep-process")
    return (await import("./wiring/processes.ts")).keepProcessOf(process.env, rest[0] ?? "");
  // A process that answers the messages of a server, started by it.
  if (command === "--hand") {
    // Of the runtime's channel, which it has opened; nothing that a hand starts may have it.
    delete process.env.NODE_CHANNEL_FD;
    return (await import("./wiring/hand.ts")).runHand(process.env);
  }
  const { dispatch } = await import("./adapters/cli/dispatch.ts");
  const program = await openProgram();
  return dispatch(command, rest, {
    ...program,
    out: (text) => {
      said.onOut = true;
      program.out(text);
    },
  });
}

async function openProgram() {
  const { createProgram } = await import("./wiring/program.ts");
  const { withKeptKeys } = await import("./infrastructure/setup/kept-keys.ts");
  const { resolveHome } = await import("./config/environment.ts");
  const { env, refused } = withKeptKeys(process.env, resolveHome(process.env));
  if (refused !== null) {
    const { resolveLocale } = await import("./domain/texts/locale.ts");
    const { setupMessagesFor } = await import("./domain/texts/setup.ts");
    process.stderr.write(`${setupMessagesFor(resolveLocale({ env })).keysOpenToOthers(refused)}\n`);
  }
  return createProgram(env, process.cwd());
}

/**
 * The launcher starts the runtime elsewhere, so that it reads no file of the user's folder; a launch without it stays where it
 * is. The result is a folder that cannot be entered: it is gone, or the runtime cannot say its name. The launcher's variables are
 * for this process alone, not for the programs that it starts.
 */
function enterStartFolder(env: NodeJS.ProcessEnv): string | null {
  const { PICOCLAW_STARTED_IN: folder } = env;
  for (const own of ["ALLOW_THP", "ARENA_RESERVE", "PURGE_DELAY"]) delete env[`MIMALLOC_${own}`];
  delete env.PICOCLAW_STARTED_IN;
  try {
    process.chdir(folder ?? process.cwd());
    return null;
  } catch {
    process.chdir("/");
    return folder || ".";
  }
}

/** Help and version need no folder. Other words may belong to a command, which then would run in no folder of the user's. */
function asksAboutProgram([first = "", second, ...more]: readonly string[]): boolean {
  if (["version", "--version", "-V", "help", "--help", "-h"].includes(first)) return true;
  return first !== "--" && second === "--help" && more.length === 0;
}

async function refuseFolder(folder: string): Promise<number> {
  const { resolveLocale } = await import("./domain/texts/locale.ts");
  const { messagesFor } = await import("./domain/texts/jobs.ts");
  const { printable } = await import("./adapters/cli/command.ts");
  const { startFolderAway } = messagesFor(resolveLocale({ env: process.env }));
  process.stderr.write(`${printable(startFolderAway(folder))}\n`);
  return 3;
}

/** The one handler at the edge of this process. Of several errors the first is reported. */
async function endOnce(running: Promise<unknown>, error: unknown): Promise<void> {
  faults.count += 1;
  if (faults.count > 1) return;
  faults.first = error;
  try {
    const { endByFault } = await import("./adapters/cli/crash.ts");
    const json = () => process.argv.includes("--json") && !said.onOut;
    const reports = () => {
      faults.isReported = true;
    };
    await endByFault(await openProgram(), error, { json, running, reports });
  } catch {
    // The program's own files are gone, and its words with them.
    process.stderr.write(`picoclaw: ${toFaultText(error)}\n`);
    process.exit(1);
  }
}

const faults: { count: number; isDone: boolean; isReported: boolean; first?: unknown } = {
  count: 0,
  isDone: false,
  isReported: false,
};

function start(): void {
  const [away, args] = [enterStartFolder(process.env), process.argv.slice(2)];
  const running = away === null || asksAboutProgram(args) ? main(args) : refuseFolder(away);
  const end = (error: unknown) => endOnce(running, error);
  takeFaults((error) => void end(error));
  process.once("exit", failUnlessDone);
  running.then((code) => {
    faults.isDone = true;
    if (faults.count === 0) process.exitCode = code;
  }, end);
}

/** Without an open file left, the runtime cannot load what reports a fault, and would end as if all had succeeded. */
function failUnlessDone(code: number): void {
  if (code !== 0 || (faults.isDone && faults.count === 0)) return;
  process.exitCode = 1;
  // The command may end by itself before the program that reports its fault ends it.
  if (!faults.isReported)
    writeSync(2, `picoclaw: ${faults.first === undefined ? "ended early" : toFaultText(faults.first)}\n`);
}

// The runtime collects all garbage once if something is under way when its entry has been read, which is a tenth of the
// time of a message. A command that begins when the runtime would end is spared that; a server trades it for less memory.
if (["serve", "join", "--hand"].includes(process.argv[2] ?? "")) start();
else process.once("beforeExit", start);
