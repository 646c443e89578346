import { describeMeasured } from "../../domain/chat/agents.ts";
import { readExplicitRoute } from "../../domain/chat/message-commands.ts";
import type { RuleProblem } from "../../domain/chat/rule-pattern.ts";
import { readMemoryLine } from "../../domain/chat/session.ts";
import { ROUTES, readRoute } from "../../domain/config/configured-kinds.ts";
import { sumUsage, type UsageTotal } from "../../domain/models/model-facts.ts";
import type { DayClock } from "../../domain/platform/days.ts";
import { type MemoryMessages, memoryMessagesFor } from "../../domain/texts/chat.ts";
import { localTime } from "../../domain/texts/format-text.ts";
import type { UsageFilter, UsageStore } from "../ports/models.ts";
import { isOwnersChannel, jobsVisibleTo } from "./chat-commands.ts";
import {
  type Answer,
  answerInEveryLanguage,
  type ChatBase,
  type ChatCommand,
  type ChatTurn,
  type CoderDeps,
  type LookCommand,
  type LookRequest,
  type StateDeps,
} from "./chat-turn.ts";
import type { RouteTeacher } from "./route-message.ts";

function answerAboutMemory(word: (words: MemoryMessages) => string, ok = true): Answer {
  return answerInEveryLanguage((locale) => word(memoryMessagesFor(locale)), ok);
}

const FORGET = /^(?:forget|忘れて|忘れる)(?:\s+|$)/iu;

const noteCommands: Readonly<Record<string, ChatCommand<StateDeps>>> = {
  async notes(deps, turn, rest) {
    const wanted = rest.trim();
    if (FORGET.test(wanted)) return forgetNote(deps, turn, wanted.replace(FORGET, "").trim());
    const notes = await deps.sessions.notes(turn.session);
    if (wanted !== "") {
      const note = notes[Number(wanted) - 1];
      return answerAboutMemory(
        (words) => (note === undefined ? words.notesUsage : `${note.sessionId}\n${note.text}`),
        note !== undefined,
      );
    }
    const { carried, summary } = turn.session;
    const now = [carried, summary.text].filter((text) => text !== "").join("\n\n");
    return answerAboutMemory((words) => {
      const lines = notes.map(({ sessionId, text }, at) =>
        words.note(at + 1, sessionId, quoteOneLine(text, 100)),
      );
      const all = [...(now === "" ? [] : [words.notesNow, now, ""]), ...lines];
      return [...(all.length === 0 ? [words.noNotes] : all), words.notesUsage].join("\n");
    });
  },
  async memo(deps, { session }, rest) {
    const { sessions } = deps;
    const line = rest.trim();
    if (line === "") {
      const memory = Object.entries(await sessions.memory(session));
      return answerAboutMemory((words) =>
        memory.length === 0 ? words.noMemos : memory.map(([name, value]) => `${name} = ${value}`).join("\n"),
      );
    }
    const memory = await sessions.memory(session);
    if (FORGET.test(line)) {
      const name = line.replace(FORGET, "").trim();
      if (!Object.hasOwn(memory, name)) return answerAboutMemory((words) => words.noMemo(name), false);
      await sessions.keep(session, name, null);
      return answerAboutMemory((words) => words.forgotten(name));
    }
    const { name, value } = readMemoryLine(line);
    if (value === null) {
      const known = Object.hasOwn(memory, name) ? memory[name] : undefined;
      return answerAboutMemory(
        (words) => (known === undefined ? words.noMemo(name) : `${name} = ${known}`),
        known !== undefined,
      );
    }
    const fits = await sessions.keep(session, name, value);
    return answerAboutMemory((words) => (fits ? words.memoKept(name, value) : words.memoTooMuch), fits);
  },
};

