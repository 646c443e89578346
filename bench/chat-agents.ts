import { copyFileSync, cpSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { ownFileTest } from "../scripts/earlier-pieces.ts";
import { PROMPT } from "./chat-stub.ts";
import { findBundle } from "./installed.ts";

/** The command line that lets an agent make one edit against the stub, in a home of its own, with everything else switched off. */
export interface Agent {
  readonly name: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Not timed, before each run. */
  readonly before?: readonly string[];
  /** Tried when that does not make the edit here. */
  readonly instead?: Agent;
}

interface Peer {
  readonly program: string;
  set(
    home: string,
    url: string,
    workspace: string,
  ): {
    readonly args: readonly string[];
    readonly env?: Readonly<Record<string, string>>;
    readonly instead?: { readonly why: string; readonly args: readonly string[] };
  };
}

const PEERS: Readonly<Record<string, Peer>> = {
  "codex exec": {
    program: "codex",
    set: (home, url, workspace) => {
      write(
        join(home, ".codex/config.toml"),
        `model = "gpt-5.5"\nmodel_provider = "stub"\napproval_policy = "never"\nsandbox_mode = "workspace-write"
check_for_update_on_startup = false\nweb_search = "disabled"
[model_providers.stub]\nname = "stub"\nbase_url = "${url}/v1"\nwire_api = "responses"\nenv_key = "STUB_KEY"
requires_openai_auth = false\nsupports_websockets = false\nrequest_max_retries = 0\nstream_max_retries = 0
[analytics]\nenabled = false\n[feedback]\nenabled = false\n[history]\npersistence = "none"\n[otel]\nexporter = "none"
[projects."${workspace}"]\ntrust_level = "trusted"
[features]\nplugins = false\napps = false\nremote_plugin = false\n`,
      );
      return {
        args: ["exec", "-s", "workspace-write", PROMPT],
        // Its sandbox does not stand on every machine; without it is faster, so that the comparison stays fair.
        instead: { why: "without its sandbox", args: ["exec", "-s", "danger-full-access", PROMPT] },
        env: { CODEX_HOME: join(home, ".codex"), STUB_KEY: "none" },
      };
    },
  },
  "claude -p": {
    program: "claude",
    set: (home, url) => ({
      args: ["-p", "--dangerously-skip-permissions", "--model", "sonnet", PROMPT],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: "none",
        CLAUDE_CONFIG_DIR: join(home, ".claude"),
        IS_SANDBOX: "1",
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
        DISABLE_TELEMETRY: "1",
        DISABLE_AUTOUPDATER: "1",
        DISABLE_ERROR_REPORTING: "1",
      },
    }),
  },
  "gemini -p": {
    program: "gemini",
    set: (home, url) => {
      const settings = {
        security: { auth: { selectedType: "gemini-api-key" } },
        general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
        privacy: { usageStatisticsEnabled: false },
        telemetry: { enabled: false },
      };
      write(join(home, ".gemini/settings.json"), JSON.stringify(settings));
      return {
        args: ["--yolo", "--skip-trust", "-m", "gemini-2.5-pro", "-p", PROMPT],
        env: { GEMINI_API_KEY: "none", GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_TRUST_WORKSPACE: "true" },
      };
    },
  },
  "opencode run": {
    program: "opencode",
    set: (home, url) => {
      const stub = {
        npm: "@ai-sdk/openai-compatible",
        name: "Stub",
        options: { baseURL: `${url}/v1`, apiKey: "none" },
        models: { stub: { name: "Stub", tool_call: true, limit: { context: 200_000, output: 8192 } } },
      };
      const settings = {
        autoupdate: false,
        share: "disabled",
        model: "stub/stub",
        small_model: "stub/stub",
        provider: { stub },
        enabled_providers: ["stub"],
      };
      write(join(home, ".config/opencode/opencode.json"), JSON.stringify(settings));
      return {
        args: ["run", "--auto", "-m", "stub/stub", PROMPT],
        env: {
          OPENCODE_DISABLE_AUTOUPDATE: "1",
          OPENCODE_DISABLE_MODELS_FETCH: "1",
          OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
          OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
          OPENCODE_DISABLE_SHARE: "1",
        },
      };
    },
  },
  "pi -p": {
    program: "pi",
    set: (home, url) => {
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const model = {
        id: "stub",
        name: "Stub",
        reasoning: false,
        input: ["text"],
        cost,
        contextWindow: 200_000,
        maxTokens: 8192,
      };
      const stub = { baseUrl: `${url}/v1`, api: "openai-completions", apiKey: "none", models: [model] };
      write(join(home, ".pi/agent/models.json"), JSON.stringify({ providers: { stub } }));
      return {
        args: ["-p", "--offline", "--provider", "stub", "--model", "stub", PROMPT],
        env: { PI_OFFLINE: "1", PI_SKIP_VERSION_CHECK: "1", PI_TELEMETRY: "0" },
      };
    },
  },
};

const BASE = {
  LANG: "C.UTF-8",
  TERM: "dumb",
  CI: "1",
  NO_COLOR: "1",
  DO_NOT_TRACK: "1",
  PATH: process.env.PATH ?? "",
};

/** Those that PATH has, or a variable such as PICOCLAW_BENCH_CODEX names; the others by name. */
export function findPeers(folder: string, url: string, workspace: string) {
  const found: Agent[] = [];
  const missing: string[] = [];
  for (const [name, { program, set }] of Object.entries(PEERS)) {
    const path = process.env[`PICOCLAW_BENCH_${program.toUpperCase()}`] ?? inPath(program);
    if (path === undefined) {
      missing.push(name);
      continue;
    }
    const home = join(folder, `home-${program}`);
    const { args, env: more = {}, instead } = set(home, url, workspace);
    const env = { ...BASE, HOME: home, ...more };
    const other = instead && { name: `${name}, ${instead.why}`, command: [path, ...instead.args], env };
    found.push({ name, command: [path, ...args], env, ...(other && { instead: other }) });
  }
  return { found, missing };
}

export function ourselves(folder: string, url: string): Agent {
  const home = join(folder, "home-picoclaw");
  mkdirSync(home, { recursive: true });
  const program = asPackage(join(folder, "package"));
  return {
    name: "picoclaw chat",
    command: [program, "chat", PROMPT],
    before: [program, "chat", "/new"],
    env: {
      ...BASE,
      HOME: home,
      PICOCLAW_HOME: join(home, ".picoclaw"),
      PICOCLAW_LOCALE: "en",
      ANTHROPIC_API_KEY: "none-at-all",
      PICOCLAW_PROVIDERS_CLAUDE_BASE_URL: url,
    },
  };
}

/**
 * The program as a package has it, as the others are: a checkout looks through its sources at each start, and its bundle
 * has the pieces of earlier builds beside its own, each of which a start finds.
 */
function asPackage(folder: string): string {
  const root = join(import.meta.dir, "..");
  if (findBundle() === null) return join(root, "bin/picoclaw");
  mkdirSync(join(folder, "bin"), { recursive: true });
  for (const name of ["node_modules", "package.json", "bunfig.toml", "tsconfig.json"])
    symlinkSync(join(root, name), join(folder, name));
  const dist = join(root, "dist");
  cpSync(dist, join(folder, "dist"), { recursive: true, filter: ownFileTest(dist) });
  const program = join(folder, "bin/picoclaw");
  copyFileSync(join(root, "bin/picoclaw"), program);
  return program;
}

function inPath(program: string): string | undefined {
  return (process.env.PATH ?? "")
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => path.startsWith("/") && existsSync(path));
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
