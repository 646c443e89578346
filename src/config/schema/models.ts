import { z } from "zod";
import { HEAD_NAMES, ROUTES, WIRE_TYPES } from "../../domain/config/configured-kinds.ts";
import {
  choice,
  chosenName,
  count,
  flag,
  hosts,
  httpUrl,
  optionalAmount,
  optionalChoice,
  optionalText,
  optionalUrl,
  positive,
  secret,
  section,
  texts,
  URL_SHOWN,
} from "./primitives.ts";

const PROVIDER_TYPES = [...WIRE_TYPES, "scripted"] as const;

export const ollama = section({
  base_url: httpUrl()
    .default("http://127.0.0.1:11434")
    .meta({ description: "Address of the Ollama server.", shown: URL_SHOWN }),
  keep_alive: z
    .union([z.int(), z.string().min(1)])
    .default(-1)
    .meta({
      description:
        "How long Ollama keeps a model loaded after a request: seconds, or a duration such as `10m`; -1 keeps it loaded.",
      shown: 'seconds, or "10m"',
    }),
  max_context: count(8192, "Context window requested from Ollama, in tokens.", 512),
  health_check_interval: positive(
    60,
    "Seconds between two checks by `serve` that the models of Mio and Shiro are available.",
  ),
});

export const models = section({
  connect_timeout: positive(10, "Seconds to wait for a connection to a model's server."),
  first_token_timeout: positive(
    180,
    "Seconds to wait for the first part of an answer, including the time to load a local model.",
  ),
  idle_timeout: positive(60, "Seconds without a new part after which an answer is given up."),
  retries: count(
    5,
    "How often a request is repeated after status 429, 5xx or a lost connection, as long as no part of the answer has arrived.",
  ),
});

function effort(description: string) {
  return optionalChoice(EFFORTS, null, description);
}

const EFFORTS = ["off", "low", "medium", "high"] as const;

interface ProviderDefaults {
  readonly type: (typeof PROVIDER_TYPES)[number];
  readonly model: string | null;
  readonly api_key: string | null;
  readonly base_url: string | null;
}

function provider(defaults: ProviderDefaults) {
  return section({
    type: choice(
      PROVIDER_TYPES,
      defaults.type,
      "The provider's API protocol; `scripted` answers from a file, for demos and tests.",
    ),
    model: optionalText("The model's name, as the provider writes it.", defaults.model),
    base_url: optionalUrl("Base URL of the API; null is the provider's own address.", defaults.base_url),
    api_key: secret(defaults.api_key, "The API key, named by an environment variable."),
    max_tokens: positive(
      32_000,
      "Longest answer to request, in tokens; lowered to the model's own limit where that is smaller.",
    ),
    temperature: z.number().min(0).max(2).nullable().default(null).meta({
      description: "Sampling temperature; null leaves it to the model.",
      shown: "number from 0 to 2",
    }),
    effort: effort("How much the model reasons before it answers; null leaves it to the model."),
    local: flag(
      false,
      "The model runs on this machine or in your own network. While `security.local_only` is on, only local models answer questions. Ignored for the address of a known cloud provider.",
    ),
    script: optionalText(
      "For `type: scripted`: the YAML file with the answers, an absolute path or one in PICOCLAW_HOME.",
    ),
  });
}

export const providers = z
  .object({
    claude: provider({
      type: "anthropic",
      model: "claude-sonnet-5-5",
      api_key: "env:ANTHROPIC_API_KEY",
      base_url: null,
    }),
    openai: provider({ type: "openai", model: "gpt-6.1-sol", api_key: "env:OPENAI_API_KEY", base_url: null }),
    deepseek: provider({
      type: "openai-compatible",
      model: "deepseek-flash",
      api_key: "env:DEEPSEEK_API_KEY",
      base_url: "https://api.deepseek.com/v1",
    }),
    gemini: provider({
      type: "google",
      model: "gemini-3.1-pro-preview",
      api_key: "env:GEMINI_API_KEY",
      base_url: null,
    }),
  })
  .catchall(provider({ type: "openai-compatible", model: null, api_key: null, base_url: null }))
  .prefault({});

