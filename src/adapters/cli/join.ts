import { fleetMessagesFor } from "../../domain/texts/fleet.ts";
import { type Flags, refuseUsage, refuseWork, type Subcommand, untilStopped } from "./command.ts";
import { openOrStop } from "./flags.ts";
import { type CliProgram, EXIT } from "./program.ts";

const MOST = 1_000;

/** `join`: adds this machine, or another process on it, to the workers of a shared store until a signal ends it. */
export const command: Subcommand = {
  name: "join",
  usage: "join",
  flags: { labels: "string", concurrency: "string" },
  run: join,
};

async function join(program: CliProgram, { values, json }: Flags): Promise<number> {
  const opened = await openOrStop(program, values, (options) =>
    program.openServe({ ...options, demo: false }),
  );
  try {
    const t = fleetMessagesFor(opened.messages.locale);
    const bad = (text: string) => refuseUsage(program, json, text);
    const labels = String(values.labels ?? "")
      .split(",")
      .map((label) => label.trim())
      .filter((label) => label !== "");
    const concurrency = Number(values.concurrency ?? opened.config.serve.max_chats);
    if (!labels.every((label) => /^[\w.-]{1,60}$/.test(label))) return bad(t.badLabels);
    if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > MOST) return bad(t.badConcurrency);
    if (opened.config.database_url === null) return refuseWork(program, json, "database", t.needsDatabase);
    const log = (text: string) => program.err(`${text}\n`);
    const starting = opened.join({ labels, concurrency, log });
    const stopped = untilStopped(program, opened.words, starting);
    const joined = await starting.catch((error: unknown) => {
      if ((error as { code?: string }).code !== "machine") throw error;
      return (error as Error).message;
    });
    if (typeof joined === "string") return refuseWork(program, json, "machine", joined);
    const { machineName: machine } = joined;
    const { root } = opened.workspace;
    program.out(
      json
        ? `${JSON.stringify({ machine, workspace: root, labels: joined.labels, concurrency })}\n`
        : `${t.joined(machine, root, joined.labels.join(","))}\n`,
    );
    await stopped;
    return EXIT.done;
  } finally {
    await opened.close();
  }
}
