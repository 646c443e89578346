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

/** Its own sandbox cannot start under Docker's seccomp, and the container is one. */
export const codexCli: WorkerKind = {
  name: "codex-cli",
  aliases: [],
  image: "agent-runner-codex",
  argv: [
    "codex",
    "exec",
    "--json",
    "--dangerously-bypass-approvals-and-sandbox",
    "--skip-git-repo-check",
    "-",
  ],
  env: {},
  credentials: [
    { path: ".codex/auth.json", isLogin: true },
    { path: ".codex/config.toml", isLogin: false },
  ],
  leftOut: [],
  keyVariables: ["CODEX_API_KEY", "OPENAI_API_KEY"],
  plainVariables: [],
  route({ textOf }) {
    const { key, url } = providerIn(textOf(".codex/config.toml") ?? "");
    const [program, command, ...rest] = codexCli.argv as [string, string, ...string[]];
    return {
      upstream: url,
      lead: (base) => ({
        env: {},
        argv: [program, command, "-c", `${key}=${JSON.stringify(base)}`, ...rest],
      }),
    };
  },
  inSession: (argv, { id, resumes, isContestant }) => [
    argv[0],
    ...argv.slice(1, -1),
    ...(isContestant ? ["-c", 'web_search="disabled"'] : []),
    ...(resumes ? ["resume", id] : []),
    ...argv.slice(-1),
  ],
  asks: /^\/(?:responses|models|chat\/completions)(?:[/?]|$)/,
  createReader,
};

/** The server that the settings name, and under which of their keys: OpenAI's, or that of a provider of the user's own. */
function providerIn(toml: string): { readonly key: string; readonly url: string } {
  const top = toml.split(/^\s*\[/m)[0] ?? "";
  const settingIn = (name: string, text: string) =>
    new RegExp(`^\\s*${name}\\s*=\\s*["']([^"'\\n]+)["']`, "m").exec(text)?.[1];
  const provider = settingIn("model_provider", top) ?? "openai";
  const section = toml.split(/^\s*(?=\[)/m).find((one) => {
    const head = /^\[\s*model_providers\s*\.\s*["']?([^"'\]\s]+)/.exec(one)?.[1];
    return head === provider;
  });
  const own = section && settingIn("base_url", section);
  if (own !== undefined) return { key: `model_providers.${provider}.base_url`, url: own };
  return { key: "openai_base_url", url: settingIn("openai_base_url", top) ?? "https://api.openai.com/v1" };
}

function createReader(): StreamReader {
  let summary = "";
  let error: string | null = null;
  let sessionId = "";
  const usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  const changed = new Set<string>();

  function onItem(item: StreamEvent, completed: boolean): WorkerProgress[] {
    switch (item.type) {
      case "agent_message":
        summary = textAt(item, "text");
        return [{ kind: "text", text: summary }];
      case "command_execution":
        return completed ? [] : [{ kind: "command", command: textAt(item, "command") }];
      case "file_change": {
        const paths = listAt(item, "changes").map((change) => textAt(change, "path"));
        if (completed) for (const path of paths) changed.add(path);
        return completed ? paths.map((path) => ({ kind: "edit", path })) : [];
      }
      case "mcp_tool_call":
        return completed ? [] : [{ kind: "tool", name: textAt(item, "tool") }];
      // Said in passing: about a model that it does not know, for instance.
      case "error":
        return completed ? [readTrouble(textAt(item, "message"))] : [];
      default:
        return [];
    }
  }

  return readJsonLines({
    on(event) {
      switch (event.type) {
        case "thread.started":
          sessionId = textAt(event, "thread_id");
          return [];
        case "item.started":
          return onItem(objectAt(event, "item"), false);
        case "item.completed":
          return onItem(objectAt(event, "item"), true);
        case "turn.completed": {
          const said = objectAt(event, "usage");
          usage.inputTokens += numberAt(said, "input_tokens");
          usage.outputTokens += numberAt(said, "output_tokens");
          error = null;
          return [];
        }
        case "turn.failed":
          error = textAt(objectAt(event, "error"), "message");
          return [];
        case "error":
          error = textAt(event, "message");
          return [readTrouble(error)];
        default:
          return [];
      }
    },
    end: () => ({ summary, error, usage, saidChanged: [...changed], sessionId }),
  });
}
