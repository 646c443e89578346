import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { HeadName } from "../../domain/config/configured-kinds.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isJsonObject } from "../../domain/platform/json-members.ts";
import { maskSecrets } from "../../domain/platform/mask.ts";
import type { HeadTrouble } from "../../domain/texts/heads.ts";
import { type KeyRoute, makeStandIn, type StreamEvent, type WorkerKind } from "./kinds/worker-kind.ts";

/** The sandbox gets stand-ins, for which the key proxy puts the keys. No file of the user is written, no login refreshed. */
export interface HeadLogin extends KeyRoute {
  readonly env: Readonly<Record<string, string>>;
  /** Files for its home, by their paths there; keys are stand-ins. */
  readonly files: ReadonlyMap<string, string>;
  readonly asks: RegExp;
  /** The key behind each stand-in, as it is now; empty when a login has expired. */
  readonly keys: () => ReadonlyMap<string, string>;
}

export interface HeadLoginDeps {
  /** The user's. */
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** `head.login`: keys and tokens alone, or a person's login in a file as well. */
  readonly login: "key" | "file";
  /** `head.settings`. */
  readonly settings: "none" | "safe" | "all";
  readonly now: () => Date;
  /** A contestant gets no notes of the user and no web tools. */
  readonly isContestant?: boolean;
  /** For tests. */
  readonly newStandIn?: () => string;
}

type FoundLogin =
  | { readonly ok: true; readonly login: HeadLogin }
  | { readonly ok: false; readonly trouble: HeadTrouble };

/** A key, or a token that the vendor issues for use without a person; a person's own login only where that is set. */
export function findHeadLogin(kind: WorkerKind, deps: HeadLoginDeps): FoundLogin {
  const name = kind.name as HeadName;
  const files = readSettings(kind, deps);
  const byKey = findKey(kind, deps);
  if (byKey !== null) return { ok: true, login: loginByKey(kind, deps, files, byKey) };
  const person = PERSONS[name];
  const found = person?.find(deps) ?? null;
  const missing = {
    code: "no-login",
    name,
    variables: kind.keyVariables,
    file: found === null ? null : (person?.file ?? null),
  } as const;
  if (found === null || person === undefined) return { ok: false, trouble: missing };
  if (found === "refused")
    return { ok: false, trouble: { code: "login-refused", name, variables: kind.keyVariables } };
  if (deps.login !== "file") return { ok: false, trouble: missing };
  if (found === "expired")
    return { ok: false, trouble: { code: "login-expired", name, program: kind.argv[0] } };
  return { ok: true, login: person.use(kind, deps, files) };
}

interface FoundKey {
  readonly variable: string;
  readonly key: string;
}

function findKey(kind: WorkerKind, { env, home }: HeadLoginDeps): FoundKey | null {
  for (const variable of kind.keyVariables) {
    const key = env[variable];
    if (key !== undefined && key !== "") return { variable, key };
  }
  // The file of logins may contain a key instead; it is used as one.
  const key = kind.name === "codex-cli" ? readJson(join(home, CODEX_LOGIN))?.OPENAI_API_KEY : undefined;
  return typeof key === "string" && key !== "" ? { variable: "CODEX_API_KEY", key } : null;
}

function loginByKey(
  kind: WorkerKind,
  { env, isContestant, newStandIn = makeStandIn }: HeadLoginDeps,
  settings: ReadonlyMap<string, string>,
  { variable, key }: FoundKey,
): HeadLogin {
  const stand = newStandIn();
  const plain = Object.fromEntries(
    kind.plainVariables.flatMap((name) => {
      const value = env[name];
      return value === undefined || value === "" ? [] : [[name, value]];
    }),
  );
  const files = new Map(settings);
  // The one variable that its headless call reads.
  const own = kind.name === "codex-cli" ? "CODEX_API_KEY" : variable;
  const { keySettings } = kind;
  if (keySettings !== undefined) {
    const settings = parseJson(files.get(keySettings.path) ?? "{}") ?? {};
    files.set(keySettings.path, JSON.stringify(keySettings.choose(settings, plain, isContestant)));
  }
  const route = kind.route({ env: plain, textOf: (path) => files.get(path) ?? null });
  return {
    env: { ...plain, [own]: stand },
    files,
    upstream: route.upstream,
    asks: kind.asks,
    keys: () => new Map([[stand, key]]),
    lead: route.lead,
  };
}

