import { jsonInAnswer } from "../chat/json-in-answer.ts";
import type { Criterion, Verdict } from "./events.ts";

export interface MetaDecision {
  readonly action: "run_worker" | "mark_complete";
  readonly reason: string;
  /** Empty for `mark_complete`. */
  readonly prompt: string;
}

export interface MetaAssessment {
  readonly verdicts: readonly Verdict[];
  readonly summary: string;
}

/** What a planning model answered, or what is wrong with it, said to the model. */
export type MetaAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problem: string };

const MAX_CRITERIA = 30;

export function readCriteriaPlan(text: string): MetaAnswer<readonly Criterion[]> {
  return fromJson(text, (document) => {
    const list = document.acceptance_criteria;
    if (!Array.isArray(list) || list.length === 0)
      return unusableAnswer("acceptance_criteria must be a list with at least one entry");
    if (list.length > MAX_CRITERIA)
      return unusableAnswer(`acceptance_criteria must have at most ${MAX_CRITERIA} entries`);
    const criteria: Criterion[] = [];
    for (const [index, entry] of list.entries()) {
      const description = trimmedText(isObject(entry) ? entry.description : entry);
      if (description === "")
        return unusableAnswer(`acceptance_criteria[${index}].description must be a text`);
      const id = (isObject(entry) && trimmedText(entry.id)) || `AC-${index + 1}`;
      if (criteria.some((one) => one.id === id))
        return unusableAnswer(`acceptance_criteria[${index}].id ${id} stands twice`);
      criteria.push({ id, description });
    }
    return { ok: true, value: criteria };
  });
}

export function readDecision(text: string): MetaAnswer<MetaDecision> {
  return fromJson(text, (document) => {
    const decision = isObject(document.decision) ? document.decision : document;
    const { action } = decision;
    if (action !== "run_worker" && action !== "mark_complete")
      return unusableAnswer('decision.action must be "run_worker" or "mark_complete"');
    const call = isObject(document.worker_call) ? document.worker_call : document;
    const prompt = trimmedText(call.prompt);
    if (action === "run_worker" && prompt === "")
      return unusableAnswer("worker_call.prompt must be a text when the action is run_worker");
    return {
      ok: true,
      value: { action, reason: trimmedText(decision.reason), prompt: action === "run_worker" ? prompt : "" },
    };
  });
}

/** Every criterion must be judged, none invented. */
export function readAssessment(text: string, criteria: readonly Criterion[]): MetaAnswer<MetaAssessment> {
  return fromJson(text, (document) => {
    const list = document.criteria;
    if (!Array.isArray(list)) return unusableAnswer("criteria must be a list");
    const verdicts = new Map<string, Verdict>();
    for (const [index, entry] of list.entries()) {
      if (!isObject(entry)) return unusableAnswer(`criteria[${index}] must be an object`);
      const id = trimmedText(entry.id);
      if (!criteria.some((one) => one.id === id))
        return unusableAnswer(`criteria[${index}].id ${JSON.stringify(id)} is not a criterion`);
      const passed = entry.status === "passed" || entry.passed === true;
      if (!passed && entry.status !== "failed" && entry.passed !== false)
        return unusableAnswer(`criteria[${index}].status must be "passed" or "failed"`);
      verdicts.set(id, { id, passed, reason: trimmedText(entry.reason) });
    }
    const missing = criteria.filter(({ id }) => !verdicts.has(id)).map(({ id }) => id);
    if (missing.length > 0) return unusableAnswer(`criteria without a verdict: ${missing.join(", ")}`);
    const ordered = criteria.flatMap(({ id }) => verdicts.get(id) ?? []);
    return { ok: true, value: { verdicts: ordered, summary: trimmedText(document.summary) } };
  });
}

type Document = Readonly<Record<string, unknown>>;

function fromJson<T>(text: string, read: (document: Document) => MetaAnswer<T>): MetaAnswer<T> {
  const document = jsonInAnswer(text);
  return document === undefined
    ? unusableAnswer("the answer must be one JSON object and nothing else")
    : read(document);
}

function isObject(value: unknown): value is Document {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function trimmedText(value: unknown): string {
  return typeof value === "string" ? value.trim() : "";
}

function unusableAnswer(problem: string): { readonly ok: false; readonly problem: string } {
  return { ok: false, problem };
}
