import { readSlashCommand } from "../../domain/chat/message-commands.ts";
import { readCronShape, readScheduleForm, type ScheduleWish } from "../../domain/chat/schedule-sentence.ts";
import { LONGEST_CRON } from "../../domain/config/configured-kinds.ts";
import { ownMember } from "../../domain/platform/json-members.ts";
import { jsonInAnswer } from "../../domain/platform/json-text.ts";
import type { ScheduleLine } from "../../domain/texts/en/chat-schedules.ts";
import { askJson } from "../models/complete.ts";
import type { ChatSchedule, ChatSchedules } from "../ports/chat.ts";
import { listenOptions } from "./ask-agent.ts";
import { isOwnersChannel } from "./chat-commands.ts";
import {
  type Answer,
  type ChatBase,
  type ChatCommand,
  type ChatTurn,
  createAnswer,
  createLabelledAction,
  createNotice,
  type ServiceDeps,
} from "./chat-turn.ts";
import { say } from "./reply-words.ts";

const RUNS_SHOWN = 10;
/** Characters: the list of all schedules shows each. A longer task is a file that the schedule names. */
const LONGEST_TASK = 2_000;

/** `/schedule …`: a message at set times, or an action on one; also a sentence that may ask for times, which a model decides. */
export const schedule: ChatCommand<ServiceDeps> = async (deps, turn, rest) => {
  const [word = "", name = ""] = rest.trim().split(/\s+/);
  const schedules = await deps.openSchedules();
  if (rest.trim() === "" || (word === "list" && name === "")) return listSchedules(turn, schedules);
  // A sentence names no action: `run daily` is one as well.
  const act = isSentence(turn, rest) ? undefined : ownMember(ACTIONS, word.toLowerCase());
  if (act === undefined || !/^#?[\w-]+$/.test(name) || /\s/.test(rest.trim().slice(word.length).trim()))
    return addSchedule(deps, turn, schedules, rest);
  const found = (await visibleSchedules(turn, schedules)).find(
    (one) => String(one.number) === name.replace(/^#/, "") || (one.number === null && one.name === name),
  );
  if (found === undefined) return createAnswer([say("scheduleUnknown", name)], false);
  return act(deps, turn, { schedules, found });
};

const isSentence = ({ message }: ChatTurn, rest: string) => message.text.trim() === rest.trim();

interface ChosenSchedule {
  readonly schedules: ChatSchedules;
  readonly found: ChatSchedule;
}

type ScheduleAction = (deps: ChatBase, turn: ChatTurn, chosen: ChosenSchedule) => Promise<Answer>;

const ACTIONS: Readonly<Record<string, ScheduleAction | undefined>> = {
  run: async (deps, turn, { schedules, found }) => {
    await schedules.noteRun(found.name, turn.message.id ?? null);
    turn.emit(createNotice(deps, (chat) => chat.scheduleRuns(toLine(found))));
    return { ...createAnswer([say("scheduleRuns", toLine(found))], true), instead: found.message };
  },
  pause: (deps, _turn, chosen) => enableSchedule(deps, chosen, false),
  resume: (deps, _turn, chosen) => enableSchedule(deps, chosen, true),
  remove: async (_deps, _turn, { schedules, found }) => {
    if (found.number === null) return createAnswer([say("scheduleConfigured", found.name)], false);
    await schedules.remove(found.number);
    return createAnswer([say("scheduleRemoved", toLine(found))], true);
  },
  history: async (_deps, _turn, { schedules, found }) => {
    const runs = await schedules.runs(found.name, RUNS_SHOWN);
    return createAnswer([say("scheduleHistory", toLine(found), runs)], true);
  },
};

async function enableSchedule(
  deps: ChatBase,
  { schedules, found }: ChosenSchedule,
  enabled: boolean,
): Promise<Answer> {
  const { number } = found;
  if (number === null) return createAnswer([say("scheduleConfigured", found.name)], false);
  await schedules.enable(number, enabled);
  const now = (await schedules.list()).find((one) => one.number === number) ?? found;
  return {
    ...createAnswer([say(enabled ? "scheduleResumed" : "schedulePaused", toLine(now))], true),
    actions: enabled
      ? []
      : [createLabelledAction(deps, (chat) => chat.scheduleLabels.resume, `/schedule resume ${number}`)],
  };
}

/** Those of this chat; at the owner's own terminal and to the operator, all of them. */
async function visibleSchedules(
  { message }: ChatTurn,
  schedules: ChatSchedules,
): Promise<readonly ChatSchedule[]> {
  const all = await schedules.list();
  const { channel, chatId, userId } = message;
  if (isOwnersChannel(channel) || (channel === "web" && userId === "operator")) return all;
  return all.filter((one) => one.channel === channel && one.chatId === chatId);
}

async function listSchedules(turn: ChatTurn, schedules: ChatSchedules): Promise<Answer> {
  const all = await visibleSchedules(turn, schedules);
  return createAnswer([say("scheduleList", all.map(toLine), schedules.isServed())], true);
}

function toLine(one: ChatSchedule): ScheduleLine {
  const { number, timezone, message, isEnabled, nextAt } = one;
  const name = number === null ? one.name : `#${number}`;
  const chat = `${one.channel}:${one.chatId}`;
  return { name, shape: readCronShape(one.cron), timezone, message, isEnabled, nextAt, chat };
}

/** Times that were asked for and cannot be kept are refused: a schedule at other times would be worse. */
async function addSchedule(
  deps: ChatBase,
  turn: ChatTurn,
  schedules: ChatSchedules,
  text: string,
): Promise<Answer | null> {
  const { timezone } = schedules;
  const isCommand = !isSentence(turn, text);
  const wish = (isCommand ? readScheduleForm(text) : null) ?? (await askTimes(deps, turn, text, timezone));
  if (typeof wish === "object") {
    const made = await keepSchedule(deps, turn, schedules, wish);
    if (made !== null) return made;
  } else if (!isCommand && wish !== "unclear") return null;
  return createAnswer([wish === "none" ? say("scheduleUsage") : say("scheduleUnplain", timezone)], false);
}

/** Null if the rule has no times. */
async function keepSchedule(
  deps: ChatBase,
  turn: ChatTurn,
  schedules: ChatSchedules,
  { cron, message }: ScheduleWish,
): Promise<Answer | null> {
  if (readSlashCommand(message)?.name === "schedule") return createAnswer([say("scheduleUsage")], false);
  if (cron.length > LONGEST_CRON) return createAnswer([say("scheduleLongRule", LONGEST_CRON)], false);
  if (message.length > LONGEST_TASK) return createAnswer([say("scheduleLongTask", LONGEST_TASK)], false);
  const { channel, chatId, userId, token } = turn.message;
  // A terminal or an editor may be closed at that time; the console keeps the answer.
  const isAway = isOwnersChannel(channel);
  const place = isAway
    ? { channel: "web", chatId: "operator", userId: "operator" }
    : { channel, chatId, userId, token };
  const made = await schedules.add({ ...place, cron, message });
  if (made === "never") return null;
  if (made === "too-many") return createAnswer([say("scheduleTooMany")], false);
  const label = (name: "run" | "pause" | "remove") =>
    createLabelledAction(deps, (chat) => chat.scheduleLabels[name], `/schedule ${name} ${made.number}`);
  return {
    ...createAnswer([say("scheduleMade", toLine(made), { isAway, isServed: schedules.isServed() })], true),
    actions: [label("run"), label("pause"), label("remove")],
  };
}

const ASK_MS = 20_000;

/** `none`: the message asks for no set times; `unclear`: cron cannot say them; `unread`: no model could tell. */
type ReadTimes = ScheduleWish | "none" | "unclear" | "unread";

async function askTimes(deps: ChatBase, turn: ChatTurn, text: string, timezone: string): Promise<ReadTimes> {
  await turn.models.models.look?.(turn.signal, "worker");
  const model = turn.models.models.forRole("worker");
  if (!("generate" in model)) return "unread";
  const { onRetry } = listenOptions(deps, turn);
  const answer = await askJson<ReadTimes>(model, {
    request: {
      messages: [
        {
          role: "user",
          text: `Does this message ask you to do something repeatedly at set times? One about a program or an event that recurs does not. Message: ${JSON.stringify(text.slice(0, 1000))}\nIt is ${deps.now().toISOString()}; times and the cron are in ${timezone}; convert times of another zone that the message names.\nAnswer with one JSON object. If it does: {"asks": true, "cron": "five fields of cron", "message": "what is to be done, in the user's own words, without the times"}. If cron cannot fully express those times (an end, a first date, an exception): {"asks": true, "cron": null}. If it does not: {"asks": false}.`,
        },
      ],
      temperature: 0,
      maxTokens: 300,
      signal: turn.signal,
    },
    deadline: AbortSignal.timeout(ASK_MS),
    ...(onRetry !== undefined && { onRetry }),
    read: (said) => {
      const value = jsonInAnswer(said);
      if (value === undefined) return { ok: false, problem: "the answer is not a JSON object" };
      const { asks, cron, message } = value;
      if (typeof cron !== "string" || typeof message !== "string" || message.trim() === "")
        return { ok: true, value: asks === true ? "unclear" : "none" };
      const isRule = /^\S+(?: +\S+){4}$/.test(cron.trim());
      return isRule
        ? { ok: true, value: { cron: cron.trim().replace(/ +/g, " "), message: message.trim() } }
        : { ok: false, problem: '"cron" has not five fields' };
    },
  });
  return answer.kind === "read" ? answer.value : "unread";
}
