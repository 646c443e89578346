import { itemUrl } from "../../domain/forges/forge-items.ts";
import {
  commentMark,
  fenced,
  isShowable,
  type PullText,
  postedCommit,
} from "../../domain/forges/posted-text.ts";
import {
  branchName,
  findLeftOut,
  isWorkflowPath,
  type LeftOutPath,
} from "../../domain/forges/publishable-change.ts";
import { type ChangedLines, changedLines, isChangedNear } from "../../domain/patch/parse-patch.ts";
import { isRedCheck, PHASES, taskVerdict } from "../../domain/tasks/solve-decisions.ts";
import { oneLine } from "../../domain/tasks/task-note.ts";
import { figuresOf, type TaskFigures } from "../../domain/tasks/task-steps.ts";
import { checksMessagesFor } from "../../domain/texts/checks.ts";
import { cutMiddle } from "../../domain/texts/format-text.ts";
import type { SolveMessages } from "../../domain/texts/tasks.ts";
import type { ForgeReviewComment, Published } from "../ports/forges.ts";
import type { CheckFact, SolveTask } from "../ports/tasks.ts";
import { quoteLines, readHeardComments } from "./item-comments.ts";
import { baseBranchOf, orStop, type SolveDeps, SolveStop, type SolveWork } from "./solve-work.ts";

const COMMAND_CHARS = 200;

/** One line that fits between backticks. */
function inline(command: string): string {
  const line = oneLine(command).replaceAll("`", "'");
  return line.length > COMMAND_CHARS ? `${line.slice(0, COMMAND_CHARS)}…` : line;
}

const COMMANDS_SHOWN = 30;
const OUTPUT_CHARS = 4000;
const SUMMARY_CHARS = 10_000;
const NOTE_CHARS = 1000;

/**
 * Title and body of the PR/MR: what and why in the model's words, checks and costs from the records. Only green checks make it close
 * its issue; with red ones, or ones that could not be run, it is a draft.
 */
function pullText(
  task: SolveTask,
  figures: TaskFigures,
  { messages, mask }: Pick<SolveDeps, "messages" | "mask">,
): PullText {
  const { summary, plan, commands, notes, item } = task;
  const verdict = taskVerdict(task);
  const parts = [
    ...(verdict === "green" ? [] : [`**${messages.verdicts[verdict]}**`]),
    ...(summary === ""
      ? []
      : [`## ${messages.summaryHeading}`, quoteModelText(cutMiddle(summary, SUMMARY_CHARS))]),
    `## ${messages.whyHeading}`,
    messages.why(item.number, oneLine(task.title)),
    ...(plan === null ? [] : [plan.steps.map((step, i) => `${i + 1}. ${oneLine(step)}`).join("\n")]),
    `## ${messages.checksHeading}`,
    ...checkWords(task, messages),
    ...(commands.length === 0 ? [] : [`## ${messages.commandsHeading}`, commandTable(task, messages)]),
    ...(notes.length === 0
      ? []
      : [
          `## ${messages.notesHeading}`,
          notes.map((note) => `- ${cutMiddle(oneLine(note), NOTE_CHARS)}`).join("\n"),
        ]),
    `## ${messages.costHeading}`,
    messages.figures(figures),
    `---\n_${messages.howToAsk} ${messages.footer}_`,
  ];
  return {
    title: mask(messages.pullTitle(taskTitle(task))),
    body: mask(parts.join("\n\n")),
    closes: closesOf(task),
    draft: verdict === "red" || verdict === "not-run",
  };
}

function closesOf(task: SolveTask): number | null {
  const { item } = task;
  return item.kind === "issue" && taskVerdict(task) === "green" ? item.number : null;
}

