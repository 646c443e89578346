import { isGo, readAllCoders, readPlanFirst } from "../../domain/chat/plan-first.ts";
import { type Decision, isCoder, type Route } from "../../domain/config/route.ts";
import { readExplicitRoute } from "../../domain/chat/slash-command.ts";
import type { CoderSettings } from "./chat-turn.ts";
import type { ChatTurn, RoutedText } from "./turn.ts";

const CODER_ROUTES: Readonly<Record<string, Route>> = { Aka: "CODE1", Ao: "CODE2", Gin: "CODE3" };

/** A bare `go` after a coder's plan goes to that coder; any other message stays as it is. */
export function routeGoToPlanner(turn: Pick<ChatTurn, "history">, message: string): string {
  if (readExplicitRoute(message) !== undefined || !isGo(message)) return message;
  const last = turn.history.at(-1);
  const route = last === undefined ? undefined : CODER_ROUTES[last.agent];
  if (last === undefined || route === undefined || readPlanFirst(last.user) === null) return message;
  return `/${route.toLowerCase()} go`;
}

export interface CoderTask {
  /** What the coder is asked. */
  readonly text: string;
  readonly planOnly: boolean;
  readonly heads: CandidateMode;
}

/** Who works on it: one coder, several at once, or the next one where one does not get green. */
export type CandidateMode = "one" | "all" | "candidates" | "next";

/**
 * What a coder is asked where its route was named: `plan …` for a plan alone, `go` for the plan that was made last, by
 * itself or by Mio. To give Mio's plan to a coder is an explicit act: this is it.
 */
export function readCoderTask(
  turn: Pick<ChatTurn, "history">,
  { text, decision }: RoutedText,
  settings: Pick<CoderSettings, "candidates" | "escalate">,
): CoderTask {
  const heads = candidateMode(decision, settings);
  if (decision.source !== "explicit" || !isCoder(decision.route)) return { text, planOnly: false, heads };
  const planned = readPlanFirst(text);
  if (planned !== null) return { text: planned, planOnly: true, heads: "one" };
  const forAll = decision.route === "CODE" ? readAllCoders(text) : null;
  if (forAll !== null) return { text: forAll, planOnly: false, heads: "all" };
  const last = turn.history.at(-1);
  if (!isGo(text) || last === undefined || last.words === "") return { text, planOnly: false, heads };
  const request = readPlanFirst(last.user) ?? last.user;
  return { text: `${request}\n\nCarry out this plan:\n${last.words}`, planOnly: false, heads };
}

/** Who named a coder gets that one alone. */
function candidateMode(
  { source, route }: Decision,
  { candidates, escalate }: Pick<CoderSettings, "candidates" | "escalate">,
): CandidateMode {
  const isNamed = (source === "explicit" || source === "forced") && route !== "CODE";
  if (isNamed) return "one";
  if (candidates > 1) return "candidates";
  return escalate ? "next" : "one";
}
