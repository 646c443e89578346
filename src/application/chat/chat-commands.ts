import {
  fillOwnCommand,
  isGo,
  readAllCoders,
  readExplicitRoute,
  readPlanFirst,
  readSlashCommand,
  withSkill,
} from "../../domain/chat/message-commands.ts";
import { type Decision, isCoder, type Route, readRoute } from "../../domain/config/configured-kinds.ts";
import { jobsNamed } from "../jobs/action-report.ts";
import { isOwnJob } from "../jobs/job-facts.ts";
import type { FarJob, OwnCommand } from "../ports/chat.ts";
import type { StoredJob } from "../ports/jobs.ts";
import {
  type Answer,
  type ChatCommands,
  type ChatTurn,
  type CoderSettings,
  createAnswer,
  groupPrefix,
  type JobDeps,
  type LookRequest,
  type RoutedText,
} from "./chat-turn.ts";
import { type NamedText, say } from "./reply-words.ts";

export function commandNames(deps: ChatCommands): string[] {
  return [...Object.keys(deps.commands), "preview", "stop", "btw"].sort();
}

/** Names that users of other agents often have files for; such a file replaces PicoClaw's command. */
const REPLACEABLE: ReadonlySet<string> = new Set(["commit", "init", "clear", "compact"]);

/** PicoClaw's other commands and routes cannot be replaced. */
export function isBuiltIn(deps: ChatCommands, name: string): boolean {
  return !REPLACEABLE.has(name) && (readRoute(name) !== undefined || commandNames(deps).includes(name));
}

/** Whether a trusted file of the user's answers to a name that PicoClaw has a command for. */
export function isReplaced(deps: ChatCommands, name: string): boolean {
  const own = REPLACEABLE.has(name) ? deps.ownCommands.find(name) : null;
  return own !== null && own !== "untrusted";
}

/** Replaces a message that names a user's own command by the command's text; PicoClaw's own commands and routes take precedence. */
export function readOwnRequest(
  deps: ChatCommands,
  text: string,
): { readonly text: string; readonly notes: readonly NamedText[] } | { readonly untrusted: string } {
  const command = readSlashCommand(text);
  if (command === undefined || isBuiltIn(deps, command.name)) return { text, notes: [] };
  const own = deps.ownCommands.find(command.name);
  if (own === null) return { text, notes: [] };
  if (own === "untrusted") return { untrusted: command.name };
  const filled =
    own.kind === "skill"
      ? withSkill(own.name, own.body, command.rest)
      : fillOwnCommand(own.body, command.rest);
  return {
    text: own.route === null ? filled : `/${own.route.toLowerCase()} ${filled}`,
    notes: own.trouble === null ? [] : [say("ownTrouble", ownCommandFile(own), own.trouble)],
  };
}

export function ownCommandFile({ name, kind }: Pick<OwnCommand, "name" | "kind">): string {
  return kind === "skill" ? `skills/${name}/SKILL.md` : `commands/${name}.md`;
}

const CODER_ROUTES: Readonly<Record<string, Route>> = { Aka: "CODE1", Ao: "CODE2", Gin: "CODE3" };

/** A bare `go` after a coder's plan is sent to that coder; any other message is unchanged. */
export function routeGoToPlanner(turn: Pick<ChatTurn, "history">, message: string): string {
  if (readExplicitRoute(message) !== undefined || !isGo(message)) return message;
  const last = turn.history.at(-1);
  const route = last === undefined ? undefined : CODER_ROUTES[last.agent];
  if (last === undefined || route === undefined || readPlanFirst(last.user) === null) return message;
  return `/${route.toLowerCase()} go`;
}

export interface CoderTask {
  readonly text: string;
  readonly planOnly: boolean;
  readonly mode: CandidateMode;
}

/** Who works on it: one coder, several at once, or the next one if one does not get green. */
export type CandidateMode = "one" | "all" | "candidates" | "next";