/** How each check ended; for a red one also what was red before, and its output. */
function checkWords({ checks, judged }: SolveTask, messages: SolveMessages): string[] {
  const judgement = judged == null ? [] : judgementWords(judged, messages);
  if (checks.length === 0) return judgement.length > 0 ? judgement : [messages.noChecks];
  const each = checks.flatMap((check) => {
    const { command, exitCode, durationMs, counts, since, asCloned = [], output = "", cause } = check;
    if (cause !== undefined) return [`- ${messages.checkCannotRun(`\`${inline(command)}\``, inline(cause))}`];
    const isRed = isRedCheck(check);
    const line = messages.checkLine(`\`${inline(command)}\``, {
      isRed,
      exitCode,
      seconds: secondsText(durationMs),
      tests: counts ?? null,
    });
    const kept = asCloned.length === 0 ? [] : [messages.asCloned(asCloned.map(inline))];
    if (!isRed) return [[`- ${line}`, ...kept].join(" ")];
    const before = [
      ...kept,
      ...(since === undefined ? [] : [messages.since(since.verdict, since.worse.map(inline))]),
    ];
    const shown = output.trim() === "" ? [] : [fenced(cutMiddle(output, OUTPUT_CHARS), "text")];
    return [[`- ${line}`, ...before].join(" "), ...shown];
  });
  return [...each, ...judgement];
}

/** The remarks of the judgement beyond each check, in the words of every reply. */
function judgementWords(judged: NonNullable<SolveTask["judged"]>, { locale }: SolveMessages): string[] {
  const texts = checksMessagesFor(locale);
  const why = judged.notChecked === null ? [] : [texts.line(judged)];
  return [...why, ...texts.remarks(judged)].map((line) => quoteModelText(line));
}

/** Keeps a model's text in a separate block, so that no fence or tag in it affects the text below. */
const quoteModelText = (text: string) => quoteLines(text.trim());

/** Forges refuse a title without visible characters; the issue's number replaces it. */
function taskTitle({ title, item }: SolveTask): string {
  return /[^\p{C}\p{Z}]/u.test(title) ? title : `#${item.number}`;
}

function commitMessage(
  task: SolveTask,
  { messages, mask }: { readonly messages: SolveMessages; readonly mask: (text: string) => string },
): string {
  const { item, summary } = task;
  const subject = oneLine(item.kind === "pull" ? messages.followUpMessage : taskTitle(task)).slice(0, 72);
  // The message is passed to git as an argument, whose length is limited.
  const text = [subject, cutMiddle(summary, SUMMARY_CHARS)].filter((part) => part !== "").join("\n\n");
  return postedCommit(item.forge, mask(text), closesOf(task));
}

function commandTable({ commands }: SolveTask, messages: SolveMessages): string {
  const shown = commands.slice(-COMMANDS_SHOWN);
  const rows = shown.map(
    ({ command, exitCode, durationMs }) =>
      `| \`${inline(command).replaceAll("|", "\\|")}\` | ${exitCode} | ${secondsText(durationMs)} s |`,
  );
  const left = commands.length - shown.length;
  return [
    `| ${messages.tableHead.join(" | ")} |`,
    "|---|---|---|",
    ...rows,
    ...(left > 0 ? ["", messages.more(left)] : []),
  ].join("\n");
}

function secondsText(ms: number): string {
  return (ms / 1000).toFixed(1);
}

interface ReviewedChange {
  readonly commit: string;
  readonly paths: readonly string[];
  readonly lines: ChangedLines;
}

/** Answers each review thread once: whether that place changed, by which commit, and the coder's words. Never fails the task. */
async function answerReview(deps: SolveDeps, work: SolveWork, change: ReviewedChange): Promise<void> {
  const { forge, messages, mask, log } = deps;
  const { task, signal } = work;
  if (work.item.pull === undefined) return;
  const { heard } = await readHeardComments(deps, work);
  const answered = new Set(task.answered ?? []);
  const open = heard.filter(
    (comment): comment is ForgeReviewComment =>
      "thread" in comment && task.seen.includes(comment.id) && !answered.has(comment.id),
  );
  for (const [thread, comments] of Map.groupBy(open, (comment) => comment.thread)) {
    const own = comments.flatMap(({ id }) => task.answers?.[id] ?? []).join("\n\n") || task.summary;
    const text = mask(
      [whatChanged(messages, comments, change), ...(own === "" ? [] : [quoteModelText(own)])].join("\n\n"),
    );
    const posted = await forge.replyTo(task.item, thread, { text }, signal);
    if (!posted.ok) {
      log.warn("solve", "solve.not_answered", "solve.not_answered", {
        task_id: task.id,
        error: posted.failure.message,
      });
      continue;
    }
    for (const { id } of comments) answered.add(id);
    await work.update({ answered: [...answered] });
  }
}

