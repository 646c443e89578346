import { randomUUID } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
  utimesSync,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import type {
  Head,
  HeadEnd,
  HeadFacts,
  HeadRequest,
  Heads,
  HeadTurn,
  OpenedHead,
} from "../../application/ports/heads.ts";
import type { ProcessResult } from "../../application/ports/platform-processes.ts";
import type { HeadName, WorkerKindName } from "../../domain/config/configured-kinds.ts";
import { NO_USAGE } from "../../domain/models/model-facts.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { isInside } from "../../domain/platform/paths.ts";
import type { HeadTrouble } from "../../domain/texts/heads.ts";
import { findProgram } from "../platform/find-program.ts";
import { takeLock } from "../platform/folder-lock.ts";
import { hashHex } from "../platform/hash.ts";
import { removeTree } from "../platform/remove-tree.ts";
import { replaceFile } from "../platform/text-files.ts";
import { createAcpTalk, type HeadTalk } from "./acp-agent.ts";
import { findHeadLogin, type HeadLogin, type HeadLoginDeps } from "./head-login.ts";
import { createKeyQuota, type KeyLimits, startKeyProxy } from "./key-proxy.ts";
import { findWorkerKind } from "./kinds/find-kind.ts";
import type { StreamFindings, WorkerKind } from "./kinds/worker-kind.ts";
import { type RunWatch, watchRun } from "./watch-run.ts";

/** `head:` of the configuration. */
export interface HeadSettings {
  readonly command: readonly string[];
  readonly login: "key" | "file";
  readonly settings: "none" | "safe" | "all";
  readonly timeout: number;
  readonly silence: number;
  readonly keep_days: number;
  readonly permissions: "allow" | "refuse";
  readonly env_pass: readonly string[];
  readonly home_files: readonly string[];
}

export interface HeadsDeps {
  readonly settings: HeadSettings;
  /** The user's environment: where programs and keys are looked for. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly workspace: string;
  /** Where the homes of heads are kept: a folder that no job sees. */
  readonly folder: string;
  /** Whether drafts are confined overlays here. */
  readonly canConfine: boolean;
  /** Whether the settings that the project has for such a CLI hold. */
  readonly isTrusted: () => boolean;
  readonly keyLimits: KeyLimits;
  readonly mask: (text: string) => string;
  readonly now: () => Date;
  /** Called with the status of each answer of an agent's server. Set for contestants, which get no notes of the user and no web tools. */
  readonly onContestAnswer?: ((status: number) => void) | undefined;
}

const NAMED: readonly WorkerKindName[] = ["claude-code", "codex-cli", "gemini-cli"];
/** Bytes that a head may print in a turn. */
const MOST_OUTPUT = 256 * 1024 ** 2;
/** The most steps of a turn that are shown in a chat. */
const MOST_REPORTED = 5_000;
const MOST_ASKED = 500;
/** How long a process that has done its turn may take to end. */
const LEAVE_MS = 3_000;
const DAY_MS = 86_400_000;

/** The user's own agents on this machine. Nothing is started before a turn is run. */
export function createHeads(deps: HeadsDeps): Heads {
  return {
    list: () => [
      ...NAMED.map((name) => describeHead(deps, findWorkerKind(name))),
      ...(deps.settings.command.length === 0 ? [] : [describeAcp(deps)]),
    ],
    open: (request) => openHead(deps, request),
    forget(sessionKey) {
      for (const name of [...NAMED, "acp"] as const) removeHome(homeFolder(deps, sessionKey, name));
    },
  };
}

/** Agents that are installed here, and by which login they could be used. */
export function findLoggedInHeads(
  deps: Pick<HeadLoginDeps, "env" | "home" | "now">,
): { readonly name: HeadName; readonly by: "key" | "file" }[] {
  return NAMED.flatMap((named) => {
    const kind = findWorkerKind(named);
    if (findProgram(kind.argv[0], deps.env.PATH ?? "") === null) return [];
    const by = (["key", "file"] as const).find(
      (login) => findHeadLogin(kind, { ...deps, login, settings: "none" }).ok,
    );
    return by === undefined ? [] : [{ name: kind.name as HeadName, by }];
  });
}

