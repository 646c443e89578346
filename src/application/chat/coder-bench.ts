import { oneLine } from "../../domain/jobs/format-results.ts";
import { checksMessagesFor } from "../../domain/texts/texts.ts";
import { type ChecksFacts, notChecked } from "../../domain/checks/checks-facts.ts";
import type { JobEvent } from "../ports/journal.ts";
import type { Workspace } from "../ports/jobs-workspace.ts";
import { openChecks } from "../checks/open-checks.ts";
import { createProjectChecks, type ProjectChecksDeps } from "../checks/checks-project-checks.ts";
import type { Bench } from "../coder/coder-bench.ts";
import { createDraftBench } from "../coder/bench.ts";
import { createPlainBench } from "../coder/plain-bench.ts";
import { createLineOutput } from "./line-output.ts";
import type { ChatDeps } from "./chat-turn.ts";
import type { ChatTurn } from "./turn.ts";

export interface OpenedBench {
  readonly bench: Bench;
  /** The checks that judge, as people type them; none where nobody does. */
  readonly checks: readonly string[];
  /** What they showed, or why they did not run; null where nothing is to be said of them. */
  readonly checked: () => ChecksFacts | null;
}

/** What a draft shares with others of the same message. It has no network then. */
export interface SharedBench {
  readonly openDraft: Workspace["openDraft"];
  readonly measure: NonNullable<ProjectChecksDeps["measure"]>;
}

interface BenchRequest {
  /** What the user asked for. */
  readonly request: string;
  readonly judged: boolean;
  readonly beside?: SharedBench | undefined;
}

/** Where the proposals of one message are carried out, with the events of whoever watches. */
export async function openBench(
  parts: ChatDeps,
  turn: ChatTurn,
  { request, judged, beside }: BenchRequest,
): Promise<OpenedBench> {
  const { workspace, project, projectOf } = parts;
  const { groupId, sessionKey, signal, preview } = turn;
  const told = watchCommands(parts, turn);
  const about = { request, groupId, sessionKey, source: `chat:${turn.message.channel}` };
  if (turn.dryRun || workspace.staging.kind === "none") {
    const bench = createPlainBench({
      files: project,
      execute: ({ proposal: { patch, plan } }) =>
        workspace.execute({ ...about, ...told, patch, plan, dryRun: turn.dryRun, preview, signal }),
    });
    return { bench, checks: [], checked: () => null };
  }
  const { settings, memory } = parts.checks;
  const now = () => parts.now().getTime();
  const found = judged ? openChecks({ files: workspace.files, settings, memory, now }) : null;
  const judge =
    found?.ok === true
      ? createProjectChecks({
          checks: found.checks,
          settings,
          memory,
          texts: checksMessagesFor(parts.messages.locale),
          now,
          signal,
          onOutput: told.onOutput,
          ...(beside !== undefined && { measure: beside.measure }),
        })
      : null;
  const bench = createDraftBench({
    workspace: { files: workspace.files, openDraft: beside?.openDraft ?? workspace.openDraft },
    request: { ...about, onStart: told.onStart, signal, network: !preview && beside === undefined },
    filesOf: projectOf,
    checks: judge,
    reachesOutward: parts.reachesOutward,
    onOutput: told.onOutput,
    onEvent: told.onEvent,
  });
  await bench.begin();
  return {
    bench,
    checks: found?.ok === true ? found.checks.map(({ command }) => command) : [],
    checked: () => (found?.ok === false ? notChecked(found.why, found.commands) : (judge?.facts() ?? null)),
  };
}

/** The events of a job as the conversation passes them on. */
function watchCommands({ workspace }: ChatDeps, turn: ChatTurn) {
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
