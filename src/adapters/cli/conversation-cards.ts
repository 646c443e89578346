import {
  type CoderFacts,
  type ReplyPiece,
  wordCard,
  wordPieces,
} from "../../application/chat/reply-words.ts";
import type { ActionFacts } from "../../application/jobs/action-report.ts";
import { nameJobId, toListedJob } from "../../application/jobs/job-facts.ts";
import type { Reply } from "../../application/ports/chat.ts";
import type { StoredJob } from "../../application/ports/jobs.ts";
import type { Workspace } from "../../application/ports/jobs-workspace.ts";
import { type JobResult, type JobStatus, type RanJob, toJobStatus } from "../../domain/jobs/result.ts";
import { checksMessagesFor } from "../../domain/texts/checks.ts";
import type { TerminalMessages } from "../../domain/texts/cli-terminal.ts";
import { shownPath } from "../../domain/texts/format-text.ts";
import type { Messages } from "../../domain/texts/jobs.ts";
import { wordStatus } from "../../domain/texts/jobs-report.ts";
import { printable } from "./command.ts";
import type { Block } from "./live-screen.ts";
import { type CardFacts, cardBlock, type DiffLine, jobLines } from "./terminal-card.ts";
import { type Style, verdictSign } from "./terminal-style.ts";

/** The jobs of one message as a person sees them: one thing that was done, and can be taken back. */
export interface Card extends CardFacts {
  /** The job, or the group where there are several. */
  readonly name: string;
  readonly jobIds: readonly string[];
  status: JobStatus;
  failedCmds: number;
  /** The results of the checks, the duration and the cost, in this order. */
  facts: readonly string[];
  /** Files that its last undo or redo moved. */
  moved: string;
  /** The verdict that was printed to the scrollback; null if none was. */
  printed: JobStatus | null;
}

type CardKey = "undo" | "redo" | "diff" | "open" | "apply";

export type CardMaker = ReturnType<typeof createCardMaker>;

interface CardDeps {
  readonly workspace: Workspace;
  readonly messages: Messages;
  readonly texts: TerminalMessages;
}

/** Lines of what a program printed that a card shows. */
const SHOWN_OUTPUT = 12;
const NAMED_FILES = 5;

