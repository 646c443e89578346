import type { Subcommand } from "./command.ts";
import { openIndexFromFlags, readFlags } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

/** `db migrate|status`: the store, which indexes jobs and can be rebuilt from their folders. */
export const command: Subcommand = {
  name: "db",
  usage: "db migrate|status",
  flags: {},
  words: 1,
  run: db,
};

async function db(program: CliProgram, args: readonly string[]): Promise<number> {
  const flags = await readFlags(program, command, args);
  const [verb = "status"] = flags.words;
  if (verb !== "status" && verb !== "migrate") {
    program.err("picoclaw db migrate|status\n");
    return EXIT.usage;
  }
  const { index } = await openIndexFromFlags(program, flags);
  try {
    const applied = verb === "migrate" ? await index.migrate() : [];
    if (verb === "migrate") await index.syncAll();
    const status = await index.status();
    if (flags.values.json === true)
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