/** Decided by the change alone, not by the coder's words. */
function whatChanged(
  messages: SolveMessages,
  comments: readonly ForgeReviewComment[],
  { commit, paths, lines }: ReviewedChange,
): string {
  const short = commit.slice(0, 10);
  if (!comments.some(({ path }) => paths.includes(path))) return messages.reviewUnchanged;
  const placed = comments.filter(({ lineNow }) => lineNow !== null);
  if (placed.length === 0) return messages.reviewChanged(short);
  const isHere = placed.some(({ path, lineNow }) => isChangedNear(lines, path, lineNow ?? 0));
  return isHere ? messages.reviewChangedHere(short) : messages.reviewChangedElsewhere(short);
}

/** As `branchName` writes it. */
const OWN_BRANCH = /^picoclaw\/(\d+)(?:-|$)/;

/** After a follow-up, PicoClaw's own pull request states the new result. A person's pull request keeps its text. */
async function retellPull(deps: SolveDeps, work: SolveWork): Promise<void> {
  const { forge, store } = deps;
  const { task, item, bot, signal } = work;
  const issue = Number(OWN_BRANCH.exec(item.pull?.sourceBranch ?? "")?.[1]);
  if (item.author !== bot.login || !Number.isInteger(issue)) return;
  const ref = { ...item.ref, kind: "issue" as const, number: issue };
  const last = await store.findLast(ref);
  const first = last?.pull?.ref.number === item.ref.number ? last : null;
  const steps = [...(first === null ? [] : await store.steps(first.id)), ...(await store.steps(task.id))];
  const whole = mergeTasks(first, { ...task, item: ref, title: plainTitle(item.title) });
  const text = pullText(whole, figuresOf(steps), deps);
  const pull = await orStop(forge.updatePull(item.ref, text, signal));
  await work.update({ pull });
}

/** The changes of the first task and of the follow-up, validated by the follow-up's checks. */
function mergeTasks(first: SolveTask | null, task: SolveTask): SolveTask {
  if (first === null) return task;
  return {
    ...task,
    plan: first.plan,
    summary: [first.summary, task.summary].filter((text) => text !== "").join("\n\n"),
    commands: [...first.commands, ...task.commands],
    notes: [...new Set([...first.notes, ...task.notes])],
  };
}

/** The current title: a person may have changed it. Whether it is a draft is a separate field. */
function plainTitle(title: string): string {
  return title.replace(/^(?:draft|wip):\s*/i, "");
}

const NAMES_TRIED = 5;

