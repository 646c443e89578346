import type { ForgeKind } from "../../domain/config/configured-kinds.ts";
import type { ItemRef, KnownSites } from "../../domain/forges/forge-items.ts";
import type { CommentText, PullText } from "../../domain/forges/posted-text.ts";
import type { ChangedPaths, LeftOutPath } from "../../domain/forges/publishable-change.ts";
import type { ForgeEvent, WantedAction } from "../../domain/forges/trigger.ts";

/**
 * GitHub or GitLab, as a task uses it. Nothing here rejects: a failure is a `ForgeFailure`. A rate limit is
 * waited for as the forge states, within the caller's patience; a read is tried again on a server's error.
 * The caller masks posted text and this defuses it: no text mentions a person, closes an issue or gives the
 * forge a command. No call reads or writes another repository than the one it is given.
 */
export interface Forge {
  readonly kind: ForgeKind;
  /** Whose token this is; the bot's own comments are known by it. */
  whoAmI(signal: AbortSignal): Promise<ForgeAnswer<ForgeUser>>;
  readRepository(repository: string, signal: AbortSignal): Promise<ForgeAnswer<ForgeRepository>>;
  /** Paths of the files of a branch or commit, as many as the forge tells at once: for a first look, not for a verdict. */
  listFiles(repository: string, ref: string, signal: AbortSignal): Promise<ForgeAnswer<readonly string[]>>;
  readItem(item: ItemRef, signal: AbortSignal): Promise<ForgeAnswer<ForgeItem>>;
  /** Oldest first, system notes left out. */
  listComments(item: ItemRef, signal: AbortSignal): Promise<ForgeAnswer<readonly ForgeComment[]>>;
  listReviewComments(item: ItemRef, signal: AbortSignal): Promise<ForgeAnswer<readonly ForgeReviewComment[]>>;
  postComment(item: ItemRef, comment: CommentText, signal: AbortSignal): Promise<ForgeAnswer<ForgeComment>>;
  /** Answers a comment on a line, in its thread. */
  replyTo(
    item: ItemRef,
    thread: ForgeReviewComment["thread"],
    comment: CommentText,
    signal: AbortSignal,
  ): Promise<ForgeAnswer<void>>;
  editComment(
    item: ItemRef,
    commentId: string,
    comment: CommentText,
    signal: AbortSignal,
  ): Promise<ForgeAnswer<ForgeComment>>;
  permissionOf(repository: string, user: string, signal: AbortSignal): Promise<ForgeAnswer<Permission>>;
  /** Null when there is no such branch. */
  readBranch(
    repository: string,
    branch: string,
    signal: AbortSignal,
  ): Promise<ForgeAnswer<ForgeBranch | null>>;
  findPull(repository: string, head: string, signal: AbortSignal): Promise<ForgeAnswer<ForgePull | null>>;
  /** The hundred open pulls that were changed last, with their words. */
  listOpenPulls(repository: string, signal: AbortSignal): Promise<ForgeAnswer<readonly ForgeOpenPull[]>>;
  /** A forge that has no drafts there gets an ordinary pull whose title says `Draft:`. */
  openPull(request: OpenPull, signal: AbortSignal): Promise<ForgeAnswer<ForgePull>>;
  /** Replaces its title and text, and makes it a draft or ready. */
  updatePull(pull: ItemRef, text: PullText, signal: AbortSignal): Promise<ForgeAnswer<ForgePull>>;
  /** The open issues and pulls for polling: those with the label or assigned to the user. */
  listWork(
    repository: string,
    wanted: { readonly label: string; readonly assignee: string },
    signal: AbortSignal,
  ): Promise<ForgeAnswer<readonly ForgeItem[]>>;
  /** Who last put the label on, or assigned the user: the newest such event that still holds, else null. Its id is unique at the forge. */
  findRequest(
    item: ItemRef,
    wanted: { readonly label: string; readonly assignee: string },
    signal: AbortSignal,
  ): Promise<ForgeAnswer<ForgeRequest | null>>;
  /** The words of open items and the comments (not on lines) that were written since then, in their current version. */
  listSaid(repository: string, since: Date, signal: AbortSignal): Promise<ForgeAnswer<readonly ForgeSaid[]>>;
  /** How git signs in over HTTP; the token is never part of an address. */
  readonly credentials: { readonly username: string; readonly token: string };
}

export type ForgeAnswer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: ForgeFailure };

/** The error and who can act on it; `message` is for a person and contains no secret. */
export interface ForgeFailure {
  readonly code:
    | "unauthorized"
    | "forbidden"
    | "missing-scope"
    | "not-found"
    | "conflict"
    | "invalid"
    | "rate-limited"
    | "server-error"
    | "unreachable"
    | "timeout"
    | "aborted";
  readonly message: string;
  readonly status?: number;
  /** When the forge lets us in again. */
  readonly retryAfterMs?: number;
  /** The scope that the token lacks, where the forge says so. */
  readonly scope?: string;
  readonly cause?: unknown;
}

