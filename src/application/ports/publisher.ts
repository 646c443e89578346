import type { ChangedPaths, LeftOutPath } from "../../domain/forges/publishable-change.ts";

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
  /** The commit that the change was made on. */
  readonly baseCommit: string;
  /** Where `baseCommit` came from; when it moved since, the change is brought onto its tip, if that goes cleanly. */
  readonly baseBranch: string;
  readonly branch: string;
  /** The commit that this task pushed to the branch before; anything else found there is somebody else's. */
  readonly previous: string | null;
  /** `git diff --binary --full-index` between the base and what the task left. */
  readonly patch: Uint8Array;
  /** What the patch must make of the base: nothing is pushed that is another tree. Null where nobody said. */
  readonly tree: string | null;
  readonly message: string;
  readonly author: { readonly name: string; readonly email: string };
  readonly at: Date;
  /** Whether a task may not change this path: nothing is pushed that differs there from the base's own branch. */
  readonly isProtected: (path: string) => boolean;
  /** What of the change stays out; the rest is published. */
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
      /** Whether the change now stands on a newer base, and whether it would not. */
      readonly base: "same" | "moved" | "conflicts";
    }
  /** Nothing was changed, or nothing but what stays out. */
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
