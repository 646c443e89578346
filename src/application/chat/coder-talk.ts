import { agentOf, type CoderRole, coderPrompt } from "../../domain/chat/agents.ts";
import {
  chooseAnswerForm,
  fileSchema,
  filesInQuestion,
  isSmallModel,
  readGoalTests,
  SMALL_WORDS,
  unwrapFileJson,
} from "../../domain/coder/answer-form.ts";
import type { AnswerForm } from "../../domain/models/model-facts.ts";
import { chatMessagesFor } from "../../domain/texts/chat.ts";
import { cutMiddle, oneLine } from "../../domain/texts/format-text.ts";
import { paragraphs } from "../../domain/texts/jobs-report.ts";
import { languageOf } from "../../domain/texts/locale.ts";
import { inEveryLanguage } from "../../domain/texts/worded.ts";
import {
  type ContextBudget,
  coderContext,
  contextBudget,
  isShortWindow,
  LEAST_WINDOW,
  type RecentFile,
} from "../coder/coder-context.ts";
import type { CoderAnswer } from "../coder/coder-loop.ts";
import type { CoderLooks } from "../coder/explorer.ts";
import type { ShownFiles } from "../drafts/shown-files.ts";
import type { RequestSize } from "../models/complete.ts";
import type { LoadedImage, OwnCommands } from "../ports/chat.ts";
import type { ProjectFiles } from "../ports/drafts.ts";
import type { AnswerOutcome, Model, ModelMessage, ModelRecord, ModelRecords } from "../ports/models.ts";
import { type AgentRequest, askAgent, fitMessage, isMessageCut, SMALL_MESSAGE_CHARS } from "./ask-agent.ts";
import { type AgentDeps, type ChatTurn, createNotice } from "./chat-turn.ts";
import { createDraftOutput } from "./draft-output.ts";
import { coderMemory, createHistoryReader, earlierExchangesFor, handedOverFor } from "./exchanges.ts";
import { imagesPart } from "./message-images.ts";

export type Skills = ReturnType<typeof createSkills>;

const PREFIX = "skill:";
const MOST_OFFERED = 40;
const OFFER =
  "Skills are instructions that the user wrote. If one fits the request, read it before you write, like a file at this path:";

export function createSkills(own: OwnCommands) {
  return {
    /** The list of skills before a request, without those that the request contains already; empty if none is left. */
    offer(request: string) {
      const lines = own
        .list()
        .filter(({ kind, description }) => kind === "skill" && description !== "")
        // A skill that was called by its name is already in the request.
        .filter(({ name }) => !request.includes(`# Skill: ${name}\n`))
        .slice(0, MOST_OFFERED)
        .map(({ name, description }) => `${PREFIX}${name}: ${oneLine(description)}`);
      return lines.length === 0 ? "" : [OFFER, ...lines].join("\n");
    },
    /** The same files, and each skill as a further readable file. */
    beside: <Files extends Pick<ProjectFiles, "read">>(files: Files): Files => ({
      ...files,
      read(path: string, limitChars: number) {
        if (!path.startsWith(PREFIX)) return files.read(path, limitChars);
        const [name = "", ...beside] = path.slice(PREFIX.length).split("/");
        const skill = own.find(name);
        if (skill === null || skill === "untrusted" || skill.kind !== "skill") return null;
        const text = beside.length === 0 ? skill.body : own.readBeside(name, beside.join("/"));
        return text === null ? null : { text: text.slice(0, limitChars), cut: text.length > limitChars };
      },
    }),
  };
}

export interface CoderQuestion {
  readonly role: CoderRole;
  readonly request: string;
  readonly planOnly: boolean;
  readonly isSubAgent: boolean;
  /** The checks that validate a draft, as described to the coder; empty if there are none. */
  readonly checks: string;
  /** Whether all checks are known to be green: then the tests that the request names are not its goal. */
  readonly areTestsGreen: boolean;
  /** The remaining model time that coders of one message share, one after the other; default: its own. */
  readonly time?: { leftMs: number } | undefined;
  readonly looks: CoderLooks;
  readonly skills: Skills;
  readonly shownFiles: ShownFiles;
  /** Paths of the project's rules that it was shown. */
  readonly seenRules: Set<string>;
}

const EARLIER_LIMIT = {
  cloud: { exchanges: 4, chars: 600, folded: 4_000, difference: 6_000 },
  local: { exchanges: 3, chars: 500, folded: 2_000, difference: 2_500 },
  small: { exchanges: 1, chars: 200, folded: 600, difference: 0 },
} as const;
const MOST_COMPARED = 3;
const HANDED_CHARS = 800;
const MEMORY_CHARS = 6_000;

