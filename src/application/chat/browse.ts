import type { Proposal } from "../../domain/coder/proposal-proposal.ts";
import { storedFacts } from "../jobs/job-facts.ts";
import { type NamedText, type ReplyPiece, say, wordPieces } from "./reply-words.ts";
import { toResultJson } from "../jobs/result-json.ts";
import { answerPieces } from "./answering.ts";
import type { ChatDeps } from "./chat-turn.ts";
import { loopFacts, toOutwardFacts } from "./tool-jobs.ts";
import type { Answer, ChatTurn } from "./turn.ts";
import { workWithTools } from "./work.ts";

interface BrowserWork {
  readonly request: string;
  readonly proposal: Proposal;
  /** What the coder's own patch did before. */
  readonly done: Answer;
}

const BROWSER_DUTY =
  "You carry out a plan in a web browser, with the browser tools, step by step, and report what you saw there.";

/** `uses_browser`: Shiro's tool loop over `mcp_servers.browser`, journalled as not undoable. */
export async function browse(
  parts: ChatDeps,
  turn: ChatTurn,
  { request, proposal, done }: BrowserWork,
): Promise<Answer> {
  const { settings, workspace, messages } = parts;
  const failing = (saying: NamedText): Answer => {
    const said = [...answerPieces(done), saying];
    return { ...done, ok: false, said, text: wordPieces(messages.locale, said) };
  };
  if (!settings.mcpServers.includes("browser")) return failing(say("browserMissing"));
  const { groupId, sessionKey } = turn;
  const toolbox = await parts.openToolbox({
    groupId,
    sessionKey,
    servers: ["browser"],
    toolkit: false,
    readOnly: false,
  });
  try {
    const [missing] = toolbox.unavailable;
    if (missing !== undefined) {
      return failing(say("mcpUnavailable", missing.server, workspace.mask(missing.detail)));
    }
    const worked = await workWithTools(parts, turn, {
      text: `${request}\n\nPlan:\n${proposal.plan}`,
      duty: BROWSER_DUTY,
      toolbox,
      withHistory: false,
    });
    const journalled = done.jobs[0]?.job_id;
    if (journalled !== undefined)
      for (const { name, ok, text } of worked.calls)
        workspace.archive.append(journalled, {
          type: "note",
          text: workspace.mask(
            `mcp ${name} ${ok ? "succeeded" : "failed"} (not undoable): ${text.slice(0, 500)}`,
          ),
        });
    const stored = journalled === undefined ? null : workspace.archive.read(journalled);
    const failed = worked.output === null;
    const said: ReplyPiece[] = [...answerPieces(done), ...worked.said];
    if (worked.calls.length > 0) said.push(loopFacts({ outward: toOutwardFacts(worked.calls) }));
    return {
      ...done,
      ok: done.ok && !failed,
      said,
      text: wordPieces(messages.locale, said),
      ...(stored !== null && {
        jobs: [toResultJson(messages, storedFacts(stored, workspace.archive.events(stored.jobId), true))],
      }),
    };
  } finally {
    await toolbox.close();
  }
}
