import { z } from "zod";
import { ROUTES } from "../../domain/config/route.ts";
import { HEAD_NAMES } from "../../domain/config/worker-kind-names.ts";
import {
  chosenName,
  count,
  flag,
  hosts,
  httpUrl,
  optionalText,
  optionalUrl,
  secret,
  texts,
} from "./primitives.ts";

const PROVIDER_TYPES = ["anthropic", "openai", "google", "openai-compatible", "ollama", "scripted"] as const;

export const ollama = z
  .strictObject({
    base_url: httpUrl()
      .default("http://127.0.0.1:11434")
      .meta({ description: "Where Ollama answers.", shown: "http(s) URL without credentials" }),
    keep_alive: z
      .union([z.int(), z.string().min(1)])
      .default(-1)
      .meta({ description: "How long a model stays loaded; -1 is for ever.", shown: 'seconds, or "10m"' }),
    max_context: count(8192, "Context window asked of a local model, in tokens.", { min: 512 }),
    health_check_interval: count(60, "Seconds between health checks.", { min: 1 }),
  })
  .prefault({});

export const models = z
  .strictObject({
    connect_timeout: count(10, "Seconds until a model's server must have accepted the connection.", {
      min: 1,
    }),
    first_token_timeout: count(
      180,
      "Seconds until the first part of an answer; loading a local model counts.",
      {
        min: 1,
      },
    ),
    idle_timeout: count(60, "Seconds of silence in the middle of an answer.", { min: 1 }),
    retries: count(5, "Further tries after 429, 5xx or a lost connection, before the first part came."),
  })
  .prefault({});

function effort(description: string) {
  return z.enum(EFFORTS).nullable().default(null).meta({ description });
}

const EFFORTS = ["off", "low", "medium", "high"] as const;

interface ProviderDefaults {
  readonly type: (typeof PROVIDER_TYPES)[number];
  readonly model: string | null;
  readonly api_key: string | null;
  readonly base_url: string | null;
}

function provider(defaults: ProviderDefaults) {
  return z
    .strictObject({
      type: z
        .enum(PROVIDER_TYPES)
        .default(defaults.type)
        .meta({ description: "Which protocol the model speaks." }),
      model: z
        .string()
        .min(1)
        .nullable()
        .default(defaults.model)
        .meta({ description: "The model's name at the provider." }),
      base_url: httpUrl().nullable().default(defaults.base_url).meta({
        description: "Another address than the provider's own.",
        shown: "http(s) URL without credentials",
      }),
      api_key: secret(defaults.api_key, "The key, by reference."),
      max_tokens: count(
        32_000,
        "Longest answer asked for, in tokens; a model that takes less is asked for what it takes.",
        { min: 1 },
      ),
      temperature: z
        .number()
        .min(0)
        .max(2)
        .nullable()
        .default(null)
        .meta({ description: "Sampling temperature; null is the model's own.", shown: "number from 0 to 2" }),
      effort: effort("How much the model thinks before it answers; null leaves it to the model."),
      local: z.boolean().default(false).meta({
        description:
          "The model runs on this machine or network; only then may it serve a chat route. Not believed of a cloud's address.",
      }),
      script: optionalText("Answers of a `scripted` model: a YAML file, absolute or in PICOCLAW_HOME."),
    })
    .prefault({});
}

export const providers = z
  .object({
    claude: provider({
      type: "anthropic",
      model: "claude-sonnet-4-6",
      api_key: "env:ANTHROPIC_API_KEY",
      base_url: null,
    }),
    openai: provider({ type: "openai", model: "gpt-5.1", api_key: "env:OPENAI_API_KEY", base_url: null }),
    deepseek: provider({
      type: "openai-compatible",
      model: "deepseek-flash",
      api_key: "env:DEEPSEEK_API_KEY",
      base_url: "https://api.deepseek.com/v1",
    }),
    gemini: provider({
      type: "google",
      model: "gemini-2.5-pro",
      api_key: "env:GEMINI_API_KEY",
      base_url: null,
    }),
  })
  .catchall(provider({ type: "openai-compatible", model: null, api_key: null, base_url: null }))
  .prefault({});

function role(who: string, defaultProvider: string, model: string | null = null) {
  return z
    .strictObject({
      provider: chosenName.default(defaultProvider).meta({
        description: `${who}: \`ollama\` or a name under \`providers\`.`,
      }),
      model: z
        .string()
        .min(1)
        .nullable()
        .default(model)
        .meta({ description: `${who}: another model than the provider's.` }),
      effort: effort(`${who}: another effort than the provider's.`),
    })
    .prefault({});
}

const CODERS = ["coder1", "coder2", "coder3"] as const;

export const roles = z
  .strictObject({
    chat: role("Mio", "ollama", "chat-v1:latest"),
    worker: role("Shiro", "ollama", "worker-v1:latest"),
    coder1: role("Aka", "deepseek"),
    coder2: role("Ao", "openai"),
    coder3: role("Gin", "claude"),
    default_coder: z.enum(CODERS).default("coder3").meta({ description: "Who answers the route CODE." }),
    coder: z
      .strictObject({
        head: z.enum(HEAD_NAMES).nullable().default(null).meta({
          description:
            "An agent of your own that works in the place of a coder's model, unless a message names a coder; null is none.",
        }),
      })
      .prefault({}),
  })
  .prefault({});

const confidence = z.number().min(0).max(1);