/** Asks a coder for the chat: with its prompt, the content of the project, and the limits of one message. */
export function createCoderTalk(deps: AgentDeps, turn: ChatTurn, question: CoderQuestion) {
  const { settings, clock } = deps;
  const { maxMinutes, budgetUsd } = settings.coder;
  const shown = new Set<string>();
  const { looks } = question;
  let past: ConversationPast | null = null;
  let firstMessage: ReturnType<typeof createFirstMessage> | null = null;
  const time = question.time ?? { leftMs: maxMinutes * 60_000 };
  let answeredBy: Model | undefined;
  let about: Pick<Extract<CoderAnswer, { ok: true }>, "asked" | "goal"> = {};
  /** The form and the model of the last request to a small model, whose answers are remembered. */
  let asking: { readonly model: Model; readonly form: AnswerForm; readonly records: ModelRecords } | null =
    null;
  let requests = 0;
  let noting = Promise.resolve();

  async function askOnce(exchange: readonly ModelMessage[], varied: number) {
    past ??= await deps.advise("earlier work", NO_PAST, () => readPast(turn));
    firstMessage ??= createFirstMessage(deps, turn, question, past);
    const first = firstMessage;
    const begun = clock();
    const [records, seen] = await recallForms();
    const agent = agentOf(question.role);
    const draft = createDraftOutput(deps.workspace.mask, (text, lines) =>
      turn.emit({ type: "drafting", agent, text, lines }),
    );
    const answered = await askAgent(deps, turn, {
      role: question.role,
      streams: false,
      ...(turn.tellsDrafts && { onText: draft.add }),
      // Half a patch cannot be used.
      whenCut: "goes-on",
      deadline: begun + time.leftMs,
      isKnown: requests++ > 0,
      request(model, size) {
        const text = first(model, size);
        const exists = (path: string) => deps.workspace.files.look(path).kind !== "missing";
        const form = askedForm(model, question.request, text, { varied, exists, seen });
        asking = form.small && records !== undefined ? { model, form: form.form, records } : null;
        about = form.small ? { asked: form.asked, goal: question.areTestsGreen ? null : form.goal } : {};
        const request = coderRequest(deps, question, {
          ...{ model, size, exchange, form },
          first: text,
          images: turn.images,
          varied,
        });
        for (const path of filesIn(request.messages, SHOWN_WHOLE)) shown.add(path);
        question.shownFiles.sent(filesIn(request.messages, SHOWN));
        looks.sent(request.messages);
        return request;
      },
    });
    if (turn.tellsDrafts) draft.end();
    time.leftMs -= clock() - begun;
    return answered;
  }

  /** Remembers what became of the last answer; resolves when all of them are remembered. */
  function note(outcome: AnswerOutcome): Promise<void> {
    const of = asking;
    if (of !== null) noting = noting.then(() => of.records.note(of.model, { form: of.form, outcome }));
    return noting;
  }

  /** The record of a small local model's answers. */
  async function recallForms() {
    const model = turn.models.models.forRole(question.role);
    if (!("generate" in model) || model.isScripted === true || !isSmallModel(model)) return [] as const;
    const records = await deps.modelRecords?.();
    return [records, (await records?.recall(model))?.forms] as const;
  }

  /** Asks until the coder answers without tool calls; carries the calls out. */
  async function askLooking(exchange: readonly ModelMessage[], varied: number) {
    for (;;) {
      const answered = await askOnce(exchange, varied);
      if (!answered.ok && answered.code === "bad-request" && looks.tools().length > 0) looks.withoutTools();
      else if (!answered.ok || turn.signal.aborted || !(await looks.take(exchange, answered.answer)))
        return answered;
    }
  }

  return {
    model: (): Model | undefined => answeredBy,
    note,
    /** The budget for content shown to the model that answered last. */
    budget: (): ContextBudget => contextBudget(answeredBy ?? { local: true }, "full"),
    /** Asks with the exchange since the request; returns whole answers only. */
    async ask(exchange: readonly ModelMessage[], varied: number): Promise<CoderAnswer> {
      if (budgetUsd !== null && turn.models.used().costUsd >= budgetUsd)
        return {
          ok: false,
          text: inEveryLanguage((locale) => chatMessagesFor(locale).coderBudget(budgetUsd)),
        };
      const model = turn.models.models.forRole(question.role);
      if ("generate" in model && (model.window ?? LEAST_WINDOW) < LEAST_WINDOW)
        return {
          ok: false,
          text: inEveryLanguage((locale) =>
            chatMessagesFor(locale).windowTooSmall(model.model, model.window ?? 0),
          ),
        };
      let answered = await askLooking(exchange, varied);
      // A broken or empty stream is asked for once more; the wire itself retries when a server is busy.
      if (!answered.ok && answered.again === true && !turn.signal.aborted)
        answered = await askLooking(exchange, varied);
      answeredBy = answered.model ?? answeredBy;
      if (!answered.ok) return { ok: false, text: answered.trouble, isEndless: answered.code === "endless" };
      const text = unwrapFileJson(answered.answer.text, about.asked ?? []);
      if (asking?.form === "json" && text === answered.answer.text) {
        // The server ignores the schema, so the answer is what the model writes by itself.
        await note("unread");
        asking = { ...asking, form: "whole" };
      }
      return { ok: true, text, shown: (path) => shown.has(path), ...about };
    },
  };
}