export interface ForgeUser {
  readonly id: number;
  readonly login: string;
}

export interface ForgeRepository {
  readonly name: string;
  /** Null where the repository is empty. */
  readonly defaultBranch: string | null;
  readonly cloneUrl: string;
  readonly archived: boolean;
  readonly canPush: boolean;
}

export interface ForgeItem {
  readonly ref: ItemRef;
  readonly title: string;
  readonly body: string;
  readonly author: string;
  readonly open: boolean;
  readonly labels: readonly string[];
  readonly assignees: readonly string[];
  readonly pull?: PullFacts;
}

interface PullFacts {
  readonly sourceRepository: string;
  readonly sourceBranch: string;
  readonly targetBranch: string;
}

export interface ForgeComment {
  readonly id: string;
  readonly author: string;
  readonly body: string;
  readonly createdAt: string;
}

export interface ForgeReviewComment extends ForgeComment {
  readonly path: string;
  readonly line: number | null;
  /** The line in the current branch; null where the forge knows none: it is outdated, or about a removed line. */
  readonly lineNow: number | null;
  /** The id that `replyTo` takes. */
  readonly thread: string;
}

/** A user's text on an item: the item's own text when `commentId` is null. */
export interface ForgeSaid {
  readonly ref: ItemRef;
  readonly commentId: string | null;
  readonly author: string;
  readonly body: string;
}

interface ForgeBranch {
  readonly name: string;
  readonly commit: string;
  readonly protected: boolean;
}

export interface ForgePull {
  readonly ref: ItemRef;
  readonly url: string;
}

export interface ForgeOpenPull extends ForgePull {
  readonly author: string;
  readonly title: string;
  readonly body: string;
}

export interface ForgeRequest {
  readonly id: string;
  readonly actor: string;
  readonly kind: "labeled" | "assigned";
  /** When, by the forge's clock. */
  readonly at: string;
}

interface OpenPull extends PullText {
  readonly repository: string;
  readonly head: string;
  readonly base: string;
}

export type Permission = "none" | "read" | "write" | "admin";

/**
 * Brings a task's change to its forge as one commit on a branch, with git on this machine, away from the container
 * that made the change: no file, hook or setting of the project is run or believed, and the token is never where
 * the project's code is. Nothing rejects; a call that is repeated with the same request makes the same commit.
 */
export interface Publisher {
  publish(request: PublishRequest): Promise<Published>;
}

export interface PublishRequest {
  /** Clean: no user and no token in it. The only address that is ever pushed to. */
  readonly cloneUrl: string;
  readonly credentials: { readonly username: string; readonly token: string };
  readonly baseCommit: string;
  /** The branch of `baseCommit`; if it moved since, the change is rebased onto its tip if it applies cleanly. */
  readonly baseBranch: string;
  readonly branch: string;
  /** The commit that this task pushed to the branch before; any other commit there belongs to another person. */
  readonly previous: string | null;
  /** `git diff --binary --full-index` between the base and what the task left. */
  readonly patch: Uint8Array;
  /** The tree that the patch must make of the base: no other tree is pushed. Null if none was stated. */
  readonly tree: string | null;
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  readonly at: Date;
  /** Whether a task may not change this path: nothing is pushed that differs there from the base's own branch. */
  readonly isProtected: (path: string) => boolean;
  /** The parts of the change that stay out; the rest is published. */
  readonly leftOut: (paths: Omit<ChangedPaths, "allowCi">) => readonly LeftOutPath[];
  /** Values that no file of the change may bring in. */
  readonly secrets: readonly string[];
  /** Skips the check of the server's certificate: by configuration, for this host only. */
  readonly insecureTls: boolean;
  readonly signal: AbortSignal;
}

export type Published =
  | {
      readonly status: "pushed";
      readonly commit: string;
      readonly paths: readonly string[];
      readonly leftOut: readonly LeftOutPath[];
      /** Whether the change was rebased onto a newer base, or could not be. */
      readonly base: "same" | "moved" | "conflicts";
    }
  /** Nothing was changed, or only paths that are left out. */
  | { readonly status: "nothing"; readonly leftOut: readonly LeftOutPath[] }
  /** These paths bring in a known secret: nothing is pushed. */
  | { readonly status: "secret"; readonly paths: readonly string[] }
  | { readonly status: "protected"; readonly paths: readonly string[] }
  /** The branch exists, and not by our hand. */
  | { readonly status: "branch-taken" }
  | {
      readonly status: "rejected";
      readonly reason: "protected-branch" | "no-permission" | "declined";
      readonly message: string;
    }
  | {
      readonly status: "failed";
      readonly reason: "unauthorized" | "unreachable" | "not-found" | "bad-patch" | "aborted" | "other";
      readonly message: string;
    };

