import { agentOf, type CoderRole } from "../../domain/agents/roster.ts";
import type { PatchCommand } from "../../domain/patch/command.ts";
import { affectedFiles } from "../../domain/proposal/affected-files.ts";
import { hasFlag, type Proposal } from "../../domain/proposal/proposal.ts";
import { oneLine } from "../../domain/texts/format-results.ts";
import { say } from "../work/report/said.ts";
import { answering } from "./answering.ts";
import { createLineOutput } from "./line-output.ts";
import type { ChatParts } from "./parts.ts";
import { propose } from "./propose.ts";
import { reportJob } from "./report-job.ts";
import type { Answer, ChatTurn } from "./turn.ts";

/** A coder route: its proposal runs at once as a job of the workspace; the answer is the job's facts. */
export async function answerWithCode(
  parts: ChatParts,
  turn: ChatTurn,
  role: CoderRole,
  request: string,
): Promise<Answer> {
  const agent = agentOf(role);
  const proposed = await propose(parts, turn, role, request);
  const model = proposed.model && {
    provider: proposed.model.provider,
    model: proposed.model.model,
    local: proposed.model.local,
  };
  const about = { agent, ...(model !== undefined && { model }) };
  if (!proposed.ok) return { ...about, text: proposed.text, ok: false, jobs: [] };
  const { proposal, commands } = proposed;
  announce(parts, turn, proposal, commands);
  if (turn.signal.aborted) return { ...answering(parts, [say("aborted")], false), ...about };
  let jobId = "";
  const output = createLineOutput((text) =>
    turn.emit({ type: "job-output", jobId, text: parts.workspace.mask(text) }),
  );
  const execution = await parts.workspace.execute({
    patch: proposal.patch,
    plan: proposal.plan,
    groupId: turn.groupId,
    source: `chat:${turn.message.channel}`,
    sessionKey: turn.sessionKey,
    dryRun: turn.dryRun,
    preview: turn.preview,
    signal: turn.signal,
    onStart: (id) => {
      jobId = id;
      turn.emit({ type: "job-started", jobId });
    },
    onEvent: (event) => {
      if (event.type !== "command_started") return;
      const { type, action, target } = event.command;
      const command = parts.workspace.mask(`${type} ${action} ${oneLine(target)}`);
      turn.emit({ type: "job-command", jobId, index: event.index + 1, command });
    },
    onOutput: output.add,
  });
  output.end();
  const report = reportJob(parts, execution, proposal);
  if (report.job !== undefined)
    turn.emit({ type: "job-finished", jobId: report.job.job_id, success: report.ok });
  const { ok, actions } = report;
  const jobs = report.job === undefined ? [] : [report.job];
  const done = { ...answering(parts, [report.said], ok), ...about, jobs, actions };
  if (ok && hasFlag(proposal, "uses_browser") && !turn.dryRun && !turn.preview) {
    const { browse } = await import("./browse.ts");
    return browse(parts, turn, { request, proposal, done });
  }
  return done;
}

/** Nobody approves a job, so the log says what is about to run before it runs. */
function announce(
  { workspace, logger }: ChatParts,
  turn: ChatTurn,
  proposal: Proposal,
  commands: readonly PatchCommand[],
): void {
  const files = affectedFiles(commands);
  const { plan, patch, risk, costHint, flags } = proposal;
  logger.info("chat", "chat.proposed", "chat.proposed", {
    session_key: turn.sessionKey,
    group_id: turn.groupId,
    plan,
    patch,
    risk,
    cost_hint: costHint,
    affected_files: files,
    flags,
  });
  turn.emit({
    type: "proposed",
    plan: workspace.mask(plan),
    commands: commands.length,
    risk,
    files: files.map((path) => workspace.mask(path)),
  });
}