/** The request to a coder whose route was named: `plan …` for a plan alone, `go` for the last plan, the coder's or Mio's. */
export function readCoderTask(
  turn: Pick<ChatTurn, "history">,
  { text, decision }: RoutedText,
  settings: Pick<CoderSettings, "candidates" | "escalate">,
): CoderTask {
  const mode = candidateMode(decision, settings);
  if (decision.source !== "explicit" || !isCoder(decision.route)) return { text, planOnly: false, mode };
  const planned = readPlanFirst(text);
  if (planned !== null) return { text: planned, planOnly: true, mode: "one" };
  const forAll = decision.route === "CODE" ? readAllCoders(text) : null;
  if (forAll !== null) return { text: forAll, planOnly: false, mode: "all" };
  const last = turn.history.at(-1);
  // The plan of a message that had jobs was carried out already.
  if (!isGo(text) || last === undefined || last.words === "" || last.facts() !== "")
    return { text, planOnly: false, mode };
  const request = readPlanFirst(last.user) ?? last.user;
  return { text: `${request}\n\nCarry out this plan:\n${last.words}`, planOnly: false, mode };
}

export function isNamedCoder({ source, route }: Decision): boolean {
  return (source === "explicit" || source === "forced") && route !== "CODE";
}

/** A user who named a coder gets that one alone. */
function candidateMode(
  decision: Decision,
  { candidates, escalate }: Pick<CoderSettings, "candidates" | "escalate">,
): CandidateMode {
  if (isNamedCoder(decision)) return "one";
  if (candidates > 1) return "candidates";
  return escalate ? "next" : "one";
}

/** Jobs made by this chat, oldest first. */
export function jobsOfChat({ workspace }: JobDeps, turn: LookRequest): StoredJob[] {
  const prefix = groupPrefix(turn.sessionKey);
  return workspace.archive.list(undefined, (groupId) => groupId.startsWith(prefix)).filter(isOwnJob);
}

/** Jobs that this chat may see, including those of other chats; oldest first. */
export function jobsVisibleTo({ workspace }: JobDeps, turn: LookRequest): StoredJob[] {
  return workspace.archive.list().filter((job) => mayUseJob(turn, job));
}

/** A job by its id or the jobs of a group. A job that this chat may not access is unknown to it. */
export function namedJobs({ workspace }: JobDeps, turn: LookRequest, name: string): StoredJob[] | "unknown" {
  const jobs = jobsNamed(workspace.archive, name);
  const [first] = jobs;
  if (first === undefined) return "unknown";
  return mayUseJob(turn, first) ? jobs : "unknown";
}

export async function findFarJob(
  { farJobs }: JobDeps,
  turn: LookRequest,
  name: string,
): Promise<FarJob | null> {
  const found = (await farJobs?.(turn.message, name)) ?? null;
  return found !== null && mayUseJob(turn, found.job) ? found : null;
}

export async function actOnFarJob(
  far: FarJob,
  action: Parameters<FarJob["act"]>[0],
  force = false,
): Promise<Answer> {
  const facts = await far.act(action, force);
  const done = facts.code === "done";
  return createAnswer([{ kind: "action", facts }], done, done ? "Worker" : "");
}

function mayUseJob(turn: LookRequest, job: StoredJob): boolean {
  return job.groupId.startsWith(groupPrefix(turn.sessionKey)) || ownsJob(turn, job);
}

/** The terminal, an editor and the operator own every job; others at the console those of their chats (`<person>`, `<person>.…`). */
function ownsJob({ message: { channel, userId } }: LookRequest, { groupId }: StoredJob): boolean {
  if (isOwnersChannel(channel)) return true;
  if (channel !== "web") return false;
  return (
    userId === "operator" || groupId.startsWith(`web:${userId}#`) || groupId.startsWith(`web:${userId}.`)
  );
}

/** Channels that only the owner of this machine's account can speak on: the terminal, and the editor. */
export function isOwnersChannel(channel: string): boolean {
  return channel === "cli" || channel === "acp";
}