function describeHead(deps: HeadsDeps, kind: WorkerKind): HeadFacts {
  const program = findProgram(kind.argv[0], deps.env.PATH ?? "");
  const found = findHeadLogin(kind, loginDeps(deps));
  const name = kind.name as HeadName;
  const trouble = program === null ? notInstalled(name, kind.argv[0]) : found.ok ? null : found.trouble;
  return { name, trouble };
}

function describeAcp({ settings, env }: HeadsDeps): HeadFacts {
  const program = settings.command[0] ?? "";
  const isInstalled = findProgram(program, env.PATH ?? "") !== null;
  return { name: "acp", trouble: isInstalled ? null : notInstalled("acp", program) };
}

function notInstalled(name: HeadName, program: string): HeadTrouble {
  return { code: "not-installed", name, program };
}

function loginDeps({ home, env, settings, now, onContestAnswer }: HeadsDeps): HeadLoginDeps {
  const { login, settings: wanted } = settings;
  return { home, env, login, settings: wanted, now, isContestant: onContestAnswer !== undefined };
}

/** One agent with all it needs: for one of the three its kind and login, for any other its command. */
interface FoundAgent {
  readonly name: HeadName;
  readonly kind: WorkerKind | null;
  readonly login: HeadLogin | null;
  /** The program itself, past every link. */
  readonly program: string;
  readonly version: string;
  readonly readable: readonly string[];
}

async function openHead(deps: HeadsDeps, request: HeadRequest): Promise<OpenedHead> {
  const agent = findAgent(deps, request.name);
  if ("code" in agent) return { ok: false, trouble: agent };
  if (
    !deps.canConfine ||
    isInside(
      deps.workspace,
      attemptOr(deps.home, () => realpathSync(deps.home)),
    )
  )
    return { ok: false, trouble: { code: "not-confined" } };
  sweepHomes(deps);
  const folder = homeFolder(deps, request.sessionKey, request.name);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const lock = takeLock(folder, "folder");
  if (lock === null) return { ok: false, trouble: { code: "busy", name: request.name } };
  return { ok: true, head: createHead(deps, request, agent, { folder, lock }) };
}

function findAgent(deps: HeadsDeps, name: HeadName): FoundAgent | HeadTrouble {
  const path = deps.env.PATH ?? "";
  if (name === "acp") {
    const [command] = deps.settings.command;
    if (command === undefined) return { code: "no-command" };
    const found = findProgram(command, path);
    if (found === null) return notInstalled(name, command);
    return { name, kind: null, login: null, ...describeProgram(deps.home, found, command) };
  }
  const kind = findWorkerKind(name);
  const found = findProgram(kind.argv[0], path);
  if (found === null) return notInstalled(name, kind.argv[0]);
  const login = findHeadLogin(kind, loginDeps(deps));
  if (!login.ok) return login.trouble;
  return { name, kind, login: login.login, ...describeProgram(deps.home, found, kind.argv[0]) };
}

/** Packages are side by side in the outermost `node_modules`; any other program has a folder of its own. */
function describeProgram(
  home: string,
  found: string,
  name: string,
): Pick<FoundAgent, "program" | "version" | "readable"> {
  const program = realpathSync(found);
  const at = program.indexOf("/node_modules/");
  const folder = at < 0 ? dirname(program) : program.slice(0, at + "/node_modules".length);
  // The folder of the link has its interpreter, where both were installed together. A folder around the home shows too much.
  const readable = [folder, dirname(found)].filter(
    (one) => !isInside(one, home) && !SHOWN_ANYWAY.some((shown) => isInside(shown, one)),
  );
  return { program, version: versionOf(program, name), readable: [...new Set(readable)] };
}

