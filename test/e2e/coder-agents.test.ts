/** Sub-agents through the real program: seen and stopped from another process, and gone with a killed one. */
import { afterEach, expect, test } from "bun:test";
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { type ChatCli, createChatCli, proposal } from "../application/chat/chat-kit.ts";
import { requirePart } from "../require.ts";
import { until } from "./cli-kit.ts";

const SUB_AGENT = "You are a sub-agent";
const script = [
  { when: { system: SUB_AGENT, message: "/answer me$/" }, delay_ms: 120_000, text: "late" },
  {
    when: { system: SUB_AGENT, message: "/write it$/" },
    text: proposal("p", "```bash\nsleep 300 & sleep 300\n```"),
  },
  {
    when: { role: "coder3", step: 0 },
    tool_calls: [
      { name: "delegate", arguments: { task: "answer me" } },
      { name: "delegate", arguments: { task: "write it", write: true } },
    ],
  },
  { when: { role: "coder3" }, text: "No change: Both were stopped." },
];

let cli: ChatCli;
let child: ChildProcess;
afterEach(async () => {
  if (child.exitCode === null && child.signalCode === null) {
    const end = new Promise((resolve) => child.once("close", resolve));
    child.kill("SIGKILL");
    await end;
  }
  cli.remove();
});

interface LiveAgent {
  readonly id: string;
  readonly task: string;
  readonly doing: string;
}

const liveAgents = () => cli.json(cli.run(["jobs", "--live", "--json"])).agents as LiveAgent[];

/** The two of them, once one waits for its model and the other runs a command. */
function begin(): Promise<readonly LiveAgent[]> {
  cli = createChatCli(script);
  cli.write("a.txt", "one\n");
  child = cli.start(["chat", "/code3 go with sub-agents"]);
  return until(() => {
    const agents = liveAgents();
    const isRunning = agents.some(({ doing }) => doing.startsWith("$ sleep"));
    return agents.length === 2 && isRunning ? agents : undefined;
  });
}

/** Processes that carry the mark of a job of this workspace. */
function processesLeft(): number {
  return readdirSync("/proc").filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/environ`, "utf8").includes(`HOME=${cli.folder}`);
    } catch {
      return false;
    }
  }).length;
}

const isPossible = process.platform === "linux" && requirePart("bwrap");

test.if(isPossible)(
  "each is listed by another process and stopped there alone; the coder continues",
  async () => {
    const agents = await begin();
    // They begin beside each other; their order in the list is not defined.
    expect(agents.map(({ task }) => task).sort()).toEqual(["answer me", "write it"]);
    const out: string[] = [];
    child.stdout?.on("data", (text) => out.push(String(text)));
    const end = new Promise<number | null>((resolve) => child.once("close", resolve));
    for (const { id } of agents) expect(cli.run(["stop", id]).code).toBe(0);
    expect(await end).toBe(0);
    expect(out.join("")).toContain("Both were stopped.");
    expect(cli.run(["stop", `${agents[0]?.id}9`]).code).not.toBe(0);
    expect(cli.tree()).toEqual({ "a.txt": "one\n" });
  },
);

test.if(isPossible)("a killed program leaves no process of theirs, no mount and no change", async () => {
  await begin();
  const end = new Promise((resolve) => child.once("close", resolve));
  child.kill("SIGKILL");
  await end;
  await until(() => (processesLeft() === 0 ? true : undefined));
  expect(readFileSync("/proc/self/mounts", "utf8")).not.toContain(cli.folder);
  expect(liveAgents()).toEqual([]);
  expect(cli.tree()).toEqual({ "a.txt": "one\n" });
});