async function forgetNote(deps: StateDeps, { session }: ChatTurn, which: string): Promise<Answer> {
  const { sessions } = deps;
  if (/^(?:now|今)$/iu.test(which)) {
    await sessions.forgetSummary(session);
    return answerAboutMemory((words) => words.summaryForgotten);
  }
  const notes = await sessions.notes(session);
  const wanted = /^(?:all|全部|すべて)$/iu.test(which)
    ? notes
    : notes.slice(Number(which) - 1, Number(which));
  if (wanted.length === 0 || (wanted !== notes && !/^[0-9]{1,4}$/u.test(which)))
    return answerAboutMemory((words) => words.notesUsage, false);
  for (const note of wanted) await sessions.forgetNote(session, note);
  const names = wanted.map(({ sessionId }) => sessionId).join(", ");
  return answerAboutMemory((words) => words.forgotten(names));
}

export interface UsageDeps {
  readonly usage: UsageStore;
  /** The day's budget in US dollars. */
  readonly daily: number | null;
  readonly clock: DayClock;
}

interface UsageScope {
  readonly of: "all" | "chat" | "person";
  /** A person's `chatKey` is that of their first chat; the others are called `<chatKey>.<something>`. */
  readonly owner: UsageOwner;
}

const DAYS = 7;

type UsageOwner = Pick<UsageFilter, "chatKey" | "withChatsBelow">;

/** `/cost`: this chat, today by model, the last days, the budget; `/cost DAY|MODEL` looks closer. Only the owner sees more than a share. */
async function tellCost(deps: UsageDeps, chat: ChatBase, look: LookRequest, wanted: string): Promise<Answer> {
  const { usage, clock, daily } = deps;
  const scope = scopeOf(look);
  const byDay = await modelsByDay(usage, clock, chat.now(), scope.owner);
  if (wanted !== "") return tellCostOf(byDay, wanted);
  const [today] = byDay;
  const days = byDay.flatMap(({ day, models: of }) => (of.length > 0 ? [sumUsage(day, of)] : []));
  const models = today?.models ?? [];
  const here = await usage.totals({
    by: "chat",
    since: clock.startOfDay(chat.now()),
    chatKey: look.sessionKey,
  });
  const spent =
    daily !== null && scope.of === "all" ? models.reduce((cost, one) => cost + one.costUsd, 0) : null;
  const own = memoryMessagesFor(chat.messages.locale);
  const toChoice = (line: UsageTotal) => ({
    label: line.name,
    description: own.usageLine(line).slice(line.name.length + 2),
    message: `/cost ${line.name}`,
  });
  return {
    ...answerAboutMemory(({ usageHeader, usageLine, ...words }) => {
      // Where this chat is all that is reported, its models are what it used.
      const lines =
        scope.of === "chat" ? [] : here.map((one) => usageLine({ ...one, name: usageHeader.chat }));
      if (models.length === 0) lines.push(words.noUsage);
      else lines.push(`${usageHeader[scope.of]}:`, ...models.map(usageLine));
      if (days.length > 0) lines.push("", `${usageHeader.days}:`, ...days.map(usageLine));
      if (spent !== null && daily !== null) lines.push("", words.budgetLine(spent, daily));
      return [...lines, "", words.costUsage].join("\n");
    }),
    choices: [...models.map(toChoice), ...days.map(toChoice)],
  };
}

interface DayUsage {
  readonly day: string;
  readonly models: readonly UsageTotal[];
}

/** Today first. */
async function modelsByDay(
  usage: UsageDeps["usage"],
  clock: DayClock,
  now: Date,
  only: UsageOwner,
): Promise<DayUsage[]> {
  const days: DayUsage[] = [];
  let until: Date | undefined;
  let start = clock.startOfDay(now);
  for (let day = 0; day < DAYS; day++) {
    const models = await usage.totals({ by: "model", since: start, ...(until && { until }), ...only });
    days.push({ day: clock.dayOf(start).replace(/(?=(?:..){1,2}$)/gu, "-"), models });
    until = start;
    start = clock.startOfDay(new Date(start.getTime() - 1));
  }
  return days;
}

