import type { Change, CommandResult } from "../../domain/jobs/result.ts";
import type { Note } from "../../domain/jobs/note.ts";
import type { JobOutcome, JobRecord } from "../ports/jobs.ts";
import type { ExecuteRequest } from "./execution.ts";
import type { WorkspaceDeps } from "./workspace-parts.ts";

interface BegunJob {
  readonly jobId: string;
  readonly request: ExecuteRequest;
  readonly commands: number;
  readonly kind: string;
  readonly at: Date;
}

interface JobEnding {
  readonly outcome: JobOutcome;
  readonly results: readonly CommandResult[];
  readonly changes: readonly Change[];
  readonly gitCommit: string | null;
  readonly notes: readonly Note[];
}

/** What is remembered of a job: first while it runs, with its process, then as it ended. */
export function jobRecord(
  { root, mask, now, pid, birth }: Pick<WorkspaceDeps, "root" | "mask" | "now" | "pid" | "birth">,
  { jobId, request, commands, kind, at }: BegunJob,
  { outcome, results, changes, gitCommit, notes }: JobEnding,
): JobRecord {
  const executedCmds = results.filter(({ success }) => success).length;
  return {
    jobId,
    groupId: jobGroupId(request, jobId),
    workspace: root,
    source: request.source,
    title: mask(listTitle(request)),
    ...(request.request !== undefined && { request: mask(request.request).slice(0, REQUEST_CHARACTERS) }),
    createdAt: at.toISOString(),
    finishedAt: now().toISOString(),
    kind,
    outcome,
    pid,
    birth,
    success: executedCmds === commands && (outcome === "committed" || outcome === "staged"),
    totalCmds: commands,
    executedCmds,
    failedCmds: results.length - executedCmds,
    ...(gitCommit !== null && { gitCommit }),
    changes,
    notes,
  };
}

/** A job that nobody grouped is a group of its own. */
export function jobGroupId({ groupId }: Pick<ExecuteRequest, "groupId">, jobId: string): string {
  return groupId ?? jobId.replace("job_", "group_");
}

const TITLE_CHARACTERS = 50;
const REQUEST_CHARACTERS = 4_000;

/** What a list calls a job: the request, else the plan, else what the patch does first. */
export function listTitle(request: Pick<ExecuteRequest, "request" | "plan" | "patch">): string {
  const asked = cutTitle(firstLine(request.request ?? ""));
  if (asked !== "") return asked;
  const isPlanned = request.plan !== undefined && request.plan.trim() !== "";
  return (isPlanned ? "" : firstEdit(request.patch)) || planTitle(request);
}

/** `update src/a.ts` of a patch in JSON, whose own first line is brackets and quotes. */
function firstEdit(patch: string): string {
  const head = patch.trimStart().slice(0, 4_000);
  if (!/^\[\s*\{/.test(head)) return "";
  const field = (name: string) =>
    new RegExp(`"${name}"\\s*:\\s*"((?:[^"\\\\]|\\\\.)+)"`).exec(head)?.[1] ?? "";
  const [action, target] = [field("action"), field("target")];
  return target === "" ? "" : cutTitle(`${action} ${target.split("\\n")[0]}`.trim());
}

/** First line of the plan, else of the patch that says something. */
export function planTitle({ plan, patch }: Pick<ExecuteRequest, "plan" | "patch">): string {
  return cutTitle(firstLine(plan !== undefined && plan.trim() !== "" ? plan : patch));
}

/** Fences, brackets and the marks that begin a patch say nothing to a reader. */
const MARKS = /^(?:[`~]{3,}\S*|[[\]{}(),]+|\*{3} (?:Begin|End) Patch|[<=>]{5,}.*|#{1,6} (?:Plan|Patch)|)$/i;

function firstLine(text: string): string {
  const lines = text
    .slice(0, 4_000)
    .split("\n")
    .map((line) => line.trim());
  return lines.find((line) => !MARKS.test(line)) ?? lines[0] ?? "";
}

/** By characters: bytes would split a Japanese one. */
function cutTitle(line: string): string {
  return [...line].slice(0, TITLE_CHARACTERS).join("");
}
