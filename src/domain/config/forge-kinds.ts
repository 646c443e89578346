/** Facts about a forge that are known without asking it. */
export interface ForgeFacts {
  /** Where people look, unless they host their own. */
  readonly site: string;
  /** The path of an issue or a pull below its site: repository, kind, number. */
  readonly item: RegExp;
  /** The kinds in such a path, the first of each as addresses are written. */
  readonly issues: readonly [string, ...string[]];
  readonly pulls: readonly [string, ...string[]];
  /** The text between repository and kind. */
  readonly between: string;
  /** The name that git gives beside a token. */
  readonly gitUser: string;
  /** As people call it. */
  readonly title: string;
  /** The git ref of a pull request's head, including those from forks. */
  readonly pullRef: (number: number) => string;
  /** The page below the repository on which a person opens a pull of a branch. */
  readonly newPull: (branch: string) => string;
  /** The words that it reads as "this closes that issue": patterns, with a hyphen between the two halves that are kept apart. */
  readonly closing: readonly string[];
  /** The keys of `forges.<name>`, where the reference explains them differently from forge to forge. */
  readonly settings: {
    readonly base_url: string;
    readonly webhook_secret: string;
    readonly repositories: string;
  };
}

const CLOSING = ["clo-s(?:e[sd]?|ing)", "fi-x(?:e[sd]|ing)?", "reso-lv(?:e[sd]?|ing)"] as const;

/** One entry a forge. */
const FORGES = {
  github: {
    site: "https://github.com",
    item: /^\/([^/]+\/[^/]+)\/(issues|pull)\/(\d{1,18})\/?$/,
    issues: ["issues"],
    pulls: ["pull"],
    between: "/",
    gitUser: "x-access-token",
    title: "GitHub",
    pullRef: (number) => `refs/pull/${number}/head`,
    newPull: (branch) => `/pull/new/${branch}`,
    closing: CLOSING,
    settings: {
      base_url: "API address of GitHub Enterprise; null is github.com.",
      webhook_secret: "Secret that verifies the signatures of GitHub's webhooks.",
      repositories: "Repositories in which `serve` looks for work, each `owner/name`.",
    },
  },
  gitlab: {
    site: "https://gitlab.com",
    item: /^\/(.+?)\/(?:-\/)?(issues|merge_requests|work_items)\/(\d{1,18})\/?$/,
    issues: ["issues", "work_items"],
    pulls: ["merge_requests"],
    between: "/-/",
    gitUser: "oauth2",
    title: "GitLab",
    pullRef: (number) => `refs/merge-requests/${number}/head`,
    newPull: (branch) =>
      `/-/merge_requests/new?merge_request%5Bsource_branch%5D=${encodeURIComponent(branch)}`,
    closing: [...CLOSING, "imple-ment(?:s|ed|ing)?"],
    settings: {
      base_url: "API address of your own GitLab (also GITLAB_API_URL); null is gitlab.com.",
      webhook_secret: "Secret token that GitLab's webhooks must carry.",
      repositories: "Projects in which `serve` looks for work, each `group/name`.",
    },
  },
} as const satisfies Readonly<Record<string, ForgeFacts>>;

export type ForgeKind = keyof typeof FORGES;

export const FORGE_KINDS = Object.keys(FORGES) as readonly ForgeKind[];

export function forgeFacts(forge: ForgeKind): ForgeFacts {
  return FORGES[forge];
}

/** Asks for every forge. */
export function byForge<T>(ask: (forge: ForgeKind) => T): Readonly<Record<ForgeKind, T>> {
  return Object.fromEntries(FORGE_KINDS.map((forge) => [forge, ask(forge)])) as Record<ForgeKind, T>;
}
