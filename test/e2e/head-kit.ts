/** Stub agents that speak the streams of the real ones, on the PATH of the real program. */
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { ChatCli } from "../application/chat/chat-kit.ts";
import { QUICK_NODE_PATH } from "../quick-npm.ts";
import { createNodeProject, type NodeProject } from "./node-project.ts";

/** One turn of a stub. */
export interface StubTurn {
  /** Shell lines, run one after the other in the folder where the stub runs. */
  readonly sh?: readonly string[];
  readonly text?: string;
  /** Says so and ends, in its own words. */
  readonly fails?: string;
  /** Asks no server. */
  readonly offline?: boolean;
  /** Bytes that it prints as one line that never ends. */
  readonly floods?: number;
  /** Waits without end when it has done the rest. */
  readonly hangs?: boolean;
  /** Of the ACP stub: how often it asks for permission. */
  readonly asks?: number;
}

/** A stub is run by the runtime of this checkout: Node takes longer to start than all of its turn. */
const BY_RUNTIME = `#!/usr/bin/env -S ${process.execPath} --no-env-file --config=/dev/null --no-install`;

/** The stubs' common part: their turns lie beside them, and how many were played is kept in their home. */
const SHARED = `
const fs = require("node:fs"), path = require("node:path"), http = require("node:http");
const { spawnSync } = require("node:child_process");
const turns = JSON.parse(fs.readFileSync(path.join(__dirname, "turns.json"), "utf8"));
const own = path.join(process.env.HOME, ".stub");
fs.mkdirSync(own, { recursive: true });
const count = path.join(own, "count");
const n = fs.existsSync(count) ? Number(fs.readFileSync(count, "utf8")) : 0;
fs.writeFileSync(count, String(n + 1));
const turn = turns[Math.min(n, turns.length - 1)];
const out = (event) => fs.writeSync(1, JSON.stringify(event) + "\\n");
const runs = (line) => spawnSync("sh", ["-c", line], { stdio: ["ignore", "pipe", "pipe"], encoding: "utf8" });
const sleep = () => setInterval(() => {}, 1000);
function ask(base, urlPath, headers, body) {
  return new Promise((done) => {
    const url = new URL(base.replace(/\\/$/, "") + urlPath);
    const request = http.request(url, { method: "POST", headers: { "content-type": "application/json", ...headers } }, (response) => {
      response.resume();
      response.on("end", () => done(response.statusCode));
    });
    request.on("error", (error) => done(String(error.code)));
    request.end(JSON.stringify(body));
  });
}
`;

const CLAUDE = `${BY_RUNTIME}
${SHARED}
const argv = process.argv.slice(2);
const at = (name) => (argv.includes(name) ? argv[argv.indexOf(name) + 1] : "");
const session_id = at("--resume") || at("--session-id");
const known = path.join(own, "session-" + session_id);
const prompt = fs.readFileSync(0, "utf8");
(async () => {
  if (at("--resume") && !fs.existsSync(known)) {
    fs.writeSync(2, "No conversation found with session ID: " + session_id + "\\n");
    process.exit(1);
  }
  fs.appendFileSync(known, prompt + "\\n---\\n");
  out({ type: "system", subtype: "init", cwd: process.cwd(), session_id, permissionMode: "bypassPermissions" });
  const key = process.env.ANTHROPIC_API_KEY || process.env.CLAUDE_CODE_OAUTH_TOKEN || "";
  const status = turn.offline ? 200 : await ask(process.env.ANTHROPIC_BASE_URL, "/v1/messages", { "x-api-key": key, "x-args": argv.join(" ") }, { prompt });
  if (status !== 200) {
    for (let i = 0; i < 3; i++) out({ type: "system", subtype: "api_retry", error_status: status, error: "authentication_error", session_id });
    out({ type: "result", subtype: "success", is_error: true, result: "API Error: " + status, session_id, usage: {} });
    process.exit(1);
  }
  for (const line of turn.sh ?? []) {
    out({ type: "assistant", message: { content: [{ type: "tool_use", id: "t", name: "Bash", input: { command: line } }] }, session_id });
    const ran = runs(line);
    out({ type: "user", message: { content: [{ type: "tool_result", tool_use_id: "t", content: ran.stdout + ran.stderr, is_error: ran.status !== 0 }] }, session_id });
  }
  for (let left = turn.floods ?? 0; left > 0; left -= 65536) fs.writeSync(1, "x".repeat(65536));
  if (turn.hangs) return sleep();
  const text = turn.fails ?? turn.text ?? "done";
  out({ type: "assistant", message: { content: [{ type: "text", text }] }, session_id });
  out({ type: "result", subtype: "success", is_error: turn.fails !== undefined, result: text, session_id, total_cost_usd: 0.01, usage: { input_tokens: 100, output_tokens: 10 } });
})();
`;