/** A person's login with a subscription, as the vendor's CLI keeps it. */
interface PersonsLogin {
  readonly file: string;
  /** The login itself, or why there is none to use. */
  find(deps: HeadLoginDeps): string | object | null;
  use(kind: WorkerKind, deps: HeadLoginDeps, settings: ReadonlyMap<string, string>): HeadLogin;
}

const CLAUDE_LOGIN = ".claude/.credentials.json";
const CODEX_LOGIN = ".codex/auth.json";
const GEMINI_LOGIN = ".gemini/oauth_creds.json";

/** A login that ends within this time is over before the run is. */
const SOON_MS = 60_000;

const PERSONS: Readonly<Partial<Record<HeadName, PersonsLogin>>> = {
  "claude-code": {
    file: `~/${CLAUDE_LOGIN}`,
    find: readClaudeToken,
    use(kind, deps, files) {
      const stand = (deps.newStandIn ?? makeStandIn)();
      const route = kind.route({ env: {}, textOf: () => null });
      return {
        env: { CLAUDE_CODE_OAUTH_TOKEN: stand },
        files,
        upstream: deps.env.ANTHROPIC_BASE_URL || route.upstream,
        asks: kind.asks,
        keys: () => {
          const token = readClaudeToken(deps);
          return new Map(token === null || token === "expired" ? [] : [[stand, token]]);
        },
        lead: route.lead,
      };
    },
  },
  "codex-cli": {
    file: `~/${CODEX_LOGIN}`,
    find: readCodexTokens,
    use(kind, deps, settings) {
      const newStandIn = deps.newStandIn ?? makeStandIn;
      const account = newStandIn();
      const token = standInToken(account, newStandIn(), deps.now());
      const files = new Map(settings);
      const tokens = { id_token: token, access_token: token, refresh_token: "none", account_id: account };
      files.set(
        CODEX_LOGIN,
        JSON.stringify({ OPENAI_API_KEY: null, tokens, last_refresh: deps.now().toISOString() }),
      );
      const [program, command, ...rest] = kind.argv as [string, string, ...string[]];
      return {
        env: {},
        files,
        upstream: CHATGPT,
        asks: /^\/backend-api\/(?:codex|wham)\//,
        keys: () => {
          const now = readCodexTokens(deps);
          if (now === null || now === "expired") return new Map();
          return new Map([
            [token, now.access],
            [account, now.account],
          ]);
        },
        lead: (base) => ({
          env: {},
          argv: [program, command, ...chatgptSettings(base).flatMap((one) => ["-c", one]), ...rest],
        }),
      };
    },
  },
  "gemini-cli": {
    file: `~/${GEMINI_LOGIN}`,
    find: ({ home }) => (readText(join(home, GEMINI_LOGIN)) === null ? null : "refused"),
    use() {
      throw new Error("a login with Google is never used");
    },
  },
};

const CHATGPT = "https://chatgpt.com";

/** A provider of its own: with the address alone the CLI asks its vendor for the account's servers first. */
function chatgptSettings(base: string): string[] {
  const provider = `{name="picoclaw", base_url=${JSON.stringify(`${base}/backend-api/codex`)}, wire_api="responses", requires_openai_auth=true, supports_websockets=false}`;
  return [
    'model_provider="picoclaw"',
    `model_providers.picoclaw=${provider}`,
    `chatgpt_base_url=${JSON.stringify(`${base}/backend-api`)}`,
    "features.plugins=false",
    "features.apps=false",
  ];
}

/** A token that reads as one, names no person and opens nothing. */
function standInToken(account: string, mark: string, now: Date): string {
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = {
    exp: Math.floor(now.getTime() / 1000) + 30 * 86_400,
    email: "picoclaw@localhost",
    "https://api.openai.com/auth": { chatgpt_account_id: account, chatgpt_plan_type: "plus" },
    jti: mark,
  };
  return `${encode({ alg: "none", typ: "JWT" })}.${encode(claims)}.${Buffer.from(mark).toString("base64url")}`;
}

function readClaudeToken({ home, now }: HeadLoginDeps): string | "expired" | null {
  const login = readJson(join(home, CLAUDE_LOGIN))?.claudeAiOauth as
    | { readonly accessToken?: unknown; readonly expiresAt?: unknown }
    | undefined;
  if (typeof login?.accessToken !== "string" || login.accessToken === "") return null;
  const ends = typeof login.expiresAt === "number" ? login.expiresAt : Number.POSITIVE_INFINITY;
  return ends - SOON_MS <= now().getTime() ? "expired" : login.accessToken;
}

