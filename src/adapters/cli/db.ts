import { type Flags, refuseUsage, type Subcommand, succeed } from "./command.ts";
import { openIndexFromFlags, usageText } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";
import { reportFilled, withStoreData } from "./store-data.ts";

/** `db`: the store. Its index of jobs can be rebuilt from their folders; the rest of it is copied and forgotten here. */
export const command: Subcommand = {
  name: "db",
  usage: "db [status|migrate|copy|forget]",
  words: 2,
  run: db,
};

async function db(program: CliProgram, flags: Flags): Promise<number> {
  const [verb = "status"] = flags.words;
  if (verb === "copy" || verb === "forget") return whole(program, flags, verb);
  if ((verb !== "status" && verb !== "migrate") || flags.words.length > 1) return usage(program, flags);
  const { index } = await openIndexFromFlags(program, flags);
  try {
    const applied = verb === "migrate" ? await index.migrate() : [];
    if (verb === "migrate") await index.syncAll();
    const status = await index.status();
    if (flags.json)
      program.out(`${JSON.stringify({ ...status, ...(verb === "migrate" && { migrated: applied }) })}\n`);
    else
      program.out(
        `${status.applied
          .map((name) => `✓ ${name}`)
          .concat(status.pending.map((name) => `… ${name}`))
          .join("\n")}\njobs: ${status.jobs}\n`,
      );
    return EXIT.done;
  } finally {
    await index.close();
  }
}

/** `db copy ADDRESS` and `db forget CHANNEL:USER`. */
async function whole(program: CliProgram, flags: Flags, verb: "copy" | "forget"): Promise<number> {
  const given = flags.words[1] ?? "";
  const { json } = flags;
  if (verb === "copy") {
    // The address holds a password, which other users of the machine may read among the arguments of a process.
    const named = /^env:(.+)$/.exec(given)?.[1];
    const address = named === undefined ? given : (program.env[named] ?? "");
    if (!/^postgres(ql)?:\/\//.test(address)) return usage(program, flags);
    return withStoreData(program, flags, async ({ data, words }) =>
      reportFilled(program, json, words, await data.copyTo(address)),
    );
  }
  const [, channel, userId] = /^([a-z]+):(.+)$/.exec(given) ?? [];
  if (channel === undefined || userId === undefined) return usage(program, flags);
  return withStoreData(program, flags, async ({ data, words }) => {
    const rows = await data.forget({ channel, userId });
    return succeed(program, json, { success: true, rows }, words.personForgotten(given, rows));
  });
}

function usage(program: CliProgram, { json }: Flags): number {
  const words = "db [status|migrate|copy postgres://…|copy env:NAME|forget CHANNEL:USER]";
  const text = usageText(program, { name: "db", usage: words });
  return refuseUsage(program, json, text);
}
