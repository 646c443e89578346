import type { Change } from "../../domain/jobs/result.ts";
import type { Messages } from "../../domain/texts/messages.ts";
import { reportMessages } from "../../domain/texts/messages.ts";
import type { ActionFacts } from "./action-report.ts";
import { changeLines } from "./change-lines.ts";
import { describeConflict, describeConflicts, stuckJob } from "./describe-conflict.ts";
import type { Surface } from "./surface.ts";
import { paragraphs } from "./job-report.ts";
import { wordNote } from "./word-notes.ts";

/** What came of an action on jobs: its status, what moved, what stood in the way, how to go on. */
export function wordAction(messages: Messages, facts: ActionFacts, at: Surface): string {
  const words = reportMessages(messages.locale);
  const { status, code, action, name } = facts;
  const first = status === null ? "" : words.status(status, facts.failedCmds);
  /** A terminal knows the jobs of its own machine alone; a chat reaches those of all. */
  const hint = (text: string) =>
    at === "terminal" && facts.machine !== undefined ? words.onMachine(text, facts.machine) : text;
  const notes = (facts.notes ?? []).map((note) => wordNote(messages, note)).join("\n");
  if (code !== "done") {
    const swappedBefore = facts.done.length > 0 ? wordDone(messages, facts) : "";
    const force =
      code === "conflict" && action !== "apply" && stuckJob(facts.conflicts) === null
        ? hint(words.forceHint[at](action, name))
        : "";
    const lines = [first, wordReason(messages, facts, at), force].filter((line) => line !== "");
    return paragraphs([lines.join("\n"), swappedBefore, notes]);
  }
  switch (action) {
    case "stop":
      return `${first}\n${words.verb.stop(name)}`;
    // Whoever throws a preview away has stopped nothing.
    case "discard":
      return words.verb.discard(name);
    case "undo":
      return paragraphs([first, wordDone(messages, facts), notes, hint(words.redoHint[at](name))]);
    case "redo":
    case "apply":
      return paragraphs([first, wordDone(messages, facts), notes, hint(words.undoHint[at](name))]);
  }
}

/** The jobs that were swapped, and what they left alone on purpose. */
function wordDone(messages: Messages, { done, action }: ActionFacts): string {
  const { verb } = reportMessages(messages.locale);
  const lines = done.map(({ jobId }) => verb[action](jobId));
  const changes = changeLines(messages, seenFrom(action, done));
  if (changes !== "") lines.push(changes);
  for (const { jobId, left } of done) {
    const of = (wanted: string) => left.filter(({ reason }) => reason === wanted).map(({ path }) => path);
    const refs = of("moved-on");
    if (refs.length > 0) lines.push(messages.undonePartly({ jobId, refs }));
    const kept = of("not-empty");
    if (kept.length > 0) lines.push(messages.foldersKept(kept));
  }
  return lines.join("\n");
}

const INVERSE = { added: "deleted", deleted: "added", modified: "modified" } as const;

/** To take back a file that was added is to delete it; what several jobs had changed is one path. */
function seenFrom(action: ActionFacts["action"], done: ActionFacts["done"]): Change[] {
  const changes = done
    .flatMap((one) => one.changes)
    .map((one): Change => ({ ...one, kind: action === "undo" ? INVERSE[one.kind] : one.kind }));
  return [...new Map(changes.map((change) => [change.path, change])).values()];
}

function nothing(messages: Messages, action: ActionFacts["action"]): string {
  if (action === "discard") return messages.nothingToDiscard;
  return action === "redo" ? messages.nothingToRedo : messages.nothingToUndo;
}

/** Why nothing came of it, without its status and without what would help a person. */
export function wordReason(messages: Messages, facts: ActionFacts, at: Surface): string {
  const { code, action, name, conflicts, workspace } = facts;
  const words = reportMessages(messages.locale);
  switch (code) {
    case "nothing":
      return nothing(messages, action);
    case "unknown-job":
      return messages.unknownJob(name);
    case "conflict": {
      if (action === "apply" || stuckJob(conflicts) !== null)
        return describeConflicts(messages, name, conflicts, at);
      const paths = conflicts.map((conflict) => describeConflict(messages, conflict, at));
      return words.inTheWay(action, name, paths);
    }
    case "busy":
      return messages.workspaceBusy(workspace);
    case "running":
      return messages.jobRunning(name, facts.pid ?? null);
    case "died":
      return messages.jobDied(name);
    case "evicted":
      return messages.undoUnavailable(name);
    case "not-undoable":
      return `${messages.undoUnavailable(name)} ${messages.shellNotUndoable}`;
    case "wrong-state":
      if (facts.state === "staged") return messages.stillAPreview(name, at);
      return messages.wrongState(name, facts.state ?? "");
    case "not-a-preview":
      return messages.notAPreview(name);
    case "not-running":
      return messages.jobNotRunning(name);
    case "machine-away":
      return messages.machineAway(facts.machine ?? "");
    case "machine-gone":
      return messages.machineGone(facts.machine ?? "");
    case "unsettled":
      return messages.orderUnsettled(facts.machine ?? "");
    case "done":
      return "";
  }
}