function role(who: string, defaultProvider: string, model: string | null = null) {
  return section({
    provider: chosenName.default(defaultProvider).meta({
      description: `Provider of ${who}: \`ollama\` or a name under \`providers\`.`,
    }),
    model: optionalText(`Model of ${who}; null is the provider's \`model\`.`, model),
    effort: effort(`Reasoning effort of ${who}; null is the provider's \`effort\`.`),
  });
}

const CODERS = ["coder1", "coder2", "coder3"] as const;

export const roles = section({
  chat: role("Mio", "ollama", "chat-v1:latest"),
  worker: role("Shiro", "ollama", "worker-v1:latest"),
  coder1: role("Aka", "deepseek"),
  coder2: role("Ao", "openai"),
  coder3: role("Gin", "claude"),
  default_coder: choice(
    CODERS,
    "coder3",
    "The coder for messages with the route CODE (`/code`) that name no coder.",
  ),
  measured: z
    .strictObject({
      order: z.array(z.enum(CODERS)),
      solved: z.number().int().min(0),
      of: z.number().int().min(1),
      cost_share: z.number().min(0).nullable(),
    })
    .nullable()
    .default(null)
    .meta({
      description:
        "What `picoclaw compare --adopt` measured on your own cases: the order of coders, how many cases the first one solved, and its share of the last one's cost. It counts while `default_coder` is the first of the order.",
      shown: "{order, solved, of, cost_share} or null",
    }),
  coder: section({
    head: optionalChoice(
      HEAD_NAMES,
      null,
      "A coding agent of yours that does the work instead of a coder's model, unless a message names a coder; null is none.",
    ),
  }),
});

const confidence = z.number().min(0).max(1);

export const routing = section({
  rules: z
    .array(
      z.strictObject({
        pattern: z.string().min(1),
        route: z.enum(ROUTES),
        confidence: confidence.default(0.95),
        match: z.array(z.string()).optional(),
        not_match: z.array(z.string()).optional(),
      }),
    )
    .default([{ pattern: "ファイルを作成", route: "CODE", confidence: 0.95 }])
    .meta({
      description: "Your own routing rules; they are tried before the built-in ones.",
      shown: "list of {pattern, route, confidence, match, not_match}",
    }),
  threshold: confidence.default(0.7).meta({
    description:
      "A rule or the classifier decides only with at least this confidence; otherwise the message goes to CHAT.",
    shown: "number from 0 to 1",
  }),
});

export const loop = section({
  max_loops: positive(5, "Most rounds in which Shiro may work on one message."),
  max_millis: positive(
    120_000,
    "Time limit for answering one message, in milliseconds. A local model that answers in words more slowly has the time that it needs at its measured speed, within `coder.max_minutes`. Coders have `coder.max_minutes`.",
  ),
});

function dollars(description: string) {
  return z.number().nonnegative().meta({ description, shown: "US dollars per million tokens" });
}

export const budget = section({
  daily: optionalAmount("Most that cloud models may cost in a day, in US dollars; null means no limit."),
  on_exceed: choice(
    ["local", "refuse"],
    "local",
    "When the budget is spent: `local` continues with a local model and says so, `refuse` answers with an error.",
  ),
  prices: z
    .record(
      z.string().min(1),
      z.strictObject({
        input: dollars("Price of input tokens."),
        output: dollars("Price of output tokens."),
        cached: dollars("Price of input tokens that the provider reads from its cache."),
      }),
    )
    .default({})
    .meta({
      description:
        "Prices in US dollars per million tokens, by model. They replace those of the built-in list (docs/models.md).",
      shown: "map of model to {input, output, cached}",
    }),
});

