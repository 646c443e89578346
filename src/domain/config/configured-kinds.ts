/** Characters of a schedule's rule: it is read again at each round, and shown in lists. */
export const LONGEST_CRON = 100;

/** Folders of a workspace whose commands and skills are read, once they are trusted; the first one that has a name wins. */
export const COMMAND_FOLDERS = [".picoclaw", ".agents", ".claude"] as const;

/** The file of a workspace that names MCP servers for every agent that works there; read once it is trusted. */
export const MCP_FILE = ".mcp.json";

/** The protocols of model servers: the types of a provider that the configuration, the wires and their settings share. */
export const WIRE_TYPES = ["anthropic", "openai", "google", "openai-compatible", "ollama"] as const;

export type WireType = (typeof WIRE_TYPES)[number];

/** `OLLAMA_HOST` as Ollama reads it: a host, `host:port`, a URL; every address means this machine. Null: not HTTP, or with a login. */
export function ollamaAddress(given: string | undefined): string | null {
  const text = given?.trim() ?? "";
  if (text === "") return null;
  try {
    const isBare = !text.includes("://");
    const url = new URL(isBare ? `http://${text}` : text);
    if (!/^https?:$/.test(url.protocol) || url.username !== "" || url.password !== "") return null;
    if (/^(0\.0\.0\.0|\[::\])$/.test(url.hostname)) url.hostname = "127.0.0.1";
    if (url.port === "" && isBare) url.port = "11434";
    return `${url.origin}${url.pathname}`.replace(/\/+$/, "");
  } catch {
    return null;
  }
}

export const OPENROUTER = "https://openrouter.ai/api/v1";

/** Any other server of this kind speaks chat completions, not OpenAI's own responses. */
export function isOpenAi(address: string): boolean {
  return /^https:\/\/api\.openai\.com\b/.test(address);
}

/** Every name that a task file may give; the second of claude's is an older one. */
export const WORKER_KIND_NAMES = ["codex-cli", "claude-code", "claude-code-cli", "gemini-cli"] as const;

export type WorkerKindName = (typeof WORKER_KIND_NAMES)[number];

/** Agents that may be a coder's head. `acp` is any that speaks the Agent Client Protocol (`head.command`). */
export const HEAD_NAMES = ["claude-code", "codex-cli", "gemini-cli", "acp"] as const;

export type HeadName = (typeof HEAD_NAMES)[number];

/** The worker CLI that a head is in a container; null of one that runs on the user's machine alone. */
export function workerOfHead(head: HeadName | null): WorkerKindName | null {
  return head === null || head === "acp" ? null : head;
}

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

export function byForge<T>(ask: (forge: ForgeKind) => T): Readonly<Record<ForgeKind, T>> {
  return Object.fromEntries(FORGE_KINDS.map((forge) => [forge, ask(forge)])) as Record<ForgeKind, T>;
}

export const ROUTES = [
  "CHAT",
  "PLAN",
  "ANALYZE",
  "OPS",
  "RESEARCH",
  "CODE",
  "CODE1",
  "CODE2",
  "CODE3",
] as const;

export type Route = (typeof ROUTES)[number];

/** Routes that a coder answers with a proposal. */
export function isCoder(route: Route): boolean {
  return route === "CODE" || route === "CODE1" || route === "CODE2" || route === "CODE3";
}

/** An example route for the hint on correcting a decision: never the route that was taken, nor the one it was corrected to. */
export function otherRoute(...taken: readonly (string | null)[]): Route {
  const coded = taken.some((route) => route?.startsWith("CODE"));
  const examples: readonly Route[] = coded ? ["CHAT", "ANALYZE"] : ["CODE", "CHAT"];
  return examples.find((route) => !taken.includes(route)) ?? "PLAN";
}

/** Reads a route's name however it is written: `code3`, `CODE3`, `ＣＯＤＥ３`. */
export function readRoute(text: string): Route | undefined {
  const name = text.normalize("NFKC").trim().toUpperCase();
  return ROUTES.find((route) => route === name);
}

export type DecisionSource = "forced" | "explicit" | "rule" | "classifier" | "fallback";

export interface Decision {
  readonly route: Route;
  readonly source: DecisionSource;
  /** From 0 to 1. */
  readonly confidence: number;
  readonly reason: string;
}
