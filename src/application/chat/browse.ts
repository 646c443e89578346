import type { Proposal } from "../../domain/proposal/proposal.ts";
import { storedFacts } from "../work/report/job-facts.ts";
import { toResultJson } from "../work/result-json.ts";
import type { ChatParts } from "./parts.ts";
import { describeOutward } from "./tool-jobs.ts";
import type { Answer, ChatTurn } from "./turn.ts";
import { work } from "./work.ts";

interface BrowserWork {
  readonly request: string;
  readonly proposal: Proposal;
  /** What the coder's own patch did before. */
  readonly done: Answer;
}

const DUTY =
  "You carry out a plan in a web browser, with the browser tools, step by step, and report what you saw there.";

/** `uses_browser`: Shiro's tool loop over `mcp_servers.browser`, journalled as not undoable. */
export async function browse(
  parts: ChatParts,
  turn: ChatTurn,
  { request, proposal, done }: BrowserWork,
): Promise<Answer> {
  const { chat, settings, workspace, messages } = parts;
  if (!settings.mcpServers.includes("browser"))
    return { ...done, ok: false, text: `${done.text}\n\n${chat.browserMissing}` };
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
      const text = chat.mcpUnavailable(missing.server, workspace.mask(missing.detail));
      return { ...done, ok: false, text: `${done.text}\n\n${text}` };
    }
    const worked = await work(parts, turn, {
      text: `${request}\n\nPlan:\n${proposal.plan}`,
      duty: DUTY,
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
    const facts = worked.calls.length === 0 ? "" : describeOutward(chat, worked.calls);
    return {
      ...done,
      ok: done.ok && !failed,
      text: [done.text, workspace.mask(worked.text), facts].filter((part) => part !== "").join("\n\n"),
      ...(stored !== null && {
        jobs: [toResultJson(messages, storedFacts(stored, workspace.archive.events(stored.jobId), true))],
      }),
    };
  } finally {
    await toolbox.close();
  }
}