interface ConversationPast {
  readonly recent: readonly RecentFile[];
  readonly differences: ReadonlyMap<string, string>;
  /** The changed files of each of the last messages, this one among them. */
  readonly changes: ReadonlyMap<string, readonly string[]>;
}

const NO_PAST: ConversationPast = { recent: [], differences: new Map(), changes: new Map() };

async function readPast({ history, jobs, groupId: own }: ChatTurn): Promise<ConversationPast> {
  const groups = history.flatMap(({ groupId }) => (groupId === null ? [] : [groupId])).slice(-MOST_COMPARED);
  const differences = await Promise.all(
    groups.map(async (groupId) => [groupId, await jobs.difference(groupId)] as const),
  );
  const changes = await Promise.all(
    [...groups, own].map(async (groupId) => [groupId, await jobs.changes(groupId)] as const),
  );
  return {
    recent: await jobs.recentFiles(),
    differences: new Map(differences),
    changes: new Map(changes),
  };
}

/** The earlier work, the project's content, and the request last. Made once, so that a provider's cache recognises it. */
function createFirstMessage(
  deps: AgentDeps,
  turn: ChatTurn,
  { request, skills, shownFiles, seenRules }: CoderQuestion,
  { recent, differences, changes }: ConversationPast,
): (model: Model, size: RequestSize) => string {
  const { project, workspace } = deps;
  const { history, older } = turn;
  const made = new Map<string, string>();
  return (model, size) => {
    const key = `${size} ${model.local} ${model.window}`;
    const isShort = size === "small" || isShortWindow(model);
    const known = made.get(key);
    if (known !== undefined) return known;
    const context = coderContext(shownFiles.watch(project), {
      advise: deps.advise,
      request,
      recent,
      budget: contextBudget(model, size),
      onRules: (paths, cut) => {
        for (const path of paths) seenRules.add(path);
        // A smaller request after a failure was announced already.
        if (size === "full" && cut.length > 0) turn.emit(createNotice(deps, (chat) => chat.rulesCut(cut)));
      },
    });
    const asked = fitMessage(request, size);
    if (isMessageCut(request, size)) turn.emit(createNotice(deps, (chat) => chat.messageCut));
    const reader = createHistoryReader(model, turn.models.models);
    const handed = handedOverFor(reader, turn, changes, isShort ? 300 : HANDED_CHARS);
    const earlier = earlierExchangesFor(reader, {
      request,
      history,
      older,
      limit: EARLIER_LIMIT[isShort ? "small" : model.local ? "local" : "cloud"],
      differenceOf: (groupId) => differences.get(groupId) ?? "",
    });
    const talks = turn.models.models.forRole("chat");
    const memory = coderMemory(model, turn, "generate" in talks ? talks : null);
    const kept =
      memory === "" ? "" : `# Kept from earlier\n${cutMiddle(memory, isShort ? 1_000 : MEMORY_CHARS)}`;
    // A script looks for the words of its request in one form.
    const isWorded = isSmallModel(model) && model.isScripted !== true;
    const label = SMALL_WORDS[isWorded ? languageOf(request) : "en"].request;
    const before = paragraphs([kept, earlier, handed, skills.offer(request), context]);
    const first = before === "" ? asked : `${workspace.mask(before)}\n\n${label}\n${asked}`;
    made.set(key, first);
    return first;
  };
}

interface CoderAsk {
  readonly form: ReturnType<typeof askedForm>;
  readonly model: Model;
  readonly size: RequestSize;
  readonly first: string;
  readonly images: readonly LoadedImage[];
  readonly exchange: readonly ModelMessage[];
  readonly varied: number;
}