const SHOWN_ANYWAY = ["/usr", "/bin", "/opt", "/nix", "/snap"];

function versionOf(program: string, name: string): string {
  for (let at = dirname(program), depth = 0; at !== "/" && depth < 4; at = dirname(at), depth++)
    try {
      const { version, bin } = JSON.parse(readFileSync(join(at, "package.json"), "utf8")) as {
        readonly version?: unknown;
        readonly bin?: unknown;
      };
      const names = typeof bin === "object" && bin !== null ? Object.keys(bin) : [];
      if (typeof version === "string" && (typeof bin === "string" || names.includes(name))) return version;
    } catch {
      // Not here.
    }
  return /(?:^|[/-])v?(\d+\.\d+\.\d+)/.exec(program)?.[1] ?? "";
}

/** The home of a head, by workspace, chat and kind: one session continues in it. */
function homeFolder({ folder }: HeadsDeps, sessionKey: string, name: string): string {
  return join(folder, `${name}-${hashHex("sha256", sessionKey).slice(0, 16)}`);
}

function removeHome(folder: string): void {
  const lock = existsSync(folder) ? takeLock(folder, "folder") : null;
  if (lock === null) return;
  try {
    removeTree(folder);
  } finally {
    lock.release();
  }
}

/** How an agent's turn ended, for the journal and the list of commands; the reply has the whole sentence. */
const HEAD_ENDS: Partial<Readonly<Record<HeadTrouble["code"], string>>> = {
  unauthorized: "was refused by its model's server",
  unreachable: "could not reach its model's server",
  quota: "reached the limit of requests for one message",
  "timed-out": "was ended at its time limit",
  silent: "was ended after a long silence",
  flooded: "was ended because its output did not stop",
  asking: "was ended because it kept asking for permission",
  "session-lost": "has lost its earlier session",
  failed: "ended with an error",
};

/** Homes that were not used for `head.keep_days`; 0 keeps them. */
function sweepHomes({ folder, settings, now }: HeadsDeps): void {
  if (settings.keep_days === 0 || !existsSync(folder)) return;
  const before = now().getTime() - settings.keep_days * DAY_MS;
  for (const name of readdirSync(folder)) {
    const at = join(folder, name);
    if ((statSync(at, { throwIfNoEntry: false })?.mtimeMs ?? before) < before) removeHome(at);
  }
}

interface HeldHome {
  readonly folder: string;
  readonly lock: { release(): void };
}

const SESSION_FILE = "session.json";

function readSession(folder: string): string {
  return attemptOr("", () => {
    const { id } = JSON.parse(readFileSync(join(folder, SESSION_FILE), "utf8")) as { readonly id?: unknown };
    return typeof id === "string" && SESSION_ID.test(id) ? id : "";
  });
}

/** A session's name becomes an argument: one that looks like an option is refused. */
const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$/;

function saveSession(folder: string, id: string, now: Date): void {
  replaceFile(join(folder, SESSION_FILE), JSON.stringify({ id }));
  utimesSync(folder, now, now);
}

