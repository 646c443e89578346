import type {
  Checks,
  ForgeComment,
  ForgeItem,
  ForgeRequest,
  ForgeSaid,
  Permission,
} from "../../application/ports/forges.ts";
import type { ItemRef } from "../../domain/forges/forge-items.ts";

export interface Change {
  readonly addLabels?: string;
  readonly removeLabels?: string;
  readonly assigneeIds?: number[];
  readonly title?: string;
  readonly description?: string;
}

export interface Issue {
  readonly iid: number;
  readonly title: string;
  readonly description: string | null;
  readonly state: string;
  readonly author: { readonly username: string };
  readonly labels: readonly string[];
  readonly assignees?: readonly { readonly username: string }[] | null;
}

export interface MergeRequest extends Issue {
  readonly source_project_id: number;
  readonly target_project_id: number;
  readonly source_branch: string;
  readonly target_branch: string;
  readonly sha: string;
}

export interface Note {
  readonly id: number;
  readonly body: string;
  readonly author: { readonly username: string };
  readonly created_at: string;
  readonly system?: boolean;
  readonly position?: {
    readonly new_path?: string;
    readonly old_path?: string;
    readonly new_line?: number | null;
    readonly old_line?: number | null;
  } | null;
}

export interface Permissions {
  readonly project_access?: { readonly access_level: number } | null;
  readonly group_access?: { readonly access_level: number } | null;
}

const REPORTER = 20;
export const DEVELOPER = 30;
const MAINTAINER = 40;

export function accessLevel(permissions: Permissions | undefined): number {
  return Math.max(
    permissions?.project_access?.access_level ?? 0,
    permissions?.group_access?.access_level ?? 0,
  );
}

export function toPermission(level: number): Permission {
  if (level >= MAINTAINER) return "admin";
  if (level >= DEVELOPER) return "write";
  return level >= REPORTER ? "read" : "none";
}

export function toForgeItem(issue: Issue, ref: ItemRef): ForgeItem {
  return {
    ref,
    title: issue.title,
    body: issue.description ?? "",
    author: issue.author.username,
    open: issue.state === "opened",
    labels: issue.labels,
    assignees: (issue.assignees ?? []).map(({ username }) => username),
  };
}

export function toForgeComment({ id, body, author, created_at }: Note): ForgeComment {
  return { id: String(id), author: author.username, body, createdAt: created_at };
}

export function toForgeSaid(issue: Issue, ref: ItemRef): ForgeSaid {
  const { author, body } = toForgeItem(issue, ref);
  return { ref, commentId: null, author, body };
}

/** "Commented on", as the activity of a project tells it. */
export interface NoteEvent {
  readonly note?: {
    readonly id: number;
    readonly body: string;
    readonly author: { readonly username: string };
    readonly created_at: string;
    readonly system?: boolean;
    readonly type?: string | null;
    readonly noteable_type: string;
    readonly noteable_iid?: number | null;
  };
}

/** Nothing when the event is older, of GitLab's own doing, on a line, or not about an issue or a merge request. */
export function readNoteEvent(
  { note }: NoteEvent,
  since: Date,
  ref: (kind: ItemRef["kind"], number: number) => ItemRef,
): readonly ForgeSaid[] {
  if (note === undefined || note.system === true || note.type === "DiffNote") return [];
  const kind = NOTEABLE[note.noteable_type];
  const { id, body, author, noteable_iid: number } = note;
  if (kind === undefined || typeof number !== "number" || Date.parse(note.created_at) < since.getTime())
    return [];
  return [{ ref: ref(kind, number), commentId: String(id), author: author.username, body }];
}

const NOTEABLE: Readonly<Record<string, ItemRef["kind"]>> = {
  Issue: "issue",
  WorkItem: "issue",
  MergeRequest: "pull",
};

export function toChecks(states: readonly string[]): Checks {
  if (states.length === 0) return "none";
  if (states.some((state) => state === "failed" || state === "canceled")) return "failure";
  return states.every((state) => state === "success" || state === "skipped") ? "success" : "pending";
}

export interface LabelEvent {
  readonly id: number;
  readonly action: string;
  readonly created_at: string;
  readonly user: { readonly username: string } | null;
  readonly label: { readonly name: string } | null;
}

/** The newest of the label's events and of GitLab's own notes "assigned to @somebody". */
export function newestRequest(
  labels: readonly LabelEvent[],
  notes: readonly Note[],
  { label, assignee }: { readonly label: string; readonly assignee: string },
): ForgeRequest | null {
  const found: ForgeRequest[] = [];
  for (const { id, action, created_at: at, user, label: on } of labels)
    if (action === "add" && on?.name === label)
      found.push({ id: `gitlab-label-${id}`, actor: user?.username ?? "", kind: "labeled", at });
  for (const { id, body, system, author, created_at: at } of notes)
    if (system === true && /^assigned to /.test(body) && mentionsLogin(body, assignee))
      found.push({ id: `gitlab-note-${id}`, actor: author.username, kind: "assigned", at });
  return found.sort((a, b) => a.at.localeCompare(b.at)).at(-1) ?? null;
}

function mentionsLogin(body: string, login: string): boolean {
  return body.split(/[\s,]+/).some((word) => word.toLowerCase() === `@${login.toLowerCase()}`);
}