function readCodexTokens({
  home,
  now,
}: HeadLoginDeps): { readonly access: string; readonly account: string } | "expired" | null {
  const tokens = readJson(join(home, CODEX_LOGIN))?.tokens as
    | { readonly access_token?: unknown; readonly account_id?: unknown }
    | undefined;
  if (typeof tokens?.access_token !== "string" || tokens.access_token === "") return null;
  const ends = readExpiry(tokens.access_token);
  if (ends !== null && ends * 1000 - SOON_MS <= now().getTime()) return "expired";
  return { access: tokens.access_token, account: String(tokens.account_id ?? "") };
}

function readExpiry(token: string): number | null {
  const claims = parseJson(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
  return typeof claims?.exp === "number" ? claims.exp : null;
}

/** Settings that say how the CLI behaves, and nothing that names a program, a server or a secret. */
const SAFE_JSON: Readonly<Partial<Record<HeadName, readonly string[]>>> = {
  "claude-code": ["model", "outputStyle", "includeCoAuthoredBy", "alwaysThinkingEnabled", "language"],
  "gemini-cli": ["model", "context"],
};

const SETTINGS: Readonly<Partial<Record<HeadName, { readonly settings: string; readonly notes: string }>>> = {
  "claude-code": { settings: ".claude/settings.json", notes: ".claude/CLAUDE.md" },
  "codex-cli": { settings: ".codex/config.toml", notes: ".codex/AGENTS.md" },
  "gemini-cli": { settings: ".gemini/settings.json", notes: ".gemini/GEMINI.md" },
};

/** The user's settings for this CLI, without what starts programs and without secrets unless all are wanted. */
function readSettings(
  kind: WorkerKind,
  { home, settings: wanted, isContestant = false }: HeadLoginDeps,
): Map<string, string> {
  const files = new Map<string, string>();
  const places = SETTINGS[kind.name as HeadName];
  if (places === undefined || wanted === "none") return files;
  const notes = isContestant ? null : readText(join(home, places.notes));
  if (notes !== null) files.set(places.notes, maskSecrets(notes));
  const text = readText(join(home, places.settings));
  if (text === null) return files;
  const kept = wanted === "all" ? maskSecrets(text) : safeSettings(kind, text);
  if (kept !== null) files.set(places.settings, kept);
  return files;
}

function safeSettings(kind: WorkerKind, text: string): string | null {
  if (kind.name === "codex-cli") return safeToml(text);
  const all = parseJson(text);
  const names = SAFE_JSON[kind.name as HeadName] ?? [];
  if (all === null) return null;
  return JSON.stringify(
    Object.fromEntries(names.flatMap((name) => (name in all ? [[name, all[name]]] : []))),
  );
}

const TOML_SETTING =
  /^\s*(?:model|model_reasoning_effort|model_reasoning_summary|model_verbosity|model_provider|openai_base_url)\s*=\s*(?:"[^"\n]*"|'[^'\n]*'|[\w.-]+)\s*$/;
const PROVIDER_SETTING =
  /^\s*(?:name|base_url|wire_api|supports_websockets|requires_openai_auth)\s*=\s*(?:"[^"\n]*"|'[^'\n]*'|[\w.-]+)\s*$/;

/** Lines of one kind each: a line that is anything else stays out, and what it would have done with it. */
function safeToml(text: string): string {
  const [top = "", ...sections] = text.split(/^(?=\s*\[)/m);
  const kept = top.split("\n").filter((line) => TOML_SETTING.test(line));
  for (const section of sections) {
    const [heading = "", ...lines] = section.split("\n");
    if (/^\s*\[model_providers\.["']?[\w-]+["']?\]\s*$/.test(heading))
      kept.push(heading.trim(), ...lines.filter((line) => PROVIDER_SETTING.test(line)));
  }
  return `${kept.join("\n")}\n`;
}

const LONGEST = 1024 ** 2;

function readText(path: string): string | null {
  const text = attemptOr(null, () => readFileSync(path, "utf8"));
  return text !== null && text.length > LONGEST ? null : text;
}

const readJson = (path: string) => parseJson(readText(path) ?? "");

function parseJson(text: string): StreamEvent | null {
  const value: unknown = attemptOr(null, () => JSON.parse(text));
  return isJsonObject(value) ? value : null;
}