/** Temperatures of the tries that are asked for otherwise, in their order: no two requests of a message are the same. */
const VARIED = [0.7, 0.75, 1, 0.8, 0.9] as const;

/** A local model may write without end: its answer has room for four times the files that it was shown, or that it writes. */
const SHOWN_FILES = /^<file path="([^"\n]+)"[^>\n]*>\n([\s\S]*?)\n<\/file>$/gm;

function limitsOfLocal(messages: readonly ModelMessage[], varied: number, form: CoderAsk["form"]) {
  const shown = messages.flatMap(({ text }) => [...text.matchAll(SHOWN_FILES)]);
  const written = shown.filter(([, path = ""]) => form.form === "edits" || form.asked.includes(path));
  const chars = written.reduce((sum, [, , file = ""]) => sum + file.length, 0);
  const temperature = VARIED[(varied - 1) % VARIED.length];
  return {
    endsAfter: 4 * Math.max(4_096, chars),
    ...(temperature !== undefined && { temperature }),
  };
}

function coderRequest(
  deps: AgentDeps,
  { role, request, planOnly, isSubAgent, checks, looks }: CoderQuestion,
  { model, size, exchange, form, first, images, varied }: CoderAsk,
): AgentRequest {
  const { settings } = deps;
  const isFull = size === "full";
  // Small local models call tools badly, and their windows are short: they ask in words.
  const tools = isFull && !model.local ? looks.tools() : [];
  const later = isFull ? looks.woven(exchange) : shortenExchange(exchange);
  // Templates of local models refuse two messages of the user in a row.
  const [alone] = later[0]?.role === "user" ? later.splice(0, 1) : [];
  const messages: ModelMessage[] = [
    { role: "user", text: paragraphs([first, alone?.text ?? ""]), ...imagesPart(images) },
    ...later,
  ];
  return {
    system: coderPrompt({
      agent: agentOf(role),
      family: model.family,
      language: languageOf(request),
      ...{ form: form.form, small: form.small, path: form.small ? form.asked[0] : undefined },
      protectedPatterns: settings.protectedPatterns,
      browser: settings.mcpServers.includes("browser"),
      planOnly,
      checks,
      tools: tools.map(({ name }) => name),
      isSubAgent,
    }),
    messages,
    ...(tools.length > 0 && { tools }),
    ...(form.form === "json" && { json: fileSchema(form.asked[0] ?? "") }),
    ...(model.local && limitsOfLocal(messages, varied, form)),
  };
}

/** The form of the answer, by the files that the first message shows. A cloud model is sent the same words each time, for its cache. */
function askedForm(
  model: Model,
  request: string,
  first: string,
  asks: {
    readonly varied: number;
    readonly exists: (path: string) => boolean;
    readonly seen?: ModelRecord["forms"] | undefined;
  },
) {
  if (!model.local) return { form: "edits", small: false, asked: [], goal: null } as const;
  const shown = filesIn([{ role: "user", text: first }], SHOWN);
  const asked = filesInQuestion(request, shown, asks.exists);
  const known = asked.filter((path) => shown.includes(path) || asks.exists(path));
  const longest = Math.max(0, ...known.map((path) => shownLength(first, path)));
  return {
    form: chooseAnswerForm(model, {
      longest,
      varied: asks.varied,
      isOne: asked.length === 1,
      ...(asks.seen !== undefined && { seen: asks.seen }),
    }),
    small: isSmallModel(model),
    asked,
    goal: readGoalTests(request, shown),
  };
}

/** Characters of a file as a message shows it; a file that is not shown whole counts as endless. */
function shownLength(message: string, path: string): number {
  const start = message.indexOf(`<file path="${path}">\n`);
  const end = message.indexOf("\n</file>", start);
  return start === -1 || end === -1 ? Number.POSITIVE_INFINITY : end - start;
}

/** For a full context window: the last answer and the reply to it, cut. */
function shortenExchange(exchange: readonly ModelMessage[]): ModelMessage[] {
  return exchange
    .slice(-2)
    .map((message) => ({ ...message, text: cutMiddle(message.text, SMALL_MESSAGE_CHARS) }));
}

/** Files of which a message shows anything, and those that it shows whole. */
const SHOWN = /^<file path="([^"\n]+)"/gm;
const SHOWN_WHOLE = /^<file path="([^"\n]+)">\n/gm;

function filesIn(messages: readonly ModelMessage[], shown: RegExp): string[] {
  return messages.flatMap(({ role, text }) =>
    role === "assistant" ? [] : [...text.matchAll(shown)].map(([, path]) => path as string),
  );
}