function createHead(deps: HeadsDeps, request: HeadRequest, agent: FoundAgent, held: HeldHome): Head {
  const { settings, mask, now } = deps;
  const quota = createKeyQuota(deps.keyLimits);
  const isContestant = deps.onContestAnswer !== undefined;
  let sessionId = readSession(held.folder);
  let isClosed = false;
  const remember = (id: string) => {
    sessionId = id;
    saveSession(held.folder, id, now());
  };

  async function begin(message: string): Promise<HeadTurn> {
    const resume = sessionId;
    const fresh = randomUUID();
    const timers: { silent?: NodeJS.Timeout; leave?: NodeJS.Timeout } = {};
    const seen: {
      bytes: number;
      over: "silent" | "flooded" | null;
      result: ProcessResult | null;
    } = {
      bytes: 0,
      over: null,
      result: null,
    };
    const isTrusted = deps.isTrusted();
    const talk = createTalk(message, resume, () => {
      clearTimeout(timers.silent);
      timers.leave = setTimeout(() => watch.giveUp(), LEAVE_MS);
    });
    const watch: RunWatch = watchRun({
      reader: talk,
      mask,
      mostReported: MOST_REPORTED,
      onProgress: request.onProgress,
    });
    const watched = { quota, onUsedUp: watch.giveUp, onAnswer: deps.onContestAnswer };
    const proxy = agent.login === null ? null : await startKeyProxy({ ...agent.login, ...watched });
    const stayAwake = () => {
      clearTimeout(timers.silent);
      if (talk.isDone()) return;
      timers.silent = setTimeout(() => {
        seen.over ??= "silent";
        watch.giveUp();
      }, settings.silence * 1000);
    };
    let findings: StreamFindings | null = null;
    const clear = () => {
      clearTimeout(timers.silent);
      clearTimeout(timers.leave);
    };
    return {
      process: {
        title: [agent.name, agent.version].filter((part) => part !== "").join(" "),
        surroundings: {
          home: join(held.folder, "home"),
          files: new Map([...(agent.login?.files ?? []), ...copiedFiles(deps, agent)]),
          readable: agent.readable,
          socket: proxy?.socket ?? null,
        },
        command(port) {
          const env = {
            ...headEnvironment(deps, agent),
            ...(agent.kind?.env ?? {}),
            ...(agent.login?.env ?? {}),
          };
          if (agent.kind === null || agent.login === null)
            return { argv: [agent.program, ...settings.command.slice(1)], env };
          const { pathname } = new URL(agent.login.upstream);
          const led = agent.login.lead(`http://127.0.0.1:${port}${pathname.replace(/\/$/, "")}`);
          const session = { id: resume || fresh, resumes: resume !== "", isTrusted, isContestant };
          const [, ...rest] = agent.kind.inSession(led.argv, session);
          return { argv: [agent.program, ...rest], env: { ...env, ...led.env } };
        },
        timeoutMs: settings.timeout * 1000,
        signal: watch.signal,
        onStart(input) {
          stayAwake();
          talk.onStart(input);
        },
        onOutput(stream, text) {
          stayAwake();
          seen.bytes += text.length;
          if (seen.bytes <= MOST_OUTPUT) return watch.onOutput(stream, text);
          seen.over ??= "flooded";
          watch.giveUp();
        },
        onEnd(result) {
          clear();
          seen.result = result;
          findings = talk.end();
          const trouble = findTrouble(result, findings);
          return trouble === null ? "" : `${agent.name} ${HEAD_ENDS[trouble.code] ?? "failed"}`;
        },
      },
      async finish(): Promise<HeadEnd> {
        clear();
        await proxy?.close();
        const { result } = seen;
        if (result === null || findings === null) return { summary: "", usage: NO_USAGE, trouble: null };
        const trouble = findTrouble(result, findings);
        if (trouble?.code === "session-lost") remember("");
        else if (SESSION_ID.test(findings.sessionId)) remember(findings.sessionId);
        return { summary: mask(findings.summary).trim(), usage: findings.usage, trouble };
      },
    };

    function findTrouble(result: ProcessResult, findings: StreamFindings): HeadTrouble | null {
      const { name } = agent;
      const variables = agent.kind?.keyVariables ?? [];
      const used = quota.usedUp();
      if (seen.over === "silent") return { code: "silent", name, seconds: settings.silence };
      if (seen.over === "flooded") return { code: "flooded", name, bytes: MOST_OUTPUT };
      if (talk.asked() > MOST_ASKED) return { code: "asking", name, times: MOST_ASKED };
      if (used !== null) return { code: "quota", name, reached: used };
      if (result.outcome === "timed-out") return { code: "timed-out", name, seconds: settings.timeout };
      if (talk.lostSession() || (resume !== "" && isLostSession(result, findings)))
        return { code: "session-lost", name };
      const refused = watch.trouble();
      const hasSpoken = findings.sessionId !== "" || findings.summary !== "";
      const hasEnded = result.outcome === "exited" && result.exitCode === 0 && hasSpoken;
      if (findings.error === null && (talk.isDone() || hasEnded)) return null;
      if (refused?.code === "unauthorized" || readsAsNoLogin(result, findings))
        return { code: "unauthorized", name, variables };
      if (refused?.code === "unreachable") return { code: "unreachable", name, detail: refused.detail };
      return { code: "failed", name, detail: mask(findings.error ?? "") || lastWords(result) };
    }

    function lastWords({ stderr, stdout, exitCode, signal, error }: ProcessResult): string {
      const said = `${stdout}\n${stderr}`
        .split("\n")
        .findLast((line) => /\p{L}{3}/u.test(line) && !line.startsWith("{"));
      return mask(said?.trim().slice(0, 400) || error?.message || (signal ?? `exit status ${exitCode}`));
    }
  }

  function createTalk(message: string, resume: string, onOver: () => void): HeadTalk {
    const { kind } = agent;
    if (kind === null)
      return createAcpTalk({
        prompt: message,
        folder: deps.workspace,
        resume: resume === "" ? null : resume,
        permissions: settings.permissions,
        mostAsked: MOST_ASKED,
        onOver,
      });
    const reader = kind.createReader();
    return {
      onStart(input) {
        input.write(message);
        input.end();
      },
      feed: reader.feed,
      end: reader.end,
      isDone: () => false,
      asked: () => 0,
      lostSession: () => false,
    };
  }

  return {
    name: agent.name,
    version: agent.version,
    resumes: () => sessionId !== "",
    begin,
    async close() {
      if (isClosed) return;
      isClosed = true;
      held.lock.release();
    },
  };
}