/** The repository of a workspace, read from outside of every job: no setting of it runs, nothing in it changes. Only an abort rejects. */
export interface ProjectRepository {
  read(signal: AbortSignal): Promise<RepositoryReading>;
  /** The work beyond the first of these bases (commits or names of git's) that is known here, else null. Paths limit the diff. */
  compare(
    bases: readonly string[],
    signal: AbortSignal,
    paths?: readonly string[],
  ): Promise<WorkBeyond | null>;
  hasBranch(name: string, signal: AbortSignal): Promise<boolean>;
  /** The branches that a remote has now, asked for in the way in which a push is done. */
  readHeads(
    request: Pick<PushRequest, "url" | "credentials" | "insecureTls" | "signal">,
  ): Promise<RemoteHeads>;
  /** The change between two refs of a remote, from where they parted; a text is why there is none. */
  diffThere(request: RemoteDiff): Promise<{ readonly diff: string } | string>;
  /** Pushes one commit to a branch, forward only. Without credentials it is done with the user's own rights. */
  push(request: PushRequest): Promise<BranchPush>;
}

export type RepositoryReading =
  /** `unborn`: it has no commit yet. */
  | { readonly status: "no-git" | "no-repository" | "unborn" }
  | { readonly status: "failed"; readonly message: string }
  | {
      readonly status: "read";
      /** Null when HEAD is detached. */
      readonly branch: string | null;
      readonly head: string;
      /** The one that the branch is pushed to, else `origin`, else the first. */
      readonly remote: GitRemote | null;
      /** Not committed yet, ignored files left out. */
      readonly changed: readonly string[];
      /** Those of them that the index has. */
      readonly staged: readonly string[];
      readonly conflicted: readonly string[];
      /** Subjects of the last commits, for their style. */
      readonly subjects: readonly string[];
    };

export interface GitRemote {
  readonly name: string;
  readonly url: string;
  /** Its default branch, as far as it is known here. */
  readonly defaultBranch: string | null;
}

export interface WorkBeyond {
  /** Where the work left the base. */
  readonly from: string;
  /** Subjects of the commits since, newest first. */
  readonly commits: readonly string[];
  /** The change of tracked files since, committed or not, cut where it is long. */
  readonly diff: string;
}

export interface RemoteDiff extends Pick<PushRequest, "url" | "credentials" | "insecureTls" | "signal"> {
  /** `refs/heads/main`. */
  readonly base: string;
  readonly head: string;
}

export interface PushRequest extends Pick<PublishRequest, "branch" | "insecureTls" | "signal"> {
  readonly url: string;
  readonly credentials: { readonly username: string; readonly token: string } | null;
  readonly commit: string;
  /** The base of the commits: they are searched for secrets from there. */
  readonly from: string | null;
  readonly secrets: readonly string[];
}

export type RemoteHeads =
  /** `defaultBranch` is null where the remote does not say it. */
  | {
      readonly status: "read";
      readonly defaultBranch: string | null;
      readonly branches: ReadonlyMap<string, string>;
    }
  | Extract<Published, { status: "failed" }>;

export type BranchPush =
  | { readonly status: "pushed" }
  | { readonly status: "secret" }
  | Extract<Published, { status: "branch-taken" | "rejected" | "failed" }>;

/** The forges of the configuration, and the repository of the workspace, for pull requests of a chat. */
export interface ProjectForges {
  readonly sites: KnownSites;
  readonly repository: ProjectRepository;
  readonly secrets: () => readonly string[];
  isInsecure(host: string): boolean;
  /** A text names the variable that is missing. */
  open(kind: ForgeKind, onWait: (seconds: number, why: string) => void): Promise<Forge | string>;
}

export interface IntakeEvent {
  /** Unique at the forge; an event that was delivered twice is one event. */
  readonly deliveryId: string;
  readonly item: ItemRef;
  readonly event: ForgeEvent;
}

export type IntakeOutcome =
  | { readonly did: "nothing"; readonly why: string }
  /** The delivery is stored, and acted on soon. */
  | { readonly did: "kept" }
  /** The forge did not answer; the same event may be delivered again. */
  | { readonly did: "failed"; readonly why: string }
  | { readonly did: Exclude<WantedAction["do"], "nothing">; readonly taskId: string };

/** Something that a forge posted, known to be genuine. */
export interface ForgeDelivery {
  readonly headers: Headers;
  readonly bytes: Uint8Array;
  readonly body: unknown;
  readonly site: string;
}

export interface DeliveryFormat {
  /** The header without which nothing is genuine. */
  readonly signedBy: string;
  isGenuine(headers: Headers, bytes: Uint8Array, secret: string): boolean;
  /** The JSON in a delivery's bytes; undefined if there is none. */
  parse(headers: Headers, bytes: Uint8Array): unknown;
  /** None when it says nothing to us; null if it is not a delivery of this forge. */
  read(delivery: ForgeDelivery): readonly IntakeEvent[] | null;
}
