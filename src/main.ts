import { VERSION } from "./version.ts";

/** The way in. `--version` touches nothing else; every other command imports what it uses when it uses it. */
async function main([command, ...rest]: readonly string[]): Promise<number> {
  if (command === "--version" || command === "-V" || command === "version") {
    console.log(VERSION);
    return 0;
  }
  // Beside a background process, started by this program itself.
  if (command === "--keep-process")
    return (await import("./wiring/processes.ts")).keepProcessOf(process.env, rest[0] ?? "");
  const { dispatch } = await import("./adapters/cli/dispatch.ts");
  const { createProgram } = await import("./wiring/program.ts");
  return dispatch(command, rest, createProgram(process.env, process.cwd()));
}

/**
 * The launcher starts the runtime elsewhere, so that it reads no file of the user's folder; a launch without it stays where it
 * is. The result is a folder that cannot be entered: it is gone, or the runtime cannot say its name.
 */
function enterStartFolder(env: NodeJS.ProcessEnv): string | null {
  const { PICOCLAW_STARTED_IN: folder } = env;
  delete env.PICOCLAW_STARTED_IN;
  try {
    if (folder) process.chdir(folder);
    return null;
  } catch {
    return folder ?? "";
  }
}

async function refuseFolder(folder: string): Promise<number> {
  const { resolveLocale } = await import("./config/environment.ts");
  const { messagesFor } = await import("./domain/texts/jobs.ts");
  const { printable } = await import("./adapters/cli/command.ts");
  const { startFolderAway } = messagesFor(resolveLocale({ env: process.env }));
  process.stderr.write(`${printable(startFolderAway(folder))}\n`);
  return 3;
}

const away = enterStartFolder(process.env);
void (away === null ? main(process.argv.slice(2)) : refuseFolder(away)).then((code) => {
  process.exitCode = code;
});
