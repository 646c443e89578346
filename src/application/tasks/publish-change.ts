import { branchName } from "../../domain/forges/branch-name.ts";
import { changedLines } from "../../domain/forges/changed-lines.ts";
import { findLeftOut, type LeftOutPath } from "../../domain/forges/publishable-change.ts";
import { isShowable } from "../../domain/forges/posted-text.ts";
import { isWorkflowPath } from "../../domain/forges/protected-paths.ts";
import { taskVerdict } from "../../domain/tasks/verdict.ts";
import { figuresOf } from "../../domain/tasks/task-steps.ts";
import type { Published } from "../ports/publisher.ts";
import type { SolveTask } from "../ports/tasks.ts";
import { answerReview } from "./answer-review.ts";
import { inline } from "./one-line.ts";
import { commitMessage, pullText } from "./pull-text.ts";
import { retellPull } from "./retell-pull.ts";
import type { SolveDeps, SolveWork } from "./solve-work.ts";
import { orStop, SolveStop } from "./solve-stop.ts";

const NAMES_TRIED = 5;

/** Pushes the change as one commit and opens or updates the PR/MR. Repeated after a crash it does nothing twice. */
export async function publishChange(parts: SolveDeps, work: SolveWork): Promise<void> {
  // As it was when the checks ran over it: what they wrote is no part of it.
  const patch = Buffer.from(work.task.patch, "base64");
  work.environment = null;
  const { pull, ref } = work.item;
  if (patch.length === 0) {
    await retellPull(parts, work);
    await answerReview(parts, work, { commit: "", paths: [], lines: new Map() });
    throw nothingChanged(work.task);
  }
  if (pull !== undefined && pull.sourceRepository !== ref.repository) {
    await offerPatch(parts, work, patch);
    return endByVerdict(work.task);
  }
  const published = await pushBranch(parts, work, patch);
  await work.update({
    pushed: published.commit,
    notes: [...new Set([...work.task.notes, ...changeNotes(parts, published)])],
  });
  if (pull === undefined) await openOrUpdate(parts, work);
  else {
    await retellPull(parts, work);
    await answerReview(parts, work, { ...published, lines: changedLines(patch) });
  }
  const { branch, pull: opened } = work.task;
  await work.note({
    kind: "published",
    branch: branch ?? "",
    commit: published.commit,
    url: opened?.url ?? null,
  });
  endByVerdict(work.task);
}

/** Red checks end a task as failed, whatever was published. */
function endByVerdict({ checks }: SolveTask): void {
  const verdict = taskVerdict(checks);
  if (verdict === "red") throw new SolveStop("checks-red", redCommands(checks));
  if (verdict === "not-run") throw new SolveStop("checks-not-run", redCommands(checks));
}

function nothingChanged({ checks, summary }: SolveTask): SolveStop {
  const verdict = taskVerdict(checks);
  if (verdict !== "red") return new SolveStop("nothing-changed", summary);
  return new SolveStop("nothing-changed-red", [redCommands(checks), summary].filter(Boolean).join("\n"));
}

function redCommands(checks: SolveTask["checks"]): string {
  const red = checks.filter(({ exitCode }) => exitCode !== 0);
  return red.map(({ command }) => `\`${inline(command)}\``).join(", ");
}

type PushedBranch = Extract<Published, { status: "pushed" }>;