/** A day by model, or a model by day. */
function tellCostOf(byDay: readonly DayUsage[], wanted: string): Answer {
  const day = byDay.find((one) => [one.day, one.day.replaceAll("-", "")].includes(wanted));
  const lines =
    day === undefined
      ? byDay.flatMap(({ day: name, models }) =>
          models
            .filter((one) => one.name === wanted || one.name.endsWith(`/${wanted}`))
            .map((one) => ({ ...one, name })),
        )
      : day.models;
  return answerAboutMemory(({ costOfDay, usageLine, noSuchCost }) => {
    const title = day === undefined ? wanted : costOfDay(day.day);
    return lines.length === 0 ? noSuchCost(wanted) : [`${title}:`, ...lines.map(usageLine)].join("\n");
  }, lines.length > 0);
}

export interface MemoryCommandDeps extends UsageDeps {
  readonly teacher: RouteTeacher;
  /** Rules of the configuration that are not used. */
  readonly ruleProblems: () => readonly RuleProblem[];
}

/** Characters of a message that `/why` quotes. */
const QUOTED_CHARS = 120;
const SHORT_QUOTE = 60;

export function memoryLooks(deps: MemoryCommandDeps): Readonly<Record<string, LookCommand>> {
  const { teacher, usage } = deps;
  const cost: LookCommand = (chat, look, rest) => tellCost(deps, chat, look, rest.trim());
  return {
    async why(chat, look, rest) {
      if (rest.trim() !== "") return (await import("./look-commands.ts")).whyLine(chat, look, rest);
      const { sessionKey } = look;
      const decision = await teacher.last(sessionKey);
      if (decision === null) return answerAboutMemory((words) => words.noDecision);
      // A decision's id is its message's group and a number.
      const groupId = decision.id.replace(/\.[0-9]+$/u, "");
      const used = await usage.totals({ by: "model", since: new Date(0), groupId });
      const facts = {
        ...decision,
        message: quoteOneLine(decision.message),
        models: used.map(({ name }) => name),
        corrected: decision.correction?.route ?? null,
        measured: decision.route === "CODE" ? describeMeasured(chat.settings.measured) : null,
      };
      return answerAboutMemory((words) => words.why(facts));
    },
    async rules(_, { sessionKey }) {
      const rules = await teacher.rules(sessionKey);
      const problems = deps.ruleProblems();
      return answerAboutMemory((words) => {
        const lines = rules.map(({ pattern, route }, index) => words.rule(index + 1, pattern, route));
        if (lines.length === 0) lines.push(words.noRules);
        return [...lines, ...problems.map(words.ruleProblem)].join("\n");
      });
    },
    usage: cost,
    cost,
    async stats(chat, look, rest) {
      const jobs = jobsVisibleTo(chat, look);
      const worded = await chat.figures({ ...scopeOf(look).owner, jobs }, rest.trim());
      return answerInEveryLanguage(...worded);
    },
  };
}

