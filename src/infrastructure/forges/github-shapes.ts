import type {
  Checks,
  ForgeComment,
  ForgeItem,
  ForgeRequest,
  Permission,
} from "../../application/ports/forges.ts";
import type { ItemRef } from "../../domain/forges/forge-items.ts";

export interface IssueEvent {
  readonly id: number;
  readonly event: string;
  readonly actor: { readonly login: string } | null;
  readonly created_at: string;
  readonly label?: { readonly name: string | null };
  readonly assignee?: { readonly login: string } | null;
}

export function toForgeRequest(
  { id, event, actor, created_at: at, label, assignee }: IssueEvent,
  wanted: { readonly label: string; readonly assignee: string },
): ForgeRequest | null {
  const made = { id: `github-event-${id}`, actor: actor?.login ?? "", at };
  if (event === "labeled" && label?.name === wanted.label) return { ...made, kind: "labeled" };
  return event === "assigned" && assignee?.login === wanted.assignee ? { ...made, kind: "assigned" } : null;
}

interface Issue {
  readonly number: number;
  readonly title: string;
  readonly body?: string | null;
  readonly state: string;
  readonly user: { readonly login: string } | null;
  readonly labels: readonly (string | { readonly name?: string | null })[];
  readonly assignees?: readonly { readonly login: string }[] | null;
  readonly pull_request?: unknown;
}

export function toForgeItem(issue: Issue, ref: (kind: ItemRef["kind"]) => ItemRef): ForgeItem {
  return {
    ref: ref(issue.pull_request === undefined ? "issue" : "pull"),
    title: issue.title,
    body: issue.body ?? "",
    author: issue.user?.login ?? "",
    open: issue.state === "open",
    labels: issue.labels.map((label) => (typeof label === "string" ? label : (label.name ?? ""))),
    assignees: (issue.assignees ?? []).map(({ login }) => login),
  };
}

export function toForgeComment(comment: {
  readonly id: number;
  readonly body?: string;
  readonly user: { readonly login: string } | null;
  readonly created_at: string;
}): ForgeComment {
  const { id, body = "", user, created_at } = comment;
  return { id: String(id), author: user?.login ?? "", body, createdAt: created_at };
}

export function toPermission(said: string | undefined): Permission {
  switch (said) {
    case "admin":
    case "write":
    case "read":
      return said;
    case "maintain":
      return "write";
    case "triage":
      return "read";
    default:
      return "none";
  }
}

export function toChecks(
  runs: readonly { readonly status: string; readonly conclusion: string | null }[],
): Checks {
  if (runs.length === 0) return "none";
  if (runs.some(({ status }) => status !== "completed")) return "pending";
  const fine = new Set(["success", "neutral", "skipped"]);
  return runs.every(({ conclusion }) => fine.has(conclusion ?? "")) ? "success" : "failure";
}
