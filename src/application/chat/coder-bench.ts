import { oneLine } from "../../domain/texts/format-results.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { Bench } from "../work/coder/bench.ts";
import { createDraftBench } from "../work/coder/draft-bench.ts";
import { createPlainBench } from "../work/coder/plain-bench.ts";
import { createLineOutput } from "./line-output.ts";
import type { ChatParts } from "./parts.ts";
import type { ChatTurn } from "./turn.ts";

export interface OpenedBench {
  readonly bench: Bench;
  /** The checks that judge, as the coder is told; empty where none do. */
  readonly checks: string;
}

/** Where the proposals of one message are carried out, with the events of whoever watches. */
export async function openBench(
  parts: ChatParts,
  turn: ChatTurn,
  { judged }: { readonly judged: boolean },
): Promise<OpenedBench> {
  const { workspace, project, projectOf } = parts;
  const { groupId, sessionKey, signal, preview } = turn;
  const told = watching(parts, turn);
  const about = { groupId, sessionKey, source: `chat:${turn.message.channel}` };
  if (turn.dryRun || workspace.staging.kind === "none") {
    const bench = createPlainBench({
      files: project,
      execute: ({ proposal: { patch, plan } }) =>
        workspace.execute({ ...about, ...told, patch, plan, dryRun: turn.dryRun, preview, signal }),
    });
    return { bench, checks: "" };
  }
  void judged;
  const bench = createDraftBench({
    workspace,
    request: { ...about, onStart: told.onStart, signal, network: !preview },
    filesOf: projectOf,
    checks: null,
    reachesOutward: parts.reachesOutward,
    onOutput: told.onOutput,
    onEvent: told.onEvent,
  });
  await bench.begin();
  return { bench, checks: "" };
}

/** The events of a job as the conversation passes them on. */
function watching({ workspace }: ChatParts, turn: ChatTurn) {
  let jobId = "";
  const output = createLineOutput((text) =>
    turn.emit({ type: "job-output", jobId, text: workspace.mask(text) }),
  );
  return {
    onStart: (id: string) => {
      jobId = id;
      turn.emit({ type: "job-started", jobId });
    },
    onEvent: (event: JobEvent) => {
      if (event.type === "command_finished") output.end();
      if (event.type !== "command_started") return;
      const { type, action, target } = event.command;
      const command = workspace.mask(`${type} ${action} ${oneLine(target)}`);
      turn.emit({ type: "job-command", jobId, index: event.index + 1, command });
    },
    onOutput: output.add,
  };
}