const CODEX = `${BY_RUNTIME}
${SHARED}
const argv = process.argv.slice(2);
const resume = argv.includes("resume") ? argv[argv.indexOf("resume") + 1] : "";
const thread_id = resume || "0199-stub-" + n;
const prompt = fs.readFileSync(0, "utf8");
const settings = argv.filter((_, i) => argv[i - 1] === "-c").join(" ");
(async () => {
  out({ type: "thread.started", thread_id });
  out({ type: "turn.started" });
  const login = path.join(process.env.HOME, ".codex/auth.json");
  const tokens = fs.existsSync(login) ? JSON.parse(fs.readFileSync(login, "utf8")).tokens : null;
  const base = /base_url="([^"]+)"/.exec(settings)[1];
  const headers = tokens ? { authorization: "Bearer " + tokens.access_token, "chatgpt-account-id": tokens.account_id } : { authorization: "Bearer " + process.env.CODEX_API_KEY };
  const status = await ask(base, "/responses", { ...headers, "x-args": argv.join(" ").replace(/[^\\x20-\\x7e]/g, "") }, { prompt });
  if (status !== 200) {
    for (let i = 0; i < 3; i++) out({ type: "error", message: "unexpected status " + status + " Unauthorized" });
    out({ type: "turn.failed", error: { message: "unexpected status " + status } });
    process.exit(1);
  }
  let i = 0;
  for (const line of turn.sh ?? []) {
    const item = { id: "item_" + i++, type: "command_execution", command: line, aggregated_output: "", exit_code: null, status: "in_progress" };
    out({ type: "item.started", item });
    const ran = runs(line);
    out({ type: "item.completed", item: { ...item, aggregated_output: ran.stdout, exit_code: ran.status, status: ran.status === 0 ? "completed" : "failed" } });
  }
  out({ type: "item.completed", item: { id: "item_" + i, type: "agent_message", text: turn.text ?? "done" } });
  out({ type: "turn.completed", usage: { input_tokens: 200, cached_input_tokens: 0, output_tokens: 20 } });
})();
`;

const GEMINI = `${BY_RUNTIME}
${SHARED}
const argv = process.argv.slice(2);
const session_id = argv.includes("--resume") ? argv[argv.indexOf("--resume") + 1] : "gemini-stub-" + n;
const prompt = fs.readFileSync(0, "utf8");
(async () => {
  const settings = JSON.parse(fs.readFileSync(path.join(process.env.HOME, ".gemini/settings.json"), "utf8"));
  if (!settings.security?.auth?.selectedType) {
    fs.writeSync(2, "Invalid auth method selected.\\n");
    process.exit(41);
  }
  fs.writeSync(1, "Warning: something before the stream\\n");
  out({ type: "init", timestamp: "t", session_id, model: "gemini-2.5-pro" });
  out({ type: "message", timestamp: "t", role: "user", content: prompt });
  await ask(process.env.GOOGLE_GEMINI_BASE_URL, "/v1beta/models/x:streamGenerateContent", { "x-goog-api-key": process.env.GEMINI_API_KEY, "x-args": argv.join(" ") }, { prompt });
  for (const line of turn.sh ?? []) {
    out({ type: "tool_use", timestamp: "t", tool_name: "run_shell_command", tool_id: "a", parameters: { command: line } });
    const ran = runs(line);
    out({ type: "tool_result", timestamp: "t", tool_id: "a", status: ran.status === 0 ? "success" : "error", output: ran.stdout });
  }
  out({ type: "message", timestamp: "t", role: "assistant", content: turn.text ?? "done", delta: true });
  out({ type: "result", timestamp: "t", status: "success", stats: { total_tokens: 30, input_tokens: 25, output_tokens: 5 } });
})();
`;