export function memoryCommands(deps: MemoryCommandDeps): Readonly<Record<string, ChatCommand>> {
  const { teacher } = deps;
  const teach: Readonly<Record<string, ChatCommand>> = {
    async route(_, { sessionKey, history }, rest) {
      const route = readRoute(rest.split(/\s/u)[0] ?? "");
      if (route === undefined) return answerAboutMemory((words) => words.routeUsage(ROUTES), false);
      const done = await teacher.correct(sessionKey, route);
      if (done === null) return answerAboutMemory((words) => words.noDecision, false);
      const { decision, offered } = done;
      return {
        ...answerAboutMemory((words) =>
          [
            words.corrected(decision.route, route),
            offered === null ? words.notOffered : words.offered(offered),
          ].join("\n"),
        ),
        ...(decision.route !== route && { again: { route, text: askedFor(history, decision.message) } }),
        ...(offered !== null && { actions: [{ label: "/remember", message: "/remember" }] }),
      };
    },
    async remember(_, { sessionKey }) {
      const rule = await teacher.remember(sessionKey);
      return rule === null
        ? answerAboutMemory((words) => words.nothingToRemember, false)
        : answerAboutMemory((words) => words.remembered(rule.pattern, rule.route));
    },
    async forget(_, { sessionKey }, rest) {
      const place = /^[0-9]{1,4}$/u.test(rest.trim()) ? Number(rest) : 0;
      const rule = place > 0 ? await teacher.forget(sessionKey, place) : null;
      return rule === null
        ? answerAboutMemory((words) => words.forgetUsage, false)
        : answerAboutMemory((words) => words.forgotten(rule.pattern));
    },
  };
  return {
    ...memoryLooks(deps),
    ...teach,
    ...noteCommands,
    new: startNewSession,
    clear: startNewSession,
    async compact(chat, { session, signal }) {
      const folded = await chat.sessions.compact(session, signal, "now");
      return answerAboutMemory((words) => words.compacted(folded));
    },
    async resume(chat, { session, emit }, rest) {
      const wanted = rest.trim();
      if (LIST.test(wanted)) return listSessions(chat, session);
      const resumed = await chat.sessions.resume(session, wanted === "" ? undefined : wanted);
      if (resumed === null) return answerAboutMemory((words) => words.nothingToResume, false);
      emit({ type: "cut-over", sessionId: resumed.id });
      return answerAboutMemory((words) => words.resumed(resumed.id, resumed.turns));
    },
  };
}

const startNewSession: ChatCommand<CoderDeps & StateDeps> = async (
  chat,
  { session, sessionKey, signal, emit },
) => {
  const done = await chat.sessions.startNew(session, signal);
  if (!done.cut) return answerAboutMemory((words) => words.newFailed, false);
  (await chat.heads?.open())?.forget(sessionKey);
  emit({ type: "cut-over", sessionId: done.session.id });
  return answerAboutMemory((words) => words.newSession);
};

const LIST = /^(?:list|一覧)$/iu;

/** `/resume list`: the conversations that this chat had before. */
async function listSessions(chat: StateDeps, session: ChatTurn["session"]): Promise<Answer> {
  const others = await chat.sessions.listOthers(session);
  if (others.length === 0) return answerAboutMemory((words) => words.nothingToResume, false);
  const lines = others.map(({ session: { id, openedAt }, messages, firstText }) => ({
    id,
    at: localTime(openedAt).slice(5, 16),
    messages,
    text: quoteOneLine(firstText, SHORT_QUOTE),
  }));
  const own = memoryMessagesFor(chat.messages.locale);
  return {
    ...answerAboutMemory((words) => [...lines.map(words.sessionLine), words.resumeUsage].join("\n")),
    choices: lines.map(({ id, at, messages, text }) => ({
      label: at,
      description: own.sessionFacts(messages, text),
      message: `/resume ${id}`,
    })),
  };
}

/** The owner's own places see all; a person at the console sees all their chats there; elsewhere a chat sees its own. */
function scopeOf({ message: { channel, userId }, sessionKey }: LookRequest): UsageScope {
  if (isOwnersChannel(channel) || (channel === "web" && userId === "operator"))
    return { of: "all", owner: {} };
  return channel === "web"
    ? { of: "person", owner: { chatKey: `web:${userId}`, withChatsBelow: true } }
    : { of: "chat", owner: { chatKey: sessionKey } };
}

/** The whole message: a decision holds its beginning. */
function askedFor(history: ChatTurn["history"], beginning: string): string {
  const whole = history.findLast(({ user }) => user.startsWith(beginning))?.user ?? beginning;
  return readExplicitRoute(whole)?.rest ?? whole;
}

function quoteOneLine(text: string, most = QUOTED_CHARS): string {
  const line = text.replace(/\s+/gu, " ").trim();
  return [...line].length > most ? `${[...line].slice(0, most).join("")}…` : line;
}
