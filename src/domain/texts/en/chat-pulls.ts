import { many, tokenVariables, wordBy } from "../format-text.ts";

/** Why no pull request was opened. `kept`: the branch that keeps the commit because it could not be reverted. */
export type PullStop =
  | { readonly why: "unavailable" | "no-git" | "no-repository" | "unborn" | "no-remote" }
  | { readonly why: "git-failed" | "not-committed"; readonly message: string }
  | { readonly why: "foreign-remote"; readonly remote: string; readonly url: string }
  | { readonly why: "no-token"; readonly forge: string; readonly variable: string }
  | { readonly why: "other-repository"; readonly repository: string }
  | { readonly why: "not-a-pull"; readonly number: number }
  | { readonly why: "conflicted"; readonly paths: readonly string[] }
  | { readonly why: "archived"; readonly repository: string }
  | { readonly why: "no-base"; readonly base: string; readonly repository: string }
  /** `kept`: changed files that are never committed. */
  | { readonly why: "nothing"; readonly base: string; readonly kept: readonly string[] }
  | { readonly why: "names-taken"; readonly branch: string }
  | ({ readonly why: "forge" } & Readonly<Record<"forge" | "repository" | "code" | "message", string>>)
  | ({ readonly why: "not-opened" } & Readonly<Record<"forge" | "branch" | "code" | "message", string>>)
  | { readonly why: "secret"; readonly kept: string | null }
  | { readonly why: "branch-taken"; readonly branch: string; readonly kept: string | null }
  /** `variable`: that of the token, where there is none. */
  | ({ readonly why: "not-pushed" } & Readonly<Record<"reason" | "branch" | "forge" | "message", string>> &
      Readonly<Record<"variable" | "kept", string | null>>);

export type CommitStop =
  | { readonly why: "unavailable" | "no-git" | "no-repository" | "unborn" }
  | { readonly why: "failed"; readonly message: string }
  | { readonly why: "conflicted"; readonly paths: readonly string[] }
  /** `changed`: how many files are not committed. */
  | { readonly why: "nothing"; readonly changed: number };

/** `left`: how many changed files it leaves out. */
type CommitFacts = Readonly<{ title: string; files: readonly string[]; left: number }>;

/** A pull request that was made ready. `files`: how many were committed for it. */
type PullFacts = Readonly<Record<"branch" | "base" | "title" | "url", string>> & { readonly files: number };
type OpenedPull = PullFacts & Readonly<Record<"isNew" | "isDraft", boolean>>;
type UnopenedPull = PullFacts & Readonly<Record<"variable" | "forge", string>>;
type PullDraft = Pick<PullFacts, "branch" | "base" | "title"> & { readonly files: readonly string[] };

const nameKeptBranch = (branch: string | null) =>
  branch === null ? "Nothing was changed." : `Nothing was pushed; the commit stays on the branch ${branch}.`;

function forgeTrouble(forge: string, code: string, message: string): string {
  if (code === "unauthorized") return `${forge} does not accept the token: it is wrong, or it has expired.`;
  const noPermission = `The token has no permission for that on ${forge}`;
  const silent = `${forge} does not answer`;
  const known: Readonly<Record<string, string>> = {
    forbidden: noPermission,
    "missing-scope": noPermission,
    unreachable: silent,
    timeout: silent,
    "server-error": silent,
    "rate-limited": `${forge} accepts no more requests for now`,
  };
  return `${known[code] ?? `${forge} refused`}: ${message}`;
}

function pushTrouble(reason: string, forge: string, branch: string, message: string): string {
  const known: Readonly<Record<string, string>> = {
    "protected-branch": `${forge} protects the branch ${branch}: pushes to it are not allowed.`,
    unauthorized: `${forge} refused the push: it accepts neither a token nor a key of yours.`,
    "no-permission": `You may not push to this repository on ${forge}.`,
    "not-found": `The repository does not exist on ${forge}, or you may not see it.`,
    unreachable: `${forge} cannot be reached.`,
    aborted: "Stopped.",
  };
  return (
    known[reason] ?? `${forge} did not accept the branch ${branch}.${message === "" ? "" : `\n${message}`}`
  );
}

const STAYS = "Undo removes the commit here; what was pushed stays on the forge.";

const tokenName = (variable: string) => tokenVariables(variable, " or ");