const ACP = `${BY_RUNTIME}
${SHARED}
const lines = require("node:readline").createInterface({ input: process.stdin });
const send = (message) => out({ jsonrpc: "2.0", ...message });
const update = (sessionId, update) => send({ method: "session/update", params: { sessionId, update } });
const waiting = new Map();
let next = 1000;
const call = (method, params) => new Promise((done) => { const id = next++; waiting.set(id, done); send({ id, method, params }); });
const sessions = path.join(own, "sessions");
lines.on("line", async (line) => {
  const { id, method, params, result, error } = JSON.parse(line);
  if (method === undefined) return void waiting.get(id)?.(result ?? error);
  if (method === "initialize") {
    fs.writeFileSync(path.join(own, "capabilities"), JSON.stringify(params.clientCapabilities));
    return send({ id, result: { protocolVersion: 1, agentCapabilities: { loadSession: true } } });
  }
  if (method === "session/new") {
    fs.appendFileSync(sessions, "stub-session\\n");
    return send({ id, result: { sessionId: "stub-session", modes: { currentModeId: "ask", availableModes: [{ id: "ask", name: "Ask" }] } } });
  }
  if (method === "session/load") {
    if (!fs.existsSync(sessions)) return send({ id, error: { code: -32602, message: "Invalid session identifier" } });
    update(params.sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "told before" } });
    return send({ id, result: {} });
  }
  if (method !== "session/prompt") return send({ id, error: { code: -32601, message: "no" } });
  const { sessionId } = params;
  update(sessionId, { sessionUpdate: "plan", entries: [{ content: "look", status: "completed", priority: "high" }, { content: "write", status: "in_progress", priority: "high" }] });
  const refusedFs = await call("fs/write_text_file", { sessionId, path: process.cwd() + "/by-client.txt", content: "x" });
  fs.writeFileSync(path.join(own, "fs-answer"), JSON.stringify(refusedFs));
  for (let i = 0; i < (turn.asks ?? 1); i++) {
    const answer = await call("session/request_permission", { sessionId, toolCall: { toolCallId: "c" }, options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }, { optionId: "no", name: "No", kind: "reject_once" }] });
    fs.writeFileSync(path.join(own, "permission"), JSON.stringify(answer));
  }
  for (const command of turn.sh ?? []) {
    update(sessionId, { sessionUpdate: "tool_call", toolCallId: "c", title: command, kind: "execute", status: "in_progress", rawInput: { command } });
    runs(command);
  }
  update(sessionId, { sessionUpdate: "agent_message_chunk", content: { type: "text", text: turn.text ?? "done" } });
  send({ id, result: { stopReason: "end_turn" } });
  // It waits for another turn, as real ones do.
});
process.on("SIGTERM", () => {});
sleep();
`;

export interface AskedServer {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface HeadProject extends Omit<NodeProject, "script" | "files"> {
  readonly files?: NodeProject["files"];
  /** Of every stub, in order; the last one is played again. */
  readonly turns: readonly StubTurn[];
  readonly stubs?: readonly ("claude" | "codex" | "gemini" | "agent")[];
  /** Answers of the server before its limit (429); none where it is absent. */
  readonly limit?: number;
}

/** The program on a project, stubs on its PATH, and the server that their keys are for. */
export async function createHeadProject({
  turns,
  config,
  check,
  files,
  stubs = ["claude"],
  limit = Number.POSITIVE_INFINITY,
}: HeadProject) {
  const cli: ChatCli = createNodeProject({
    script: [],
    ...(config !== undefined && { config }),
    ...(check !== undefined && { check }),
    files: files ?? { "a.txt": "one\n", "test/a.test.mjs": PASSES },
  });
  const bin = join(cli.folder, "bin");
  mkdirSync(bin);
  const sources = { claude: CLAUDE, codex: CODEX, gemini: GEMINI, agent: ACP };
  for (const name of stubs) {
    writeFileSync(join(bin, name), sources[name]);
    chmodSync(join(bin, name), 0o755);
  }
  const plays = (list: readonly StubTurn[]) => writeFileSync(join(bin, "turns.json"), JSON.stringify(list));
  plays(turns);
  const asked: AskedServer[] = [];
  const server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => {
      body += String(piece);
    });
    request.on("end", () => {
      asked.push({ url: request.url ?? "", headers: request.headers, body });
      const key = `${request.headers["x-api-key"]}${request.headers.authorization}${request.headers["x-goog-api-key"]}`;
      response.writeHead(!key.includes("real-") ? 401 : asked.length > limit ? 429 : 200).end("{}");
    });
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const env = {
    PATH: `${bin}:${QUICK_NODE_PATH}`,
    ANTHROPIC_BASE_URL: address,
    ANTHROPIC_API_KEY: "real-claude-key-0123456789",
    GOOGLE_GEMINI_BASE_URL: address,
    GEMINI_API_KEY: "real-gemini-key-0123456789",
    CODEX_API_KEY: "real-codex-key-0123456789",
    TMPDIR: cli.folder,
  };
  return {
    ...cli,
    asked,
    address,
    env,
    plays,
    send: (message: string, more: Readonly<Record<string, string>> = {}, args: readonly string[] = []) =>
      cli.runAsync(["chat", ...args, "--", message], { ...env, ...more }),
    /** Files in the homes of heads, by their paths, with their texts. */
    headHome(): Record<string, string> {
      const found: Record<string, string> = {};
      for (const entry of readdirSync(cli.folder, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name);
        const inside = /\/heads\/[^/]+\/home\/[^/]+\/u\/(.*)$/.exec(path)?.[1];
        if (inside !== undefined && entry.isFile()) found[inside] = readFileSync(path, "utf8");
      }
      return found;
    },
    async remove() {
      await new Promise((done) => server.close(done));
      cli.remove();
    },
  };
}

export type HeadCli = Awaited<ReturnType<typeof createHeadProject>>;

const PASSES = `import { test } from "node:test";
import assert from "node:assert";
import { readFileSync } from "node:fs";
test("a.txt has a line", () => assert.match(readFileSync("a.txt", "utf8"), /^[a-z]+\\n/));
`;