/** The CLIs' words for a session that they do not know. */
const LOST_SESSION =
  /No conversation found|no rollout found|(?:session|thread|conversation)[^\n]{0,60}(?:not found|does not exist|invalid)|Invalid session identifier/i;

function isLostSession({ stdout, stderr }: ProcessResult, { error }: StreamFindings): boolean {
  return (
    LOST_SESSION.test(error ?? "") || LOST_SESSION.test(stderr) || LOST_SESSION.test(stdout.slice(0, 4_000))
  );
}

function readsAsNoLogin({ stderr }: ProcessResult, { error }: StreamFindings): boolean {
  return /please run \/login|not logged in|invalid auth method/i.test(`${error ?? ""}\n${stderr}`);
}

/** The key proxy is on the loopback, so the user's own proxy must not be used for it; every kind of agent gets this. */
function headEnvironment({ env, settings }: HeadsDeps, { kind }: FoundAgent): Record<string, string> {
  const own: Record<string, string> = {};
  for (const name of ["NO_PROXY", "no_proxy"])
    own[name] = [env[name], "localhost,127.0.0.1,::1"].filter(Boolean).join(",");
  if (kind === null)
    for (const name of settings.env_pass) {
      const value = env[name];
      if (value !== undefined) own[name] = value;
    }
  return own;
}

/** Files that the user gives to an agent of any kind, by their paths in the home. */
function copiedFiles({ settings, home }: HeadsDeps, { kind }: FoundAgent): [string, string][] {
  if (kind !== null) return [];
  return settings.home_files.flatMap((entry): [string, string][] => {
    const path = entry.replace(/^(?:~|\$HOME)\//, "");
    const at = resolve(home, path);
    if (!isInside(home, at) || at === home || basename(at) === "") return [];
    return attemptOr([], () => [[at.slice(home.length + 1), readFileSync(at, "utf8")]]);
  });
}
