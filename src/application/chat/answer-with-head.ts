import { agentOf } from "../../domain/chat/agents.ts";
import { HEAD_NAMES, type HeadName } from "../../domain/config/configured-kinds.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import { cutMiddle, oneLine } from "../../domain/texts/format-text.ts";
import { type HeadMessages, type HeadTrouble, headMessagesFor } from "../../domain/texts/heads.ts";
import { paragraphs } from "../../domain/texts/jobs-report.ts";
import { inEveryLanguage, type WordsByLocale } from "../../domain/texts/worded.ts";
import { wordDeclarations } from "../checks/project-checks.ts";
import { coderLoop, type HeadWorkResult } from "../coder/coder-loop.ts";
import { createShownFiles } from "../drafts/shown-files.ts";
import type { Agent, ChatEvent } from "../ports/chat.ts";
import type { Head, WorkerProgress } from "../ports/heads.ts";
import { answerForCoder, openBench, tellCoderEvents } from "./answer-with-code.ts";
import {
  type Answer,
  answerInEveryLanguage,
  type ChatBase,
  type ChatCommand,
  type ChatTurn,
  type CoderDeps,
  createNotice,
  type JobDeps,
} from "./chat-turn.ts";
import { createHistoryReader, earlierExchangesFor } from "./exchanges.ts";
import { createWordOutput } from "./held-output.ts";

function inAllWords(trouble: HeadTrouble): WordsByLocale {
  return inEveryLanguage((locale) => headMessagesFor(locale).trouble(trouble));
}

export interface HeadTask {
  readonly name: HeadName;
  readonly text: string;
  /** The head's changes are discarded, and its words are the plan. */
  readonly planOnly: boolean;
}

/** A coder route for an agent of the user's own: it works in a draft until that is green, and the draft lands as one job. */
export async function answerWithHead(
  deps: CoderDeps,
  turn: ChatTurn,
  { name, text, planOnly }: HeadTask,
): Promise<Answer> {
  const refuse = (word: (words: HeadMessages) => string) =>
    answerInEveryLanguage((locale) => word(headMessagesFor(locale)), false);
  if (deps.heads === undefined) return refuse((words) => words.trouble({ code: "not-confined" }));
  if (turn.dryRun) return refuse((words) => words.dryRun(name));
  const overBudget = await turn.models.workers.refusal();
  if (overBudget !== null)
    return answerInEveryLanguage((locale) => {
      const asked = { agent: name, role: deps.settings.defaultCoder, provider: name, model: "" };
      return chatMessagesFor(locale).modelTrouble(overBudget.code, asked, overBudget.message);
    }, false);
  const steps = createSteps(turn, agentOf(deps.settings.defaultCoder), deps.workspace.mask);
  const heads = await deps.heads.open();
  const opened = await heads.open({ name, sessionKey: turn.sessionKey, onProgress: steps.tell });
  if (!opened.ok) return refuse((words) => words.trouble(opened.trouble));
  const { head } = opened;
  const desk = deps.steering.open(turn.sessionKey);
  try {
    const watched = { ...turn, emit: steps.watch };
    const { bench, checks, checked } = await openBench(deps, watched, {
      request: turn.asked ?? text,
      judged: !planOnly,
      shown: createShownFiles(),
      startedBy: "head",
    });
    const { attempts, explore, onRed } = deps.settings.coder;
    const changed = await lastChanges(turn);
    const first = () => wordRequest(deps, turn, { text, planOnly, checks, changed, resumes: head.resumes() });
    const end = await coderLoop({
      coder: {
        kind: "head",
        work: async (attempt, back) => {
          const again = () => [first(), back].filter((one) => one !== null).join("\n\n");
          const work = async (message: string) => {
            const worked = await workOnce(deps, turn, { head, bench, attempt, message });
            steps.end();
            return worked;
          };
          const worked = await work(back ?? first());
          if (worked.lost !== true) return worked.result;
          turn.emit(createHeadNotice(deps, { code: "session-lost", name }));
          return (await work(again())).result;
        },
      },
      bench,
      show: () => "",
      limits: { attempts, explore, onRed, shownChars: SHOWN_AGAIN },
      planOnly,
      preview: turn.preview,
      steering: desk.take,
      signal: turn.signal,
      tell: tellCoderEvents(deps, turn, { bench, checks, nameCoder: () => name }),
      mask: deps.workspace.mask,
      advise: deps.advise,
    });
    const talk = { model: () => ({ provider: name, model: head.version, local: false }) };
    const role = deps.settings.defaultCoder;
    return await answerForCoder(deps, turn, { role, text, end, talk, checked: checked() });
  } finally {
    desk.close();
    await head.close();
  }
}

