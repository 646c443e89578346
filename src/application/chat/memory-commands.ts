import { ROUTES, readRoute } from "../../domain/config/route.ts";
import type { RuleProblem } from "../../domain/chat/rule.ts";
import { readExplicitRoute } from "../../domain/chat/slash-command.ts";
import { isOwnersChannel } from "./chat-commands.ts";
import type { ChatCommand, LookCommand } from "./chat-turn.ts";
import type { ChatTurn, LookRequest } from "./turn.ts";
import { noteCommands } from "./note-commands.ts";
import type { RouteTeacher } from "./teach-route.ts";
import { answerAboutMemory } from "./tell.ts";
import { type UsageDeps, type UsageScope, usageText } from "./usage-text.ts";

export interface MemoryCommandDeps extends UsageDeps {
  readonly teacher: RouteTeacher;
  /** Rules of the configuration that are not used. */
  readonly ruleProblems: () => readonly RuleProblem[];
}

/** Characters of a message that `/why` quotes. */
const QUOTED_CHARS = 120;

/** What the chat decided and used, for whoever asks. */
export function memoryLooks(parts: MemoryCommandDeps): Readonly<Record<string, LookCommand>> {
  const { teacher, usage } = parts;
  return {
    async why(chat, { sessionKey }) {
      const decision = await teacher.last(sessionKey);
      if (decision === null) return answerAboutMemory(chat, (words) => words.noDecision);
      const used = await usage.totals({ by: "model", since: new Date(0), groupId: groupOf(decision.id) });
      const facts = {
        ...decision,
        message: quoteOneLine(decision.message),
        models: used.map(({ name }) => name),
        corrected: decision.correction?.route ?? null,
      };
      return answerAboutMemory(chat, (words) => words.why(facts));
    },
    async rules(chat, { sessionKey }) {
      const rules = await teacher.rules(sessionKey);
      const problems = parts.ruleProblems();
      return answerAboutMemory(chat, (words) => {
        const lines = rules.map(({ pattern, route }, index) => words.rule(index + 1, pattern, route));
        if (lines.length === 0) lines.push(words.noRules);
        return [...lines, ...problems.map(words.ruleProblem)].join("\n");
      });
    },
    usage: async (chat, look) => answerAboutMemory(chat, await usageText(parts, chat.now(), scopeOf(look))),
  };
}

/** The chat's commands about what it decided, remembers and used. */
export function memoryCommands(parts: MemoryCommandDeps): Readonly<Record<string, ChatCommand>> {
  const { teacher } = parts;
  const teach: Readonly<Record<string, ChatCommand>> = {
    async route(chat, { sessionKey, history }, rest) {
      const route = readRoute(rest.split(/\s/u)[0] ?? "");
      if (route === undefined) return answerAboutMemory(chat, (words) => words.routeUsage(ROUTES), false);
      const done = await teacher.correct(sessionKey, route);
      if (done === null) return answerAboutMemory(chat, (words) => words.noDecision, false);
      const { decision, offered } = done;
      return {
        ...answerAboutMemory(chat, (words) =>
          [
            words.corrected(decision.route, route),
            offered === null ? words.notOffered : words.offered(offered),
          ].join("\n"),
        ),
        ...(decision.route !== route && { again: { route, text: askedFor(history, decision.message) } }),
        ...(offered !== null && { actions: [{ label: "/remember", message: "/remember" }] }),
      };
    },
    async remember(chat, { sessionKey }) {
      const rule = await teacher.remember(sessionKey);
      return rule === null
        ? answerAboutMemory(chat, (words) => words.nothingToRemember, false)
        : answerAboutMemory(chat, (words) => words.remembered(rule.pattern, rule.route));
    },
    async forget(chat, { sessionKey }, rest) {
      const place = /^[0-9]{1,4}$/u.test(rest.trim()) ? Number(rest) : 0;
      const rule = place > 0 ? await teacher.forget(sessionKey, place) : null;
      return rule === null
        ? answerAboutMemory(chat, (words) => words.forgetUsage, false)
        : answerAboutMemory(chat, (words) => words.forgotten(rule.pattern));
    },
  };
  return {
    ...memoryLooks(parts),
    ...teach,
    ...noteCommands,
    async new(chat, { session, signal, emit }) {
      const done = await chat.sessions.startNew(session, signal);
      if (!done.cut) return answerAboutMemory(chat, (words) => words.newFailed, false);
      emit({ type: "cut-over", sessionId: done.session.id });
      return answerAboutMemory(chat, (words) => words.newSession(done.session.id));
    },
    async resume(chat, { session, emit }, rest) {
      const wanted = rest.trim();
      const resumed = await chat.sessions.resume(session, wanted === "" ? undefined : wanted);
      if (resumed === null) return answerAboutMemory(chat, (words) => words.nothingToResume, false);
      emit({ type: "cut-over", sessionId: resumed.id });
      return answerAboutMemory(chat, (words) => words.resumed(resumed.id, resumed.turns));
    },
  };
}

/** The owner's own places see all; a person at the console sees all their chats there; elsewhere a chat sees its own. */
function scopeOf({ message: { channel, userId }, sessionKey }: LookRequest): UsageScope {
  if (isOwnersChannel(channel) || (channel === "web" && userId === "operator")) return { of: "all" };
  return channel === "web" ? { of: "person", chatKey: `web:${userId}` } : { of: "chat", chatKey: sessionKey };
}

/** The whole message: a decision holds its beginning. */
function askedFor(history: ChatTurn["history"], beginning: string): string {
  const whole = history.findLast(({ user }) => user.startsWith(beginning))?.user ?? beginning;
  return readExplicitRoute(whole)?.rest ?? whole;
}

/** A decision's id is its message's group and a number. */
function groupOf(decisionId: string): string {
  return decisionId.replace(/\.[0-9]+$/u, "");
}

function quoteOneLine(text: string): string {
  const line = text.replace(/\s+/gu, " ").trim();
  return [...line].length > QUOTED_CHARS ? `${[...line].slice(0, QUOTED_CHARS).join("")}…` : line;
}
