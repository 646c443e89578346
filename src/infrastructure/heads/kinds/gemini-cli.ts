import {
  numberAt,
  objectAt,
  readJsonLines,
  readTrouble,
  type StreamReader,
  textAt,
  type WorkerKind,
} from "./worker-kind.ts";

const EDITS = new Set(["replace", "write_file", "edit"]);

const UPSTREAM = {
  GOOGLE_GEMINI_BASE_URL: "https://generativelanguage.googleapis.com",
  GOOGLE_VERTEX_BASE_URL: "https://aiplatform.googleapis.com",
};

export const geminiCli: WorkerKind = {
  name: "gemini-cli",
  aliases: [],
  image: "agent-runner-gemini",
  argv: ["gemini", "--yolo", "--skip-trust", "--output-format", "stream-json"],
  // It would start itself a second time only to have more memory.
  env: {
    GEMINI_SANDBOX: "false",
    GEMINI_CLI_TRUST_WORKSPACE: "true",
    GEMINI_CLI_NO_RELAUNCH: "true",
    NO_COLOR: "1",
  },
  credentials: [
    { path: ".gemini/oauth_creds.json", isLogin: true },
    { path: ".gemini", isLogin: false },
  ],
  leftOut: ["tmp", "history", "antigravity"].map((name) => `.gemini/${name}`),
  keyVariables: ["GEMINI_API_KEY", "GOOGLE_API_KEY"],
  plainVariables: [
    "GOOGLE_GENAI_USE_VERTEXAI",
    "GOOGLE_CLOUD_PROJECT",
    "GOOGLE_CLOUD_LOCATION",
    "GOOGLE_GEMINI_BASE_URL",
    "GOOGLE_VERTEX_BASE_URL",
  ],
  route({ env }) {
    const name =
      env.GOOGLE_GENAI_USE_VERTEXAI === "true" ? "GOOGLE_VERTEX_BASE_URL" : "GOOGLE_GEMINI_BASE_URL";
    return {
      upstream: env[name] ?? UPSTREAM[name],
      lead: (base) => ({ env: { [name]: base }, argv: geminiCli.argv }),
    };
  },
  // It ends at once (exit 41) where no setting says which login it has.
  keySettings: {
    path: ".gemini/settings.json",
    choose: (settings, env, isContestant = false) => {
      const selectedType = env.GOOGLE_GENAI_USE_VERTEXAI === "true" ? "vertex-ai" : "gemini-api-key";
      const security = { ...objectAt(settings, "security"), auth: { selectedType } };
      const tools = isContestant ? { tools: { exclude: ["google_web_search", "web_fetch"] } } : {};
      return { ...settings, security, ...tools };
    },
  },
  inSession: (argv, { id, resumes }) => (resumes ? [...argv, "--resume", id] : argv),
  asks: /^\/v1(?:beta\d*|alpha)?\/(?:models|projects|publishers)\//,
  createReader,
};

function createReader(): StreamReader {
  let said = "";
  let isOpen = false;
  let error: string | null = null;
  let sessionId = "";
  let usage = { inputTokens: 0, outputTokens: 0, costUsd: 0 };
  const pending = new Map<string, string>();
  const changed = new Set<string>();

  return readJsonLines({
    on(event) {
      switch (event.type) {
        case "init":
          sessionId = textAt(event, "session_id");
          return [];
        case "message": {
          if (event.role !== "assistant") return [];
          const text = textAt(event, "content");
          const grown = isOpen && event.delta === true;
          said = grown ? said + text : text;
          isOpen = true;
          return [{ kind: "text", text: said, grown }];
        }
        case "tool_use": {
          isOpen = false;
          const name = textAt(event, "tool_name");
          const parameters = objectAt(event, "parameters");
          if (name === "run_shell_command")
            return [{ kind: "command", command: textAt(parameters, "command") }];
          if (!EDITS.has(name)) return [{ kind: "tool", name }];
          const path = textAt(parameters, "file_path");
          pending.set(textAt(event, "tool_id"), path);
          return [{ kind: "edit", path }];
        }
        case "tool_result": {
          const path = pending.get(textAt(event, "tool_id"));
          if (path !== undefined && event.status === "success") changed.add(path);
          return [];
        }
        case "error":
          return [readTrouble(textAt(event, "message"))];
        case "result": {
          const stats = objectAt(event, "stats");
          usage = {
            inputTokens: numberAt(stats, "input_tokens"),
            outputTokens: numberAt(stats, "output_tokens"),
            costUsd: 0,
          };
          error = event.status === "error" ? textAt(objectAt(event, "error"), "message") || "error" : null;
          return error === null ? [] : [readTrouble(error)];
        }
        default:
          return [];
      }
    },
    end: () => ({ summary: said, error, usage, saidChanged: [...changed], sessionId }),
  });
}
