import { VERSION } from "./version.ts";

/** The way in. `--version` touches nothing else; every other command imports what it uses when it uses it. */
const [command, ...rest] = process.argv.slice(2);

if (command === "--version" || command === "-V" || command === "version") {
  console.log(VERSION);
} else {
  const { dispatch } = await import("./adapters/cli/dispatch.ts");
  const { createProgram } = await import("./wiring/program.ts");
  process.exitCode = await dispatch(command, rest, createProgram(process.env, process.cwd()));
}