/** Characters of another's change that are shown to a head: it can read the files. */
const SHOWN_AGAIN = 8_000;

interface HeadAttempt {
  readonly head: Head;
  readonly bench: Awaited<ReturnType<typeof openBench>>["bench"];
  readonly attempt: number;
  readonly message: string;
}

async function workOnce(
  { workspace }: JobDeps,
  turn: ChatTurn,
  { head, bench, attempt, message }: HeadAttempt,
): Promise<{ readonly result: HeadWorkResult; readonly lost?: boolean }> {
  const { workByHead } = bench;
  if (workByHead === undefined)
    return { result: { kind: "unanswered", text: inAllWords({ code: "not-confined" }) } };
  const begun = await head.begin(message);
  const ran = await workByHead(attempt, begun.process).catch(async (error: unknown) => {
    await begun.finish();
    throw error;
  });
  const { summary, usage, trouble } = await begun.finish();
  await turn.models.workers.count(head.name, usage);
  if (ran.kind !== "ran") return { result: ran };
  if (trouble !== null)
    return {
      result: { kind: "unanswered", text: inAllWords(trouble) },
      lost: trouble.code === "session-lost",
    };
  return { result: { kind: "ran", summary: workspace.mask(summary), results: ran.results } };
}

function createHeadNotice(deps: ChatBase, trouble: HeadTrouble): Extract<ChatEvent, { type: "notice" }> {
  const texts = inAllWords(trouble);
  return { ...createNotice(deps, () => texts[deps.messages.locale]), texts };
}

/** Reports a head's steps like those of a job: one line for a command, an edit or a tool call, and its text when it is complete. */
function createSteps(turn: ChatTurn, agent: Agent, mask: (text: string) => string) {
  let jobId = "";
  let index = 0;
  let words = "";
  const streamed = createWordOutput(mask, (text) => turn.emit({ type: "drafting", agent, text, lines: 0 }));
  const flush = () => {
    const text = mask(words.trim());
    words = "";
    if (turn.tellsDrafts) {
      if (text !== "") streamed.add("\n\n");
      streamed.end();
    } else if (text !== "") turn.emit({ type: "job-output", jobId, text: `${text}\n` });
  };
  const step = (command: string) => {
    flush();
    turn.emit({
      type: "job-command",
      jobId,
      index: ++index,
      command: mask(oneLine(command)).slice(0, LONGEST_STEP),
    });
  };
  return {
    /** Learns which job it is. The one command of each turn is the head itself, and its steps say more. */
    watch(event: ChatEvent): void {
      if (event.type === "job-started") jobId = event.jobId;
      if (event.type !== "job-command") turn.emit(event);
    },
    tell(progress: WorkerProgress): void {
      switch (progress.kind) {
        // Some agents send a text in growing pieces: it is complete when another event follows.
        case "text": {
          const { text } = progress;
          if (turn.tellsDrafts)
            streamed.add(text.startsWith(words) ? text.slice(words.length) : `\n\n${text}`);
          words = text;
          return;
        }
        case "command":
          step(`shell_command run ${progress.command}`);
          return;
        case "edit":
          step(`file_edit update ${progress.path}`);
          return;
        case "tool":
          flush();
          turn.emit({ type: "tool", name: progress.name, state: "started" });
          return;
        case "trouble":
          return;
      }
    },
    end: flush,
  };
}

