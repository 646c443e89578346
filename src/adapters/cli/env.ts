import { resolveLocale } from "../../config/locale.ts";
import { environmentMessages } from "../../domain/texts/texts.ts";
import type { CliCommand, Subcommand } from "./command.ts";
import { ENV } from "./env-help.ts";
import { fail } from "./fail.ts";
import { readFlags } from "./flags.ts";
import { EXIT } from "./program.ts";

const SUBCOMMANDS: Readonly<Record<string, () => Promise<CliCommand>>> = {
  prepare: async () => (await import("./env-prepare.ts")).envPrepare,
  exec: async () => (await import("./env-exec.ts")).envExec,
  edit: async () => (await import("./env-edit.ts")).envEdit,
  list: async () => (await import("./env-list.ts")).envList,
  info: async () => (await import("./env-list.ts")).envInfo,
  cleanup: async () => (await import("./env-cleanup.ts")).envCleanup,
  prune: async () => (await import("./env-cleanup.ts")).envPrune,
};

/** `env list|prepare|exec|edit|info|cleanup|prune`: task environments. */
const env: CliCommand = async (program, args) => {
  const at = actionAt(args);
  const name = args[at];
  const rest = args.toSpliced(at, 1);
  const load = name !== undefined && Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (load !== undefined) return (await load())(program, rest);
  if (name === undefined)
    await readFlags(program, { ...ENV, flags: {}, words: 0 }, args.length === 0 ? ["--help"] : args);
  const texts = environmentMessages(resolveLocale({ env: program.env }));
  const text = texts.unknownSubcommand(`env ${name ?? ""}`.trim(), Object.keys(SUBCOMMANDS));
  return fail(program, rest.includes("--json"), { exitCode: EXIT.usage, code: "usage", text });
};

export const command: Subcommand = { ...ENV, flags: {}, words: 0, run: env };

/** The first word, after flags that every command takes. */
function actionAt(args: readonly string[]): number {
  let at = 0;
  while (args[at]?.startsWith("-")) at += args[at] === "--workspace" || args[at] === "--config" ? 2 : 1;
  return at;
}
