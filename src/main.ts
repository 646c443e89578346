import { VERSION } from "./version.ts";

/** The way in. `--version` touches nothing else; every other command imports what it uses when it uses it. */
async function main([command, ...rest]: readonly string[]): Promise<number> {
  if (command === "--version" || command === "-V" || command === "version") {
    console.log(VERSION);
    return 0;
  }
  const { dispatch } = await import("./adapters/cli/dispatch.ts");
  const { createProgram } = await import("./wiring/program.ts");
  return dispatch(command, rest, createProgram(process.env, process.cwd()));
}

void main(process.argv.slice(2)).then((code) => {
  process.exitCode = code;
});
