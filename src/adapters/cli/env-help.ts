import type { CommandLine } from "./command.ts";

/** What `--help` shows, whatever the action. */
export const ENV: Pick<CommandLine, "name" | "usage"> = { name: "env", usage: "env ACTION" };
