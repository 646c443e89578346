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

/** The launcher starts the runtime elsewhere, so that it reads no file of the user's folder; a launch without it stays where it is. */
function enterStartFolder(env: NodeJS.ProcessEnv): void {
  const { PICOCLAW_STARTED_IN: folder } = env;
  delete env.PICOCLAW_STARTED_IN;
  if (folder) process.chdir(folder);
}

enterStartFolder(process.env);
void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