export const pulls = {
  committed: ({ title, files: paths, left }: CommitFacts) =>
    `Committed ${many(paths.length, "file")}: ${title}${left === 0 ? "" : `\nNot in it: ${many(left, "file")} with other changes.`}\nNothing was pushed. /undo removes the commit; /pr opens a pull request.`,
  commitDry: ({ title, files: paths }: CommitFacts) =>
    `Would commit: ${title}\n${paths.map((path) => `  ${path}`).join("\n")}`,
  commitStop: wordBy<"why", CommitStop>("why", {
    unavailable: "Commits cannot be made from here.",
    "no-git": "No commit: git is not installed.",
    "no-repository": "No commit: this folder is not a git repository.",
    unborn: "No commit: the repository has no first commit yet. Make it yourself: git add, git commit.",
    failed: ({ message }) => `No commit: ${message}`,
    conflicted: ({ paths }) => `No commit: these files are in conflict. ${paths.join(", ")}`,
    nothing: ({ changed }) =>
      changed === 0
        ? "Nothing to commit: the working tree is clean."
        : `Nothing to commit: nothing is staged, and the ${many(changed, "file")} with changes ${changed === 1 ? "is" : "are"} not this chat's. Stage what belongs together (git add), then /commit.`,
  }),
  pullUsage:
    'Usage: /pr [--draft] [--base BRANCH] [TITLE]. A title with words that begin with -- goes in quotes: /pr "Add --verbose"',
  reviewPosted: (url: string) => `The review was posted: ${url}`,
  reviewNotPosted: (url: string, why: string) =>
    `The review was not posted on ${url}${why === "" ? ": it is empty." : `: ${why}`}`,
  reviewPostWhere: "A review can be posted only on a pull request: /review #12 --post",
  pullCommits: (branch: string, count: number) =>
    count === 0 ? `Creating the branch ${branch}.` : `Committing ${many(count, "file")} on ${branch}.`,
  pullPushes: (branch: string, forge: string) => `Pushing ${branch} to ${forge}.`,
  forgeWaits: (forge: string, seconds: number, why: string) => `${forge} asks to wait ${seconds} s: ${why}`,
  pullDry: ({ branch, base, files: paths, title }: PullDraft) =>
    `Would open a pull request from ${branch} to ${base}: ${title}\n${paths.map((path) => `  ${path}`).join("\n")}`,
  pullOpened: ({ branch, base, title, files: count, url, isNew, isDraft }: OpenedPull) =>
    [
      isNew
        ? `${isDraft ? "Draft pull request" : "Pull request"} opened: ${url}`
        : `Pull request ${count === 0 ? "up to date" : "updated"}: ${url}`,
      `${title}\n${branch} → ${base}${count === 0 ? "" : `, ${many(count, "file")} committed`}`,
      STAYS,
    ].join("\n\n"),
  pullByHand: ({ branch, title, url, variable, forge }: UnopenedPull) =>
    [
      `The branch ${branch} was pushed, but no pull request was opened: there is no token for ${forge}.`,
      `Open it yourself: ${url}\n${title}`,
      `To have it opened next time, set ${tokenName(variable)}.`,
      STAYS,
    ].join("\n\n"),
  pullStop: wordBy<"why", PullStop>("why", {
    unavailable: "Pull requests cannot be opened from here.",
    "no-git": "No pull request: git is not installed.",
    "no-repository": "No pull request: this folder is not a git repository.",
    unborn: "No pull request: the repository has no commit yet.",
    "no-remote": "No pull request: the repository has no remote. Add one: git remote add origin URL",
    "foreign-remote": ({ remote, url }) =>
      `No pull request: the remote ${remote} (${url}) is neither GitHub nor GitLab. For your own server, set forges.github.base_url or forges.gitlab.base_url.`,
    "no-token": ({ forge, variable }) => `There is no token for ${forge}. Set ${tokenName(variable)}.`,
    "other-repository": ({ repository }) =>
      `That is not a pull request of ${repository}, the repository of this folder.`,
    "not-a-pull": ({ number }) => `#${number} is not a pull request.`,
    "git-failed": ({ message }) => `No pull request: git failed. ${message}`,
    conflicted: ({ paths }) => `No pull request: these files are in conflict. ${paths.join(", ")}`,
    archived: ({ repository }) => `No pull request: ${repository} is archived and accepts none.`,
    "no-base": ({ repository, base }) => `No pull request: ${repository} has no branch ${base}.`,
    nothing: ({ base, kept }) =>
      `Nothing to propose: everything here is already in ${base}.${kept.length === 0 ? "" : ` Protected files are never committed: ${kept.join(", ")}`}`,
    "names-taken": ({ branch }) => `No pull request: there are already too many branches named ${branch}.`,
    forge: ({ code, repository, forge, message }) =>
      code === "not-found"
        ? `No pull request: ${repository} does not exist on ${forge}, or the token may not see it.`
        : `No pull request. ${forgeTrouble(forge, code, message)}`,
    "not-committed": ({ message }) => `No pull request: the change could not be committed.\n${message}`,
    "not-opened": ({ branch, forge, code, message }) =>
      `The branch ${branch} was pushed, but the pull request was not opened. ${forgeTrouble(forge, code, message)}\nTo try again: /pr\n\n${STAYS}`,
    secret: ({ kept }) => `No pull request: the change contains one of your secrets. ${nameKeptBranch(kept)}`,
    "branch-taken": ({ branch, kept }) =>
      `No pull request: the branch ${branch} has commits on the forge that are not here. Pull them first. ${nameKeptBranch(kept)}`,
    "not-pushed": ({ reason, forge, branch, message, variable, kept }) =>
      `No pull request. ${pushTrouble(reason, forge, branch, message)}${variable === null ? "" : ` There is no token for ${forge}: set ${tokenName(variable)}.`} ${nameKeptBranch(kept)}`,
  }),
};