const LONGEST_STEP = 500;

interface WordedRequest {
  readonly text: string;
  readonly planOnly: boolean;
  readonly checks: readonly string[];
  /** The last message's changes, which a head that continues its session may not know. */
  readonly changed: readonly string[];
  readonly resumes: boolean;
}

/** How many messages are searched for the last change: an undo has no jobs of its own. */
const MOST_LOOKED = 3;

/** The changes of the last message that made any, and those of other routes for this message. */
async function lastChanges({ history, jobs, groupId }: ChatTurn): Promise<readonly string[]> {
  const own = await jobs.changes(groupId);
  for (const { groupId: group } of history.slice(-MOST_LOOKED).reverse()) {
    const changed = group === null ? [] : await jobs.changes(group);
    if (changed.length > 0) return [...changed, ...own];
  }
  return own;
}

const CHANGED_CHARS = 800;

/** The request, and for a head in a new session the facts about its surroundings. */
function wordRequest(
  { workspace }: JobDeps,
  { history, older, memory, models }: ChatTurn,
  { text, planOnly, checks, changed, resumes }: WordedRequest,
): string {
  const plan = planOnly ? "Plan only: read what you need, change nothing, and answer with the plan." : "";
  const before =
    changed.length === 0
      ? ""
      : cutMiddle(
          ["The last change in this conversation, by you or by another agent:", ...changed].join("\n"),
          CHANGED_CHARS,
        );
  if (resumes) return paragraphs([plan, workspace.mask(before), text]);
  const earlier = earlierExchangesFor(createHistoryReader({ local: false }, models.models), {
    request: text,
    history,
    older,
    limit: EARLIER,
    differenceOf: () => "",
  });
  const place = [
    "You work in a draft of this folder: edit files and run commands freely. Nothing reaches the real folder until it has been judged; then it lands as one change that can be undone.",
    ...(checks.length === 0
      ? []
      : [
          `When you finish, these checks run on your work: ${checks.join(", ")}. Failures are sent back to you. ${wordDeclarations("your last message")}`,
        ]),
    "Do not commit or push unless you are asked to. You cannot change secrets such as .env, or git hooks: PicoClaw restores them.",
    "End with a few sentences on what you did, in the language of the request.",
  ].join("\n");
  const known = [workspace.mask(memory), earlier, workspace.mask(before)];
  return paragraphs([place, ...known, plan, `# Request\n${text}`]);
}

const EARLIER = { exchanges: 4, chars: 600, folded: 4_000, difference: 0 } as const;

/** `/head NAME REQUEST`: one message for an agent of the user's own; `/head` alone lists them. */
export const head: ChatCommand<CoderDeps> = async (deps, turn, rest) => {
  const [name = "", ...words] = rest.trim().split(/\s+/u);
  const known = HEAD_NAMES.find(
    (one) => one === name.toLowerCase() || HEAD_SHORT[one] === name.toLowerCase(),
  );
  const text = rest.trim().slice(name.length).trim();
  if (known !== undefined && words.length > 0)
    return answerWithHead(deps, turn, { name: known, text, planOnly: false });
  const heads = (await deps.heads?.open())?.list() ?? [];
  return answerInEveryLanguage((locale) => {
    const said = headMessagesFor(locale);
    return [
      ...(name === "" || known !== undefined ? [] : [said.unknown(name)]),
      ...heads.map((one) => `${one.name}: ${one.trouble === null ? said.ready : said.trouble(one.trouble)}`),
      ...(deps.heads?.standing == null ? [] : [said.always(deps.heads.standing)]),
      said.usage(HEAD_NAMES),
    ].join("\n");
  }, name === "");
};

const HEAD_SHORT: Readonly<Record<HeadName, string>> = {
  "claude-code": "claude",
  "codex-cli": "codex",
  "gemini-cli": "gemini",
  acp: "acp",
};
