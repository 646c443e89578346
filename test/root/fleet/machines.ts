/**
 * Machines for tests: each is a network and a pid namespace with a home and a workspace of its own. What it may reach
 * beside the file system (the database, a channel's service) is forwarded to a port of its own loopback, so that
 * taking that down disconnects it from all others.
 */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Cli, createCli, PROGRAM, until } from "../../e2e/cli-kit.ts";

export type Close = () => Promise<unknown> | unknown;

export interface MachineOptions {
  readonly url: string;
  /** YAML below providers and roles. */
  readonly config?: string;
  readonly script: readonly object[];
  /** Ports of this machine's loopback, and the sockets they lead to. */
  readonly ports?: Readonly<Record<number, string>>;
  readonly env?: Readonly<Record<string, string>>;
  /** Where its home and workspace lie. */
  readonly under?: string;
}

export interface Started {
  readonly child: ChildProcess;
  readonly said: { out: string; err: string };
}

export interface Machine {
  readonly cli: Cli;
  /** A program in this machine. */
  run(argv: readonly string[], env?: Readonly<Record<string, string>>): ChildProcess;
  /** `join` or `serve`; resolves when it works, or has ended. */
  start(args?: readonly string[], env?: Readonly<Record<string, string>>): Promise<Started>;
  /** Disconnects it silently from all others, or reconnects it. */
  network(up: boolean): void;
  /** Ends every process of it at once, as a power cut does. */
  end(): void;
}

const ROLES = ["chat", "worker", "coder1", "coder2", "coder3"];
const FORWARD = join(import.meta.dir, "forward-child.ts");

/** Whether this user may make machines here. */
export function hasNamespaces(): boolean {
  const possible =
    process.getuid?.() === 0 && spawnSync("unshare", ["--net", "--pid", "--fork", "true"]).status === 0;
  if (!possible) console.error("skipped: unshare — run the suite as root on a machine with namespaces");
  return possible;
}

export async function openMachine(closing: Close[], options: MachineOptions): Promise<Machine> {
  const cli = createCli(options.under);
  closing.push(() => cli.remove());
  writeHome(cli, options);
  const flags = ["--net", "--pid", "--fork", "--mount-proc", "--kill-child"];
  const holder = spawn("unshare", [...flags, "sleep", "100000"], { stdio: "ignore" });
  closing.push(() => void holder.kill("SIGKILL"));
  const inside = await until(() => childrenOf(String(holder.pid))[0]);
  const enter = ["-t", inside, "-n", "-p", "-m"];
  const base = {
    PATH: process.env.PATH ?? "",
    HOME: join(cli.folder, "user"),
    PICOCLAW_HOME: cli.home,
    PICOCLAW_LOCALE: "en",
    ...options.env,
  };
  function run(argv: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
    const child = spawn("nsenter", [...enter, ...argv], {
      cwd: cli.workspace,
      env: { ...base, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    closing.push(() => signalTree(child, "SIGKILL"));
    return child;
  }
  const network = (up: boolean) => {
    const set = spawnSync("nsenter", ["-t", inside, "-n", "ip", "link", "set", "lo", up ? "up" : "down"]);
    if (set.status !== 0) throw new Error(`ip: ${set.stderr}`);
  };
  network(true);
  for (const [port, socket] of Object.entries(options.ports ?? {})) {
    const forward = run([process.execPath, "--no-env-file", FORWARD, port, socket]);
    await new Promise((resolve) => forward.stdout?.once("data", resolve));
  }
  return {
    cli,
    run,
    network,
    end: () => void holder.kill("SIGKILL"),
    async start(args = ["join"], env = {}) {
      const child = run([PROGRAM, ...args, "--workspace", cli.workspace, "--json"], env);
      const said = { out: "", err: "" };
      child.stdout?.on("data", (data) => {
        said.out += String(data);
      });
      child.stderr?.on("data", (data) => {
        said.err += String(data);
      });
      await until(() => said.out.includes("\n") || child.exitCode !== null);
      return { child, said };
    },
  };
}

function writeHome({ home }: Cli, { url, config = "", script }: MachineOptions): void {
  mkdirSync(home, { recursive: true });
  const roles = ROLES.map((role) => `  ${role}: { provider: demo, model: demo }`).join("\n");
  const provider = "  demo: { type: scripted, model: demo, script: script.json, local: true }";
  writeFileSync(
    join(home, "config.yaml"),
    `providers:\n${provider}\nroles:\n${roles}\ndatabase_url: "${url}"\nchecks: { enabled: never }\n${config}`,
  );
  writeFileSync(join(home, "script.json"), JSON.stringify({ answers: script }));
}

/**
 * All processes that `nsenter` started: its children are processes of the namespace. Killed with them, it might leave a zombie to
 * this process, for which the end of the namespace would wait; it ends by itself when its child has ended.
 */
export function signalTree(child: ChildProcess, signal: NodeJS.Signals): void {
  // The pid of an ended process may belong to another one by now.
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const of = (pid: string): string[] => childrenOf(pid).flatMap((one) => [...of(one), one]);
  const started = of(String(child.pid));
  const isEnough = signal === "SIGKILL" && started.length > 0;
  for (const pid of isEnough ? started : [...started, String(child.pid)])
    try {
      process.kill(Number(pid), signal);
    } catch {
      // It is gone already.
    }
}

function childrenOf(pid: string): string[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
      .trim()
      .split(" ")
      .filter((one) => one !== "");
  } catch {
    return [];
  }
}