export const security = section({
  local_only: flag(
    true,
    "Only local models answer questions and classify messages; coders may still be cloud models.",
  ),
});

/** How long and how broadly a coder tries, and what becomes of a draft that is not green. */
export const coder = section({
  attempts: positive(4, "How many changes a coder may try for one message until the checks pass."),
  local_attempts: positive(
    6,
    "The same for a small model on your own machine, whose tries cost time alone: each begins again, within `coder.max_minutes`, and the best one is kept.",
  ),
  candidates: count(
    1,
    "How many coders work on a message at the same time, each in a draft of its own; the best result is applied.",
    1,
    3,
  ),
  escalate: flag(false, "Ask the other coders as well when one cannot make the checks pass."),
  fallback: z
    .array(z.enum(["coder1", "coder2", "coder3"]))
    .default([])
    .meta({
      description: "Coders to ask, in this order, when the first one cannot answer. The reply says so.",
      shown: "list of coder1, coder2, coder3",
    }),
  on_red: choice(
    ["preview", "apply", "discard"],
    "preview",
    "What happens to a change that makes the checks worse: `preview` keeps it for you to decide, `apply` applies it, `discard` drops it.",
  ),
  explore: count(
    200,
    "Most rounds in which a coder may read and try things before it writes. Limits of time and cost, and repetition, end this sooner.",
  ),
  sub_agents: count(4, "How many sub-agents of one coder may work at the same time; 0 is none.", 0, 16),
  max_minutes: positive(30, "Time limit for a coder's models on one message, in minutes."),
  budget_usd: optionalAmount("Most that one message may cost, in US dollars; null means no limit."),
});

export const head = section({
  command: texts(
    [],
    "For `roles.coder.head: acp`: the command that starts an agent with the Agent Client Protocol, and its arguments.",
  ),
  login: choice(
    ["key", "file"],
    "key",
    "How an agent signs in: `key` is an API key or a token for unattended use; `file` also allows your personal login, if the vendor's terms permit that.",
  ),
  settings: choice(
    ["none", "safe", "all"],
    "safe",
    "Which of your own settings for the agent it sees: none, those that start no program and name no server, or all.",
  ),
  timeout: positive(1800, "Time limit for one turn of an agent, in seconds."),
  silence: positive(600, "Seconds without any output after which an agent is stopped."),
  keep_days: count(
    30,
    "Days after which an unused session of an agent is removed, with its private home; 0 is never.",
  ),
  permissions: choice(
    ["allow", "refuse"],
    "allow",
    "The answer when an agent started by `head.command` asks for permission.",
  ),
  env_pass: texts(
    [],
    "Environment variables that an agent started by `head.command` gets unchanged, including secrets.",
  ),
  home_files: texts([], "Files of your home folder that are copied for an agent started by `head.command`."),
});

/** The project's own checks, which judge a draft. */
export const checks = section({
  command: optionalText("The command that tests the project; null finds it from the project's files."),
  timeout: positive(300, "Time limit for one check, in seconds."),
  auto_limit: count(
    60,
    "With `enabled: auto`: if the checks take longer than this many seconds, only the affected tests run.",
  ),
  network: flag(false, "Let checks reach the network."),
  enabled: choice(
    ["auto", "always", "never"],
    "auto",
    "When checks run: `auto` if they are fast enough, `always` however long they take, or `never`.",
  ),
  format: flag(true, "Run the project's own formatter over the changed files before they are checked."),
});

export const research = section({
  fetch: flag(true, "Let RESEARCH read web pages. Their content goes only to Shiro's model."),
  allowed: hosts("Hosts that may be read. Private addresses and this machine need an exact `host:port`.", [
    "*",
  ]),
  denied: hosts("Hosts that may never be read, even if `allowed` names them."),
  search_url: optionalUrl(
    "Address of a search engine that answers in JSON, with `{query}` in it; null means no search.",
  ),
  timeout: positive(20, "Time limit for one page, in seconds."),
});
