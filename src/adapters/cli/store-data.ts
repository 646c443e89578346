import { resolve } from "node:path";
import type { FillResult } from "../../application/ports/store.ts";
import type { MemoryMessages } from "../../domain/texts/chat.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { resolveLocale } from "../../domain/texts/locale.ts";
import { type Flags, refuseUsage, refuseWork, type Subcommand, succeed } from "./command.ts";
import { notOpened, openOptions, usageText } from "./flags.ts";
import { type CliProgram, EXIT, type OpenedStoreData } from "./program.ts";
import { whileWaiting } from "./progress-line.ts";

type OpenData = Extract<OpenedStoreData, { ok: true }>;

/** Does something with the whole store that the common flags mean, and closes it. */
export async function withStoreData(
  program: CliProgram,
  { values, json: quiet }: Flags,
  use: (opened: OpenData) => Promise<number>,
): Promise<number> {
  const opened = await program.openStoreData(openOptions(program, values));
  if (!opened.ok) throw notOpened(program, values, opened, "store");
  try {
    const { waitsFor } = messagesFor(resolveLocale({ env: program.env }));
    return await whileWaiting(program, { words: waitsFor.store, quiet }, () => use(opened));
  } finally {
    await opened.data.close();
  }
}

export function reportFilled(
  program: CliProgram,
  json: boolean,
  words: MemoryMessages,
  filled: FillResult,
): number {
  if (filled.status === "filled")
    return succeed(program, json, { success: true, rows: filled.rows }, words.filled(filled.rows));
  return refuseWork(program, json, filled.status, refusedFillText(words, filled));
}

function refusedFillText(words: MemoryMessages, filled: Exclude<FillResult, { status: "filled" }>): string {
  switch (filled.status) {
    case "in-use":
      return words.storeInUse(filled.table);
    case "unequal":
      return words.storeUnequal(filled.table);
    case "damaged":
      return words.backupDamaged(filled.file);
    case "not-opened":
      return words.storeUnavailable(filled.trouble);
    case "other-version":
      return words.backupOfOther(filled.version);
  }
}

/** `backup FOLDER`: the store as it is at one moment, while others work with it. */
export const backupCommand: Subcommand = {
  name: "backup",
  usage: "backup FOLDER",
  words: 1,
  run: (program, flags) =>
    withFolder(program, flags, backupCommand, async ({ data, words }, folder, json) => {
      const made = await data.backup(folder);
      if (made.status === "exists") return refuseWork(program, json, "exists", words.backupExists(folder));
      const { rows, undoData } = made;
      if (json) program.out(`${JSON.stringify({ success: true, folder, rows, undo_data: undoData })}\n`);
      else program.out(`${words.backedUp(folder, rows)}\n`);
      if (!json && undoData.length > 0) program.out(`${words.undoNotBackedUp(undoData)}\n`);
      return EXIT.done;
    }),
};

/** `restore FOLDER`: reads the output of `backup` into an empty store. */
export const restoreCommand: Subcommand = {
  ...backupCommand,
  name: "restore",
  usage: "restore FOLDER",
  run: (program, flags) =>
    withFolder(program, flags, restoreCommand, async ({ data, words }, folder, json) =>
      reportFilled(program, json, words, await data.restore(folder)),
    ),
};

/** The store, and the folder that the command has to name. */
async function withFolder(
  program: CliProgram,
  flags: Flags,
  command: Subcommand,
  use: (opened: OpenData, folder: string, json: boolean) => Promise<number>,
): Promise<number> {
  const { json } = flags;
  const [given] = flags.words;
  if (given === undefined) return refuseUsage(program, json, usageText(program, command));
  return withStoreData(program, flags, (opened) => use(opened, resolve(program.cwd, given), json));
}