/** Pushes the change as one commit and opens or updates the PR/MR. Idempotent, so it can be repeated after a crash. */
export async function publishChange(deps: SolveDeps, work: SolveWork): Promise<void> {
  // The change as it was when the checks started: files that they wrote are not part of it.
  const patch = Buffer.from(work.task.patch, "base64");
  work.environment = null;
  const { pull, ref } = work.item;
  if (patch.length === 0) {
    await retellPull(deps, work);
    await answerReview(deps, work, { commit: "", paths: [], lines: new Map() });
    throw nothingChanged(work.task);
  }
  if (pull !== undefined && pull.sourceRepository !== ref.repository) {
    await offerPatch(deps, work, patch);
    return endByVerdict(work.task);
  }
  const published = await pushBranch(deps, work, patch);
  await work.update({
    pushed: published.commit,
    notes: [...new Set([...work.task.notes, ...changeNotes(deps, published, work.task)])],
  });
  if (pull === undefined) await openOrUpdate(deps, work);
  else {
    await retellPull(deps, work);
    await answerReview(deps, work, { ...published, lines: changedLines(patch) });
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

/** Red checks end a task as failed, even if something was published. */
function endByVerdict(task: SolveTask): void {
  const verdict = taskVerdict(task);
  if (verdict === "red") throw new SolveStop("checks-red", redCommands(task));
  if (verdict === "not-run") throw new SolveStop("checks-not-run", redCommands(task));
}

function nothingChanged(task: SolveTask): SolveStop {
  const { summary } = task;
  const verdict = taskVerdict(task);
  if (verdict !== "red") return new SolveStop("nothing-changed", summary);
  return new SolveStop("nothing-changed-red", [redCommands(task), summary].filter(Boolean).join("\n"));
}

/** The red checks; if none is red by itself, all checks that judged. */
function redCommands({ checks, judged }: SolveTask): string {
  const red = checks.filter(isRedCheck);
  const named: readonly Pick<CheckFact, "command" | "cause">[] =
    red.length > 0 ? red : (judged?.commands ?? []).map((command) => ({ command }));
  return named
    .map(({ command, cause }) => `\`${inline(command)}\`${cause === undefined ? "" : ` (${inline(cause)})`}`)
    .join(", ");
}

type PushedBranch = Extract<Published, { status: "pushed" }>;

async function pushBranch(deps: SolveDeps, work: SolveWork, patch: Uint8Array): Promise<PushedBranch> {
  const { forge, publisher, config } = deps;
  const { task, item, repository, bot } = work;
  const host = new URL(repository.cloneUrl).host;
  for (let attempt = task.attempt; attempt < task.attempt + NAMES_TRIED; attempt++) {
    const branch = item.pull?.sourceBranch ?? branchName(task.item.number, task.title, attempt);
    await work.update({ branch, attempt });
    const published = await publisher.publish({
      cloneUrl: repository.cloneUrl,
      credentials: forge.credentials,
      baseCommit: task.base?.commit ?? "",
      baseBranch: baseBranchOf(work.task, work.repository),
      branch,
      previous: task.pushed,
      patch,
      tree: task.tree ?? null,
      message: commitMessage(task, deps),
      author: { name: bot.login, email: `${bot.id}+${bot.login}@users.noreply.${host.replace(/:\d+$/, "")}` },
      at: new Date(task.createdAt),
      isProtected: (path) => !config.allowCi && isWorkflowPath(path),
      leftOut: (paths) => findLeftOut({ ...paths, allowCi: config.allowCi }),
      secrets: deps.secrets(),
      insecureTls: config.insecureHosts.includes(host),
      signal: work.signal,
    });
    if (published.status === "pushed") return published;
    if (published.status !== "branch-taken" || item.pull !== undefined) throw stopOf(deps, published);
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
      return new SolveStop("push-failed", "the branch moved meanwhile, and the change does not apply to it");
    case "rejected":
      return new SolveStop(published.reason, mask(published.message));
    case "failed":
      if (published.reason === "aborted") return new SolveStop("stopped");
      return new SolveStop("push-failed", mask(published.message));
  }
}

function changeNotes(
  { messages }: SolveDeps,
  { base, leftOut: left }: PushedBranch,
  { unborn = [] }: SolveTask,
): string[] {
  const named = (why: LeftOutPath["why"]) => left.flatMap((each) => (each.why === why ? [each.path] : []));
  const ci = named("ci");
  const folders = [...new Set(named("tool").map(toolPlace))];
  return [
    ...(base === "same" ? [] : [base === "moved" ? messages.baseMoved : messages.baseConflicts]),
    ...(ci.length === 0 ? [] : [messages.ciLeftOut(ci.map((path) => `\`${inline(path)}\``))]),
    ...(folders.length === 0 ? [] : [messages.toolsLeftOut(folders.map((path) => `\`${inline(path)}\``))]),
    ...(unborn.length === 0 ? [] : [messages.unbornLeftOut(unborn.map((path) => `\`${inline(path)}\``))]),
  ];
}

/** For ten thousand files, a person wants to read only their folder. */
function toolPlace(path: string): string {
  return path.includes("/")
    ? `${path.split("/").slice(0, 2).join("/")}${path.split("/").length > 2 ? "/…" : ""}`
    : path;
}

async function openOrUpdate(deps: SolveDeps, work: SolveWork): Promise<void> {
  const { forge, store } = deps;
  const { task, repository, signal } = work;
  const text = pullText(task, figuresOf(await store.steps(task.id)), deps);
  const head = task.branch ?? "";
  const found = await orStop(forge.findPull(repository.name, head, signal));
  const opened = { repository: repository.name, head, base: task.base?.branch ?? "", ...text };
  const pull = await orStop(
    found === null ? forge.openPull(opened, signal) : forge.updatePull(found.ref, text, signal),
  );
  await work.update({ pull });
}

/** PicoClaw may not push to a fork's branch. */
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

/** One comment per task, edited in place. After a crash it is found again by its mark. */
export function createProgressReport(deps: SolveDeps, work: SolveWork) {
  const { forge, config, clock, messages, mask, log } = deps;
  let last = Number.NEGATIVE_INFINITY;
  let shown = "";
  return {
    /** Brings the comment up to date; `soon` only as often as the configuration allows. Never fails the task. */
    async update(when: "now" | "soon"): Promise<void> {
      if (when === "soon" && clock() - last < config.progressEveryMs) return;
      const { task } = work;
      const figures = figuresOf(await deps.store.steps(task.id));
      const body = mask(progressComment(task, config.maxSteps, messages, figures));
      if (body === shown) return;
      last = clock();
      const comment = { text: body, mark: markOf(task.id) };
      try {
        // A task that was stopped still says so.
        const signal = AbortSignal.timeout(30_000);
        const id = task.commentId ?? (await findOwn(deps, work, signal));
        if (id === null) {
          const { id: made } = await orStop(forge.postComment(task.item, comment, signal));
          await work.update({ commentId: made });
        } else {
          await orStop(forge.editComment(task.item, id, comment, signal));
          if (task.commentId === null) await work.update({ commentId: id });
        }
        shown = body;
      } catch (error) {
        log.warn("solve", "solve.progress_not_told", "solve.progress_not_told", {
          task_id: task.id,
          error: String(error),
        });
      }
    },
  };
}

async function findOwn(
  { forge }: SolveDeps,
  { task, bot }: SolveWork,
  signal: AbortSignal,
): Promise<string | null> {
  const comments = await orStop(forge.listComments(task.item, signal));
  const own = comments.find(
    ({ author, body }) => author === bot.login && body.includes(commentMark(markOf(task.id))),
  );
  return own?.id ?? null;
}

/** The mark by which a task finds its own comment again after a crash. */
function markOf(taskId: string): string {
  return `task ${taskId}`;
}

function progressComment(
  task: SolveTask,
  maxSteps: number,
  messages: SolveMessages,
  figures: TaskFigures,
): string {
  const { state, phase, plan, commands, pull, failure } = task;
  const at = PHASES.indexOf(phase);
  const heading =
    state === "waiting" || state === "running"
      ? messages.working(oneLine(task.title))
      : messages.ended[state];
  const list = PHASES.map((each, i) => {
    const published =
      each === "publish" && failure !== null && task.pushed !== null && SHOWS_CHECKS.has(failure.kind);
    const done = state === "done" || i < at || published;
    const more =
      each === "work" && i === at && state === "running"
        ? ` (${messages.steps(task.steps, maxSteps)})`
        : each === "prepare" && task.environment !== null
          ? ` (${task.environment})`
          : "";
    const steps =
      each === "plan" && plan !== null
        ? plan.steps.map((step, n) => `\n  ${n + 1}. ${oneLine(step)}`).join("")
        : "";
    return `- [${done ? "x" : " "}] ${messages.phases[each]}${more}${steps}`;
  });
  const last = commands.at(-1);
  const tail = [
    ...(failure === null
      ? []
      : [failure.message.includes("\n") ? quoteModelText(failure.message) : failure.message]),
    ...(failure !== null && SHOWS_CHECKS.has(failure.kind) ? checkWords(task, messages) : []),
    ...(state === "running" && last !== undefined
      ? [messages.lastAction(`\`${inline(last.command)}\``, last.exitCode)]
      : []),
    ...(state === "running" && figures.said !== "" ? [messages.saidLast(figures.said)] : []),
    ...(figures.edited.length === 0
      ? []
      : [messages.editedSoFar(figures.edited.map((path) => `\`${inline(path)}\``))]),
    ...(pull === null ? [] : [messages.pullOpened(pull.url)]),
    ...(figures.answers === 0 ? [] : [messages.figures(figures)]),
    ...(state === "running" ? [`_${messages.howToStop}_`] : []),
    ...(state === "paused" ? [`_${messages.howToResume(itemUrl(task.item))}_`] : []),
  ];
  return [`### ${heading}`, list.join("\n"), ...tail].join("\n\n");
}

/** Ends that a reader understands only with the output of the checks. */
const SHOWS_CHECKS: ReadonlySet<string> = new Set(["checks-red", "checks-not-run", "nothing-changed-red"]);