export const routing = z
  .strictObject({
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
        description: "Rules before the built-in dictionary.",
        shown: "list of {pattern, route, confidence, match, not_match}",
      }),
    threshold: confidence
      .default(0.7)
      .meta({ description: "Confidence below which the fallback answers.", shown: "number from 0 to 1" }),
  })
  .prefault({});

export const loop = z
  .strictObject({
    max_loops: count(5, "Rounds for one message, each ending in an answer.", { min: 1 }),
    max_millis: count(120_000, "Milliseconds that the models of one message may take.", { min: 1 }),
  })
  .prefault({});

function dollars(description: string) {
  return z.number().nonnegative().meta({ description, shown: "US dollars per million tokens" });
}

export const budget = z
  .strictObject({
    daily: z
      .number()
      .nonnegative()
      .nullable()
      .default(null)
      .meta({ description: "What cloud models may cost in a day, in US dollars; null is no limit." }),
    on_exceed: z
      .enum(["local", "refuse"])
      .default("local")
      .meta({ description: "When it is spent: use the local model and say so, or refuse." }),
    prices: z
      .record(
        z.string().min(1),
        z.strictObject({
          input: dollars("What is sent."),
          output: dollars("What is answered."),
          cached: dollars("What is sent and was read from the provider's cache."),
        }),
      )
      .default({})
      .meta({
        description: "US dollars per million tokens, by model; wins over the shipped list (docs/models.md).",
        shown: "map of model to {input, output, cached}",
      }),
  })
  .prefault({});

export const security = z
  .strictObject({
    local_only: z.boolean().default(true).meta({
      description: "Chat routes and the classifier never leave local models.",
    }),
  })
  .prefault({});

/** How long and how broadly a coder tries, and what becomes of a draft that is not green. */
export const coder = z
  .strictObject({
    attempts: count(4, "Attempts of one message: proposals that are run and judged.", { min: 1 }),
    candidates: z
      .int()
      .min(1)
      .max(3)
      .default(1)
      .meta({ description: "Coders that work on a message at once, each in a draft of its own." }),
    escalate: flag(false, "Ask the other coders as well when one does not get green."),
    fallback: z
      .array(z.enum(["coder1", "coder2", "coder3"]))
      .default([])
      .meta({
        description: "Coders that are asked when one cannot answer, in this order; the reply says so.",
      }),
    on_red: z
      .enum(["preview", "apply", "discard"])
      .default("preview")
      .meta({ description: "What becomes of a draft whose checks got worse." }),
    explore: count(
      200,
      "Rounds in which a coder may look and try before it writes; time, cost and repetition end it sooner.",
    ),
    sub_agents: z.int().min(0).max(16).default(4).meta({
      description: "Sub-agents of one coder that may work at once; 0: it works alone.",
    }),
    max_minutes: count(30, "Minutes that the models of one message may take.", { min: 1 }),
    budget_usd: z
      .number()
      .nonnegative()
      .nullable()
      .default(null)
      .meta({ description: "What one message may cost, in US dollars; null is no limit." }),
  })
  .prefault({});

/** The user's own agent as the head of a coder. */
export const head = z
  .strictObject({
    command: texts([], "How an agent that speaks the Agent Client Protocol is started, for the head `acp`."),
    login: z.enum(["key", "file"]).default("key").meta({
      description:
        "What an agent may use: a key or a token for use without a person, or a person's own login in a file as well, where its vendor's terms permit that.",
    }),
    settings: z.enum(["none", "safe", "all"]).default("safe").meta({
      description:
        "Your settings for the agent that it sees: none, those that start nothing and name no server, or all.",
    }),
    timeout: count(1800, "Seconds that one turn of an agent may take.", { min: 1 }),
    silence: count(600, "Seconds that an agent may say nothing.", { min: 1 }),
    keep_days: count(30, "Days that an agent's session and home are kept unused; 0 is for ever."),
    permissions: z
      .enum(["allow", "refuse"])
      .default("allow")
      .meta({ description: "The answer when an agent of `command` asks for permission." }),
    env_pass: texts([], "Variables that an agent of `command` gets as they are, secrets included."),
    home_files: texts([], "Files of your home that an agent of `command` gets copies of."),
  })
  .prefault({});

/** The project's own checks, which judge a draft. */
export const checks = z
  .strictObject({
    command: optionalText("How the project is tested; null finds it by the project's files."),
    timeout: count(300, "Seconds that one check may take.", { min: 1 }),
    auto_limit: count(60, "Checks that took longer than these seconds are not run by themselves."),
    network: flag(false, "Let checks reach the network."),
    enabled: z
      .enum(["auto", "always", "never"])
      .default("auto")
      .meta({ description: "Run checks: when they are fast enough, however long they take, never." }),
  })
  .prefault({});

/** How RESEARCH reads the web. */
export const research = z
  .strictObject({
    fetch: flag(true, "Let RESEARCH read pages of the web. What it reads goes to the worker's model alone."),
    allowed: hosts(
      "Hosts that may be read. Private addresses and this machine only by an exact `host:port`.",
      ["*"],
    ),
    denied: hosts("Hosts that may not be read, whatever is allowed."),
    search_url: optionalUrl(
      "A search engine that answers in JSON, with `{query}` in its address; null is no search.",
    ),
    timeout: count(20, "Seconds that a page may take.", { min: 1 }),
  })
  .prefault({});
