import { resolve } from "node:path";
import type { FillResult } from "../../application/ports/store.ts";
import type { MemoryMessages } from "../../domain/texts/chat.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { type Flags, printJson, refuseUsage, refuseWork, type Subcommand, succeed } from "./command.ts";
import { closing, openOrStop, usageText } from "./flags.ts";
import { type CliProgram, EXIT, type OpenedStoreData } from "./program.ts";
import { whileWaiting } from "./progress-line.ts";

type OpenData = Extract<OpenedStoreData, { ok: true }>;

/** `db`: the store. Its index of jobs can be rebuilt from their folders; the rest of it is copied and forgotten here. */
export const command: Subcommand = {
  name: "db",
  usage: "db [status|migrate|copy|forget]",
  words: 2,
  run: db,
};

async function db(program: CliProgram, flags: Flags): Promise<number> {
  const [verb = "status", given] = flags.words;
  if (verb === "copy") return copy(program, flags, given ?? "");
  if (verb === "forget") return forget(program, flags, given ?? "");
  if ((verb !== "status" && verb !== "migrate") || given !== undefined) return usage(program);
  const { index } = await openOrStop(program, flags.values, program.openIndex, "store");
  await using _ = closing(index);
  const migrated = verb === "migrate" ? { migrated: await index.migrate() } : {};
  if (verb === "migrate") await index.syncAll();
  const status = await index.status();
  if (program.json) return printJson(program, { ...status, ...migrated });
  const migrations = [
    ...status.applied.map((name) => `✓ ${name}`),
    ...status.pending.map((name) => `… ${name}`),
  ];
  program.out(`${migrations.join("\n")}\njobs: ${status.jobs}\n`);
  return EXIT.done;
}

/** `db copy ADDRESS`. The address holds a password, which other users of the machine may read among the arguments of a process. */
function copy(program: CliProgram, flags: Flags, given: string): number | Promise<number> {
  const named = /^env:(.+)$/.exec(given)?.[1];
  const address = named === undefined ? given : (program.env[named] ?? "");
  if (!/^postgres(ql)?:\/\//.test(address)) return usage(program);
  return withStoreData(program, flags, async ({ data, words }) =>
    reportFilled(program, words, await data.copyTo(address)),
  );
}

/** `db forget CHANNEL:USER`. */
function forget(program: CliProgram, flags: Flags, given: string): number | Promise<number> {
  const [, channel, userId] = /^([a-z]+):(.+)$/.exec(given) ?? [];
  if (channel === undefined || userId === undefined) return usage(program);
  return withStoreData(program, flags, async ({ data, words }) => {
    const rows = await data.forget({ channel, userId });
    return succeed(program, { success: true, rows }, words.personForgotten(given, rows));
  });
}

function usage(program: CliProgram): number {
  const words = "db [status|migrate|copy postgres://…|copy env:NAME|forget CHANNEL:USER]";
  return refuseUsage(program, usageText(program, { name: "db", usage: words }));
}

/** Does something with the whole store that the common flags mean, and closes it. */
async function withStoreData(
  program: CliProgram,
  { values }: Flags,
  use: (opened: OpenData) => Promise<number>,
): Promise<number> {
  const opened = await openOrStop(program, values, program.openStoreData, "store");
  await using _ = closing(opened.data);
  return await whileWaiting(program, messagesFor(program.locale).waitsFor.store, () => use(opened));
}

function reportFilled(program: CliProgram, words: MemoryMessages, filled: FillResult): number {
  if (filled.status === "filled")
    return succeed(program, { success: true, rows: filled.rows }, words.filled(filled.rows));
  return refuseWork(program, filled.status, refusedFillText(words, filled));
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
    withFolder(program, flags, backupCommand, async ({ data, words }, folder) => {
      const made = await data.backup(folder);
      if (made.status === "exists") return refuseWork(program, "exists", words.backupExists(folder));
      const { rows, undoData } = made;
      if (program.json) return printJson(program, { success: true, folder, rows, undo_data: undoData });
      program.out(`${words.backedUp(folder, rows)}\n`);
      if (undoData.length > 0) program.out(`${words.undoNotBackedUp(undoData)}\n`);
      return EXIT.done;
    }),
};

/** `restore FOLDER`: reads the output of `backup` into an empty store. */
export const restoreCommand: Subcommand = {
  ...backupCommand,
  name: "restore",
  usage: "restore FOLDER",
  run: (program, flags) =>
    withFolder(program, flags, restoreCommand, async ({ data, words }, folder) =>
      reportFilled(program, words, await data.restore(folder)),
    ),
};

/** The store, and the folder that the command has to name. */
async function withFolder(
  program: CliProgram,
  flags: Flags,
  command: Subcommand,
  use: (opened: OpenData, folder: string) => Promise<number>,
): Promise<number> {
  const [given] = flags.words;
  if (given === undefined) return refuseUsage(program, usageText(program, command));
  return withStoreData(program, flags, (opened) => use(opened, resolve(program.cwd, given)));
}
