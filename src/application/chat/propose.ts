import { coderPrompt } from "../../domain/agents/coder-prompt.ts";
import { agentOf, type CoderRole } from "../../domain/agents/roster.ts";
import type { PatchCommand } from "../../domain/patch/command.ts";
import { parsePatch } from "../../domain/patch/parse-patch.ts";
import { checkEdits } from "../../domain/proposal/check-edits.ts";
import type { Proposal } from "../../domain/proposal/proposal.ts";
import { readProposal } from "../../domain/proposal/read-proposal.ts";
import { cutMiddle } from "../../domain/texts/cut-middle.ts";
import { contextBudget } from "../context/budget.ts";
import { coderContext } from "../context/coder-context.ts";
import { showAsked } from "../context/show-asked.ts";
import type { Size } from "../models/complete.ts";
import type { Model, ModelMessage } from "../ports/model.ts";
import { ask, type Request } from "./ask.ts";
import { earlierFor } from "./history.ts";
import type { ChatParts } from "./parts.ts";
import type { ChatTurn } from "./turn.ts";

export type Proposed =
  | {
      readonly ok: true;
      readonly proposal: Proposal;
      readonly commands: readonly PatchCommand[];
      readonly model: Model;
    }
  | { readonly ok: false; readonly text: string; readonly model?: Model };

/**
 * Asks a coder until it has written a proposal that can run: files it wants to see are shown to it, and a proposal
 * that does not parse or whose edits do not match goes back once with the report. Nothing is written here.
 */
export async function propose(
  parts: ChatParts,
  turn: ChatTurn,
  role: CoderRole,
  request: string,
): Promise<Proposed> {
  const { project, workspace, chat, settings } = parts;
  const wanted: string[] = [];
  let exchange: readonly ModelMessage[] = [];
  let sentBack = false;
  for (;;) {
    if (turn.rounds.count >= settings.maxLoops)
      return { ok: false, text: chat.proposalUnusable(chat.loopLimit(settings.maxLoops)) };
    turn.rounds.count++;
    const answered = await ask(parts, turn, {
      role,
      streams: false,
      // Half a patch is no patch.
      takesCut: false,
      request: (model, size): Request => ({
        system: [
          coderPrompt({
            agent: agentOf(role),
            family: model.family,
            protectedPatterns: settings.protectedPatterns,
            browser: settings.mcpServers.includes("browser"),
          }),
          workspace.mask(earlierFor(model, turn.history, size === "full" ? EARLIER : LITTLE_EARLIER)),
        ]
          .filter((part) => part !== "")
          .join("\n\n"),
        messages: [
          {
            role: "user",
            text: withContext(parts, { request, recent: turn.jobs.recentFiles(), model, size }),
          },
          ...exchange,
        ],
      }),
    });
    if (!answered.ok)
      return {
        ok: false,
        text: answered.text,
        ...(answered.model !== undefined && { model: answered.model }),
      };
    const { answer, model } = answered;
    const read = readProposal(answer.text);
    if (read.kind === "needs-files") {
      const asked = [...read.paths, ...read.searches];
      if (asked.some((one) => !wanted.includes(one))) {
        wanted.push(...asked);
        turn.emit({ type: "notice", text: chat.needsFiles(asked.map((path) => workspace.mask(path))) });
        const limit = contextBudget(model, "full").files;
        const shown = showAsked(project, { files: read.paths, searches: read.searches }, { request, limit });
        exchange = [
          ...exchange,
          { role: "assistant", text: answer.text },
          { role: "user", text: workspace.mask(shown) },
        ];
        continue;
      }
    }
    const trouble =
      read.kind === "proposal"
        ? troubleOf(project, read.proposal)
        : { report: NO_PROPOSAL, said: chat.noProposal };
    if (trouble === null && read.kind === "proposal")
      return { ok: true, proposal: read.proposal, commands: commandsOf(read.proposal), model };
    const { report, said } = trouble ?? { report: NO_PROPOSAL, said: chat.noProposal };
    if (sentBack) return { ok: false, text: chat.proposalUnusable(workspace.mask(said)), model };
    sentBack = true;
    turn.emit({ type: "notice", text: chat.sentBack });
    exchange = [
      ...exchange,
      { role: "assistant", text: answer.text },
      { role: "user", text: `${workspace.mask(report)}\n\nSend the whole proposal again, corrected.` },
    ];
  }
}

const EARLIER = { exchanges: 5, chars: 500 };
const LITTLE_EARLIER = { exchanges: 1, chars: 200 };
/** Characters of a message that is sent again because it was too long. */
const SMALL_REQUEST = 8_000;
const NO_PROPOSAL = "Your answer holds no proposal: there is no ## Patch section and no patch in it.";

interface Shown {
  readonly request: string;
  readonly recent: readonly string[];
  readonly model: Model;
  readonly size: Size;
}

function withContext({ project, workspace }: ChatParts, { request, recent, model, size }: Shown): string {
  const context = coderContext(project, { request, recent, budget: contextBudget(model, size) });
  const asked = size === "full" ? request : cutMiddle(request, SMALL_REQUEST);
  return context === "" ? asked : `${workspace.mask(context)}\n\nRequest:\n${asked}`;
}

function commandsOf({ patch }: Proposal): readonly PatchCommand[] {
  const parsed = parsePatch(patch);
  return parsed.ok ? parsed.commands : [];
}

/** Why a proposal cannot run, told to its model and to the user; null when nothing speaks against it. */
function troubleOf(
  project: ChatParts["project"],
  { patch }: Proposal,
): { readonly report: string; readonly said: string } | null {
  const parsed = parsePatch(patch);
  if (!parsed.ok) {
    const { message, line } = parsed.failure;
    const said = line === undefined ? message : `${message} (line ${line} of the patch)`;
    return { report: `The patch could not be parsed: ${said}`, said };
  }
  const checked = checkEdits(parsed.commands, project.source, project.planOptions);
  return checked.ok
    ? null
    : { report: `The patch does not match the files:\n${checked.report}`, said: checked.report };
}
