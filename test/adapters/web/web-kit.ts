/** `picoclaw serve` as a real process, and a browser's or a program's way to it. */
import type { ChildProcess } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ScriptEntry } from "../../application/chat/chat-kit.ts";
import { createCli, until } from "../../e2e/cli-kit.ts";

export interface ServeOptions {
  readonly script?: readonly ScriptEntry[];
  /** YAML below providers and roles. */
  readonly config?: string;
  /** YAML of further providers. */
  readonly providers?: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** Where its home and workspace lie. */
  readonly under?: string;
}

/** Whether a process runs; on a machine without /proc no process does. */
export function lives(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

function childrenOf(pid: number): readonly number[] {
  try {
    const pids = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    return pids.split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];

export async function createServer(options: ServeOptions = {}) {
  const cli = createCli(options.under);
  mkdirSync(cli.home, { recursive: true });
  const configure = (config: string) =>
    writeFileSync(
      join(cli.home, "config.yaml"),
      `providers:\n  demo: { type: scripted, model: demo, script: script.json, local: true }\n${options.providers ?? ""}roles:\n${ROLES.map(
        (role) => `  ${role}: { provider: demo, model: demo }`,
      ).join("\n")}\n${config}`,
    );
  configure(options.config ?? "");
  const answers = options.script ?? [{ text: "re: {{message}}" }];
  writeFileSync(join(cli.home, "script.json"), JSON.stringify({ answers }));
  const running: { child?: ChildProcess; err: string } = { err: "" };

  async function start() {
    const child = cli.start(["serve", "--port", "0", "--json", ...(options.args ?? [])], options.env);
    running.child = child;
    running.err = "";
    let out = "";
    child.stdout?.on("data", (data) => {
      out += String(data);
    });
    child.stderr?.on("data", (data) => {
      running.err += String(data);
    });
    await until(() => out.includes("\n") || child.exitCode !== null);
    if (!out.includes("\n")) throw new Error(`serve ended: ${running.err}`);
    return JSON.parse(out) as { url: string; login: string; demo: boolean };
  }

  const stop = async (signal: NodeJS.Signals = "SIGTERM") => {
    const { child } = running;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    const hands = childrenOf(child.pid ?? 0);
    child.kill(signal);
    await ended;
    // A hand writes into the home until it has ended, too.
    await until(() => !hands.some(lives));
  };

  return {
    ...cli,
    configure,
    ...(await start()),
    restart: start,
    stop,
    pid: () => running.child?.pid ?? 0,
    /** Its exit code, once it ends by itself. */
    ended: () =>
      new Promise<number | null>((resolve) => {
        const { child } = running;
        if (child === undefined || child.exitCode !== null) resolve(child?.exitCode ?? null);
        else child.once("exit", resolve);
      }),
    errors: () => running.err,
    run: cli.run,
    token: (...args: string[]) => {
      const made = cli.run(["serve", "token", "create", "test", "--json", ...args]);
      return (JSON.parse(made.out) as { token: string }).token;
    },
    link: (url: string, ...args: string[]) => {
      const made = cli.run(["serve", "link", "--json", "--port", new URL(url).port, ...args]);
      return (JSON.parse(made.out) as { login: string }).login;
    },
    async close() {
      // A demo takes its folder away when it is let.
      await stop(options.args?.includes("--demo") === true ? "SIGTERM" : "SIGKILL");
      cli.remove();
    },
  };
}

export type Server = Awaited<ReturnType<typeof createServer>>;

/** A browser without a screen: cookies, forms with their CSRF token, no following of redirects. */
export async function signIn(login: string) {
  const { origin } = new URL(login);
  const cookies = new Map<string, string>();
  const request = async (path: string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    headers.set("cookie", [...cookies].map(([name, value]) => `${name}=${value}`).join("; "));
    headers.set("accept-language", headers.get("accept-language") ?? "en");
    const response = await fetch(path.startsWith("http") ? path : `${origin}${path}`, {
      redirect: "manual",
      ...init,
      headers,
    });
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    return response;
  };
  const first = await request(login, { method: "POST" });
  const page = await (await request("/jobs")).text();
  const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? "";
  return {
    first,
    csrf,
    cookies,
    get: (path: string, headers: Record<string, string> = {}) => request(path, { headers }),
    text: async (path: string) => (await request(path)).text(),
    post: (
      path: string,
      fields: Readonly<Record<string, string>> = {},
      headers: Record<string, string> = {},
    ) => request(path, { method: "POST", body: new URLSearchParams({ csrf, ...fields }), headers }),
  };
}

export type Visitor = Awaited<ReturnType<typeof signIn>>;
