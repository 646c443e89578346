import type { WorkerProgress } from "../../../application/ports/heads.ts";
import {
  listAt,
  numberAt,
  objectAt,
  readJsonLines,
  readTrouble,
  type StreamEvent,
  type StreamReader,
  textAt,
  type WorkerKind,
} from "./worker-kind.ts";

const EDITS = new Set(["Edit", "MultiEdit", "Write", "NotebookEdit"]);

/** `--verbose` is what `stream-json` asks for. As root it refuses to skip permissions unless a variable says that it is in a sandbox. */
export const claudeCode: WorkerKind = {
  name: "claude-code",
  aliases: ["claude-code-cli"],
  image: "agent-runner-claude",
  argv: ["claude", "-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"],
  env: {
    IS_SANDBOX: "1",
    DISABLE_AUTOUPDATER: "1",
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
  },
  credentials: [
    { path: ".claude/.credentials.json", isLogin: true },
    { path: ".config/claude/.credentials.json", isLogin: true },
    { path: ".config/claude", isLogin: false },
    { path: ".claude.json", isLogin: false },
    { path: ".claude/settings.json", isLogin: false },
  ],
  leftOut: ["projects", "todos", "logs", "shell-snapshots", "statsig"].map(
    (name) => `.config/claude/${name}`,
  ),
  keyVariables: ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "ANTHROPIC_AUTH_TOKEN"],
  plainVariables: ["ANTHROPIC_BASE_URL"],
  route: ({ env }) => ({
    upstream: env.ANTHROPIC_BASE_URL ?? "https://api.anthropic.com",
    lead: (base) => ({ env: { ANTHROPIC_BASE_URL: base }, argv: claudeCode.argv }),
  }),
  // Settings of a repository may send the CLI, and its key, to a server of their choice.
  inSession: (argv, { id, resumes, isTrusted, isContestant }) => [
    ...argv,
    ...(isContestant ? ["--disallowedTools", "WebSearch,WebFetch"] : []),
    resumes ? "--resume" : "--session-id",
    id,
    "--setting-sources",
    isTrusted ? "user,project,local" : "user",
  ],
  asks: /^\/v1\/messages(?:\/count_tokens)?(?:\?|$)/,
  createReader,
};

function createReader(): StreamReader {
  let summary = "";
  let error: string | null = null;
  let sessionId = "";
  let usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  /** Edits by the id of their call, until their result says that they were done. */
  const pending = new Map<string, string>();
  const changed = new Set<string>();

  function onContent(block: StreamEvent): WorkerProgress[] {
    if (block.type === "text") {
      summary = textAt(block, "text");
      return [{ kind: "text", text: summary }];
    }
    if (block.type !== "tool_use") return [];
    const name = textAt(block, "name");
    const input = objectAt(block, "input");
    if (name === "Bash") return [{ kind: "command", command: textAt(input, "command") }];
    if (!EDITS.has(name)) return [{ kind: "tool", name }];
    const path = textAt(input, "file_path") || textAt(input, "notebook_path");
    pending.set(textAt(block, "id"), path);
    return [{ kind: "edit", path }];
  }

  function onResult(block: StreamEvent): void {
    const path = pending.get(textAt(block, "tool_use_id"));
    if (path !== undefined && block.is_error !== true) changed.add(path);
  }

  return readJsonLines({
    on(event) {
      sessionId = textAt(event, "session_id") || sessionId;
      switch (event.type) {
        case "assistant":
          return listAt(objectAt(event, "message"), "content").flatMap(onContent);
        case "user":
          for (const block of listAt(objectAt(event, "message"), "content"))
            if (block.type === "tool_result") onResult(block);
          return [];
        case "system":
          if (event.subtype !== "api_retry") return [];
          return [
            readTrouble(`${numberAt(event, "error_status") || "connection error"} ${textAt(event, "error")}`),
          ];
        case "result": {
          const said = objectAt(event, "usage");
          const cached =
            numberAt(said, "cache_creation_input_tokens") + numberAt(said, "cache_read_input_tokens");
          usage = {
            inputTokens: numberAt(said, "input_tokens") + cached,
            outputTokens: numberAt(said, "output_tokens"),
            costUsd: numberAt(event, "total_cost_usd"),
          };
          summary = textAt(event, "result") || summary;
          error = event.is_error === true ? summary || textAt(event, "subtype") : null;
          return error === null
            ? []
            : [readTrouble(`${numberAt(event, "api_error_status") || ""} ${error}`.trim())];
        }
        default:
          return [];
      }
    },
    end: () => ({ summary, error, usage, saidChanged: [...changed], sessionId }),
  });
}