async function pushBranch(parts: SolveDeps, work: SolveWork, patch: Uint8Array): Promise<PushedBranch> {
  const { forge, publisher, config } = parts;
  const { task, item, repository, bot } = work;
  const host = new URL(repository.cloneUrl).host;
  for (let attempt = task.attempt; attempt < task.attempt + NAMES_TRIED; attempt++) {
    const branch = item.pull?.sourceBranch ?? branchName(task.item.number, task.title, attempt);
    await work.update({ branch, attempt });
    const published = await publisher.publish({
      cloneUrl: repository.cloneUrl,
      credentials: forge.credentials,
      baseCommit: task.base?.commit ?? "",
      baseBranch: task.base?.branch ?? repository.defaultBranch,
      branch,
      previous: task.pushed,
      patch,
      tree: task.tree ?? null,
      message: commitMessage(task, parts),
      author: { name: bot.login, email: `${bot.id}+${bot.login}@users.noreply.${host.replace(/:\d+$/, "")}` },
      at: new Date(task.createdAt),
      isProtected: (path) => !config.allowCi && isWorkflowPath(path),
      leftOut: (paths) => findLeftOut({ ...paths, allowCi: config.allowCi }),
      secrets: parts.secrets(),
      insecureTls: config.insecureHosts.includes(host),
      signal: work.signal,
    });
    if (published.status === "pushed") return published;
    if (published.status !== "branch-taken" || item.pull !== undefined) throw stopOf(parts, published);
  }
  throw new SolveStop("push-failed", `${task.branch}`);
}

function stopOf({ mask }: SolveDeps, published: Exclude<Published, PushedBranch>): SolveStop {
  switch (published.status) {
    case "nothing": {
      const ci = published.leftOut.filter(({ why }) => why === "ci");
      if (ci.length === 0) return new SolveStop("nothing-changed");
      return new SolveStop("protected-paths", ci.map(({ path }) => path).join(", "));
    }
    case "secret":
      return new SolveStop("secret-in-change", published.paths.join(", "));
    case "protected":
      return new SolveStop("protected-paths", published.paths.join(", "));
    case "branch-taken":
      return new SolveStop("push-failed", "the branch moved meanwhile, and the change does not fit onto it");
    case "rejected":
      return new SolveStop(published.reason, mask(published.message));
    case "failed":
      if (published.reason === "aborted") return new SolveStop("stopped");
      return new SolveStop("push-failed", mask(published.message));
  }
}

function changeNotes({ messages }: SolveDeps, { base, leftOut: left }: PushedBranch): string[] {
  const named = (why: LeftOutPath["why"]) => left.flatMap((each) => (each.why === why ? [each.path] : []));
  const ci = named("ci");
  const folders = [...new Set(named("tool").map(toolPlace))];
  return [
    ...(base === "same" ? [] : [base === "moved" ? messages.baseMoved : messages.baseConflicts]),
    ...(ci.length === 0 ? [] : [messages.ciLeftOut(ci.map((path) => `\`${inline(path)}\``))]),
    ...(folders.length === 0 ? [] : [messages.toolsLeftOut(folders.map((path) => `\`${inline(path)}\``))]),
  ];
}

/** What a person wants to read of ten thousand files is their folder. */
function toolPlace(path: string): string {
  return path.includes("/")
    ? `${path.split("/").slice(0, 2).join("/")}${path.split("/").length > 2 ? "/…" : ""}`
    : path;
}

async function openOrUpdate({ forge, messages, mask, store }: SolveDeps, work: SolveWork): Promise<void> {
  const { task, repository, signal } = work;
  const figures = figuresOf(await store.steps(task.id));
  const worded = pullText(task, { messages, figures });
  const text = { ...worded, title: mask(worded.title), body: mask(worded.body) };
  const head = task.branch ?? "";
  const found = await orStop(forge.findPull(repository.name, head, signal));
  const pull =
    found === null
      ? await orStop(
          forge.openPull(
            { repository: repository.name, head, base: task.base?.branch ?? "", ...text },
            signal,
          ),
        )
      : await orStop(forge.updatePull(found.ref, text, signal));
  await work.update({ pull });
}

/** A fork's branch is not ours to push to. */
async function offerPatch(
  { forge, messages, mask }: SolveDeps,
  work: SolveWork,
  patch: Uint8Array,
): Promise<void> {
  const text = mask(Buffer.from(patch).toString("utf8"));
  const comment = isShowable(text)
    ? { text: messages.patchInstead, patch: text }
    : { text: messages.patchTooLarge };
  await orStop(forge.postComment(work.task.item, comment, work.signal));
}
