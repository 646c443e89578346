import { cutMiddle } from "../../domain/texts/format-text.ts";
import type { ModelTool } from "../ports/models.ts";
import type { WebReader } from "../ports/sandbox.ts";
import type { BackgroundProcess, WorkspaceProcesses } from "../ports/sandbox-processes.ts";
import { isUp, wordLog, wordProcessList, wordStarted, wordStopped } from "../sandbox/process-report.ts";
import type { ToolGroup, ToolOutcome } from "./chat-turn.ts";

interface ProcessToolsDeps {
  readonly processes: () => Promise<WorkspaceProcesses>;
  /** Reads pages of the workspace's own processes only. */
  readonly web: () => Promise<WebReader>;
  readonly now: () => Date;
  readonly readOnly: boolean;
}

const PROCESS: ModelTool = {
  name: "process",
  description:
    "Background processes of the workspace that outlive this message: a dev server, a watcher, a database. They run in the real folder; what they write there cannot be undone. fetch reads a page from one by name and path. Do not start commands that finish by themselves.",
  parameters: {
    type: "object",
    properties: {
      action: { type: "string", enum: ["list", "start", "log", "fetch", "restart", "stop"] },
      name: { type: "string", description: "The process; start: a short name for it" },
      command: { type: "string", description: "start: one line for bash, in the foreground" },
      port: { type: "integer", description: "start: the port to listen on, passed to it as PORT" },
      restart_on_landing: {
        type: "boolean",
        description: "start: restart it after each applied change",
      },
      over: {
        type: "string",
        description: "start: the job id of a preview to run on, instead of the real folder",
      },
      path: { type: "string", description: "fetch: such as /api/health; / by default" },
      lines: { type: "integer", description: "log: how many of the last lines; 50 by default" },
    },
    required: ["action"],
  },
};

const PAGE_CHARS = 8_000;
const MOST_LINES = 400;

function createProcessTools(deps: ProcessToolsDeps): ToolGroup {
  return {
    tools: [PROCESS],
    call(name, args, signal) {
      if (name !== PROCESS.name) return null;
      return callProcess(deps, typeof args === "object" && args !== null ? (args as Given) : {}, signal);
    },
  };
}

export interface ProcessesDoor {
  open(): Promise<WorkspaceProcesses>;
  openTools(readOnly: boolean): Promise<ToolGroup>;
  isOwnPort(port: number): Promise<boolean>;
}

export interface ProcessesDoorDeps {
  readonly open: () => WorkspaceProcesses;
  /** Reads pages at ports of which the answer is yes, and no others. */
  readonly openPages: (isOwnPort: ProcessesDoor["isOwnPort"]) => Promise<WebReader>;
  readonly isDenied: (tool: string) => Promise<boolean>;
  readonly writeScope: string;
  readonly now: () => Date;
}

export function createProcessesDoor(deps: ProcessesDoorDeps): ProcessesDoor {
  const open = async () => deps.open();
  const isOwnPort = async (port: number) => {
    const processes = await deps.open().list();
    return processes.some(({ ports }) => ports.includes(port));
  };
  return {
    open,
    isOwnPort,
    async openTools(readOnly) {
      // A user who may not run a command may not run one in the background either.
      const isDenied = (await deps.isDenied(PROCESS.name)) || (await deps.isDenied("execute_command"));
      return createProcessTools({
        processes: open,
        web: () => deps.openPages(isOwnPort),
        now: deps.now,
        readOnly: readOnly || isDenied || deps.writeScope === "read-only",
      });
    },
  };
}

type Given = Readonly<Record<string, unknown>>;

async function callProcess(deps: ProcessToolsDeps, given: Given, signal: AbortSignal): Promise<ToolOutcome> {
  const { action } = given;
  const name = typeof given.name === "string" ? given.name : "";
  if (deps.readOnly && (action === "start" || action === "restart" || action === "stop"))
    return {
      ok: false,
      text: "nothing may be started or ended here: this is a preview or dry mode, or the tool policy forbids it",
    };
  const processes = await deps.processes();
  switch (action) {
    case "list":
      return { ok: true, text: wordProcessList(await processes.list(), "en", deps.now()) };
    case "start": {
      const { port, command, over, restart_on_landing: restarts } = given;
      const started = await processes.start({
        command: typeof command === "string" ? command : "",
        startedBy: "model",
        restartsOnLanding: restarts === true,
        ...(name !== "" && { name }),
        ...(typeof port === "number" && { port }),
        ...(typeof over === "string" && over !== "" && { over }),
      });
      return report(
        started.ok,
        wordStarted(started, "en", { where: "chat" }),
        started.ok ? started.process : null,
      );
    }
    case "restart": {
      const started = await processes.restart(name);
      const text = wordStarted(started, "en", { where: "chat", again: true });
      return report(started.ok, text, started.ok ? started.process : null);
    }
    case "stop": {
      const stopped = await processes.stop(name);
      return report(
        stopped.status === "stopped",
        wordStopped(stopped, "en"),
        "process" in stopped ? stopped.process : null,
      );
    }
    case "log": {
      const lines = Math.min(MOST_LINES, Math.max(1, Math.floor(Number(given.lines ?? 50)) || 50));
      const log = await processes.log(name, lines);
      return log === null ? unknown(name) : { ok: true, text: wordLog(log, "en") };
    }
    case "fetch":
      return fetchPage(
        deps,
        processes,
        { name, path: typeof given.path === "string" ? given.path : "/" },
        signal,
      );
    default:
      return { ok: false, text: "process needs an action: list, start, log, fetch, restart or stop" };
  }
}

function report(ok: boolean, text: string, process: BackgroundProcess | null): ToolOutcome {
  return { ok, text, ...(process !== null && { process: process.name }) };
}

function unknown(name: string): ToolOutcome {
  return { ok: false, text: `there is no process ${name}; action list shows them` };
}

async function fetchPage(
  deps: ProcessToolsDeps,
  processes: WorkspaceProcesses,
  { name, path }: { readonly name: string; readonly path: string },
  signal: AbortSignal,
): Promise<ToolOutcome> {
  const list = await processes.list();
  const process = name === "" ? list.find(isUp) : list.find((one) => one.name === name);
  if (process === undefined) return unknown(name);
  const [first] = process.ports;
  const port = process.port !== null && process.ports.includes(process.port) ? process.port : first;
  if (port === undefined) return { ok: false, text: `${process.name} listens on no port` };
  const url = new URL(`http://127.0.0.1:${port}/`);
  const [pathname = "", query] = path.split("?", 2);
  url.pathname = pathname;
  if (query !== undefined) url.search = query;
  const read = await (await deps.web()).read(url.href, signal);
  if (!read.ok) return { ok: false, text: `${url.href}: ${read.why} ${read.detail}` };
  return {
    ok: read.status < 400,
    text: `${read.url} (${read.status})\n\n${cutMiddle(read.text, PAGE_CHARS)}`,
  };
}