export function createCardMaker({ workspace, messages, texts }: CardDeps) {
  const { archive } = workspace;
  const { locale } = messages;

  const jobsOf = (ids: readonly string[]) => ids.map((id) => archive.read(id)).filter((job) => job !== null);
  const label = (jobId: string): string => nameJobId(archive, jobId);
  const diffOf = (ids: readonly string[]) => ids.flatMap((id) => jobLines(archive, id, texts));
  const statusOf = (job: StoredJob): JobStatus =>
    toJobStatus(toListedJob(job), job.pid === undefined || workspace.isAlive(job));

  function card(ids: readonly string[], about: Partial<Card> & { readonly title: string }): Card {
    const [first = ""] = ids;
    const made: Card = {
      name: ids.length === 1 ? first : (archive.read(first)?.groupId ?? first),
      jobIds: ids,
      label: ids.map(label).join(" "),
      lines: diffOf(ids),
      remarks: [],
      status: "applied",
      failedCmds: 0,
      facts: [],
      moved: "",
      printed: null,
      ...about,
    };
    refresh(made);
    return made;
  }

  /** Updates a card to the current state of its jobs. */
  function refresh(made: Card): void {
    const jobs = jobsOf(made.jobIds);
    const last = jobs.at(-1);
    if (last === undefined) return;
    const all = jobs.map(statusOf);
    // If one of several jobs is still in effect, the whole does not count as undone.
    made.status = all.find((status) => status !== "taken-back") ?? "taken-back";
    made.failedCmds = jobs.reduce((sum, job) => sum + job.failedCmds, 0);
  }

  /** Number and names of the files that were moved; a folder counts as the files in it. */
  function wordMove({ action, done }: ActionFacts, lines: readonly DiffLine[]): string {
    const paths = namedPaths(done.flatMap(({ changes }) => changes.map(({ path }) => path)));
    const folders = new Map(
      lines.flatMap((line) => (line.kind === "folder" ? [[line.path, line.files] as const] : [])),
    );
    const named = paths.map((path) => printable(shownPath(path)));
    const count = named.reduce((sum, name) => sum + (folders.get(name) ?? 1), 0);
    const shown = named.slice(0, NAMED_FILES).map((name) => (folders.has(name) ? `${name}/` : name));
    const more = named.length - shown.length;
    const word = action === "undo" ? texts.restored : texts.broughtIn;
    if (named.length === 0 || action === "apply") return "";
    return word(count, `${shown.join(", ")}${more > 0 ? ` +${more}` : ""}`);
  }

  const pieceOf = <Kind extends ReplyPiece["kind"]>(said: readonly ReplyPiece[], kind: Kind) =>
    said.find((piece): piece is Extract<ReplyPiece, { kind: Kind }> => piece.kind === kind);

  function remarksOf(facts: RanJob, coder: CoderFacts | undefined, risk: "high" | undefined): string[] {
    // The verdict below says how long everything took.
    const { seconds: _, ...checks } = coder?.checks ?? {};
    const words = wordCard(locale, {
      facts,
      ...(coder !== undefined && {
        coder: { ...coder, ...(coder.checks && { checks: checks as typeof coder.checks }) },
      }),
      ...(risk !== undefined && { risk }),
    });
    const shown = (
      { command, error, output }: { command: string; error: string; output: string },
      sign: string,
    ) => [`${sign} ${command}`, error, tail(output)].filter((line) => line !== "").join("\n");
    return [
      ...words.trouble,
      ...words.failed.map((one) => shown(one, "✗")),
      ...words.printed.map((one) => shown(one, "$")),
      ...words.way,
      ...words.caveats,
    ];
  }

  return {
    /** Null where a reply changed nothing. */
    fromReply(reply: Reply, took: string): Card | null {
      const said = reply.said ?? [];
      const job = pieceOf(said, "job");
      const coder = pieceOf(said, "coder")?.facts;
      const ids =
        job !== undefined
          ? [job.facts.jobId]
          : reply.groupId === undefined || pieceOf(said, "loop") === undefined
            ? []
            : archive
                .list()
                .filter(({ groupId, changes }) => groupId === reply.groupId && changes.length > 0)
                .map(({ jobId }) => jobId);
      if (ids.length === 0 || job?.facts.dryRun === true) return null;
      const usage = reply.usage;
      const checks = coder?.checks;
      const facts = [
        checks === undefined ? "" : checksMessagesFor(locale).line(checks),
        took,
        usage === undefined ? "" : texts.tokens(usage.inputTokens + usage.outputTokens),
        usage === undefined || (usage.costUsd ?? 0) === 0 ? "" : `$${(usage.costUsd ?? 0).toFixed(3)}`,
      ];
      const plans = (job?.plan ?? "").split("\n").filter((line) => line.trim() !== "");
      // The plan of a later attempt begins with an arrow.
      const last =
        (coder?.tried.length ?? 0) > 0 ? plans.findLast((line) => line.startsWith("→ ")) : undefined;
      const plan = last?.slice(2) ?? plans[0] ?? "";
      const stored = archive.read(ids[0] ?? "");
      const made = card(ids, {
        title: plan === "" ? (stored?.title ?? "") : plan.replace(/^[-*\d.)\s]+/, ""),
        remarks: job === undefined ? [] : remarksOf(job.facts, coder, job.risk),
        facts: facts.filter((fact) => fact !== ""),
      });
      if (job !== undefined && made.status === "preview") made.status = job.facts.status;
      return made;
    },
    /** A command that the user ran: it has no plan, and its output is what matters. */
    fromResult(result: JobResult, title: string, took: string): Card | string {
      if (result.about === "refusal") return wordPieces(locale, [{ kind: "refusal", facts: result }]);
      return card([result.jobId], { title, remarks: remarksOf(result, undefined, undefined), facts: [took] });
    },
    /** Any job of the workspace, including those of other programs. */
    fromJob: (job: StoredJob): Card => card([job.jobId], { title: job.title }),
    refresh,
    /** The whole difference. */
    lines: (made: Card): readonly DiffLine[] => diffOf(made.jobIds),
    /** Title and difference, for the scrollback. */
    block: (made: Card, style: () => Style): Block => cardBlock(made, texts, style),
    verdict(made: Card, style: Style): string {
      const { status, failedCmds, facts, moved } = made;
      const words = wordStatus(messages, { status, failedCmds });
      const rest = status === "taken-back" || moved !== "" ? [moved].filter((one) => one !== "") : facts;
      return `${verdictSign(status, style)} ${style.bold(words)}${rest.map((fact) => ` · ${printable(fact)}`).join("")}`;
    },
    /** The actions that are possible with it now. */
    keys(made: Card): readonly CardKey[] {
      const jobs = jobsOf(made.jobIds);
      const changed = jobs.filter(({ changes }) => changes.length > 0).map(({ state }) => state);
      return [
        ...(changed.includes("committed") ? (["undo"] as const) : []),
        ...(changed.includes("undone") ? (["redo"] as const) : []),
        ...(jobs.some(({ state }) => state === "staged") ? (["apply"] as const) : []),
        ...(changed.length > 0 ? (["diff", "open"] as const) : []),
      ];
    },
    /** Notes the files of the card that were moved. */
    describeMove(made: Card, facts: ActionFacts): void {
      const done = facts.done.filter(({ jobId }) => made.jobIds.includes(jobId));
      made.moved = wordMove({ ...facts, done }, made.lines);
      refresh(made);
    },
    wordMove,
    linesOf: ({ done }: ActionFacts) => diffOf(done.map(({ jobId }) => jobId)),
    label,
  };
}

/** Files that a person knows: a folder is named by what is in it, and git's own files only where nothing else changed. */
function namedPaths(changed: readonly string[]): string[] {
  const all = [...new Set(changed)].sort();
  const files = all.filter((path, n) => !all[n + 1]?.startsWith(`${path}/`));
  const own = files.filter((path) => !path.startsWith(".git/"));
  return own.length > 0 ? own : files;
}

function tail(output: string): string {
  const lines = output.trimEnd().split("\n");
  return lines.length > SHOWN_OUTPUT ? ["…", ...lines.slice(-SHOWN_OUTPUT)].join("\n") : output.trimEnd();
}
