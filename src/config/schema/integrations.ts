import { z } from "zod";
import { byForge, forgeFacts, LONGEST_CRON, ROUTES } from "../../domain/config/configured-kinds.ts";
import { isTimeZone } from "../../domain/platform/days.ts";
import {
  choice,
  chosenName,
  count,
  flag,
  httpUrl,
  optionalChoice,
  optionalText,
  optionalUrl,
  positive,
  secret,
  section,
  size,
  text,
  texts,
  URL_SHOWN,
} from "./primitives.ts";

export const session = section({
  timezone: z.string().min(1).refine(isTimeZone).meta({ timezone: true }).nullable().default(null).meta({
    description:
      "Time zone of `session.cutover` and of the dates that models see; null is the machine's zone.",
    shown: "time zone name",
  }),
  cutover: z
    .string()
    .regex(/^([01]\d|2[0-3]):[0-5]\d$/)
    .default("00:00")
    .meta({ description: "Time of day at which a session ends and a new one begins.", shown: "HH:MM" }),
  history_tokens: z.number().int().min(256).nullable().default(null).meta({
    description:
      "How much of the conversation's latest messages a model gets, in tokens; null is an eighth of the window of the model that answers, from 2048 to 64000.",
    shown: "integer from 256",
  }),
  summary_tokens: count(512, "Longest summary of the messages before those, in tokens.", 64),
});

export const terminal = section({
  keys: choice(["emacs", "vim"], "emacs", "Key bindings of the input line in a terminal conversation."),
  bell: flag(
    true,
    "Ring the bell when work of more than ten seconds ends while the terminal window is not focused.",
  ),
});

export const line = section({
  channel_secret: secret(
    "env:LINE_CHANNEL_SECRET",
    "Secret that verifies the signatures of LINE's webhooks.",
  ),
  channel_access_token: secret("env:LINE_CHANNEL_ACCESS_TOKEN", "Token for sending replies."),
  forced_route: optionalChoice(
    ROUTES,
    "CHAT",
    "The route of every message from LINE; null chooses a route for each message, as in other channels.",
  ),
  strict: flag(false, "Use `forced_route` even for messages with a command such as /code."),
  push_quota: count(200, "Most push messages in a month. Replies within LINE's reply window do not count."),
  allowed_users: texts([], "Users who may write without pairing first."),
  base_url: optionalUrl("Address of the LINE API; null is LINE's own."),
});

export const slack = section({
  bot_token: secret("env:SLACK_BOT_TOKEN", "The bot's token."),
  app_token: secret("env:SLACK_APP_TOKEN", "The app-level token for Socket Mode."),
  signing_secret: secret(
    "env:SLACK_SIGNING_SECRET",
    "Secret that verifies the signatures of Slack's requests.",
  ),
  allowed_users: texts([], "Users who may write without pairing first."),
  base_url: optionalUrl("Address of the Slack API; null is Slack's own."),
});

export const telegram = section({
  bot_token: secret("env:TELEGRAM_BOT_TOKEN", "The bot's token."),
  webhook_secret: secret(
    "env:TELEGRAM_WEBHOOK_SECRET",
    "With this and `serve.public_url`, Telegram calls a webhook; otherwise PicoClaw polls Telegram.",
  ),
  allowed_users: texts([], "Users who may write without pairing first."),
  base_url: optionalUrl("Address of the Telegram API; null is Telegram's own."),
});

export const serve = section({
  host: text("127.0.0.1", "Address that the server listens on."),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(7433)
    .meta({ description: "Port that the server listens on; 0 is any free one.", shown: "port" }),
  public_url: optionalUrl("The address under which others reach the server, for links and webhooks."),
  max_chats: positive(50, "How many chats are answered at the same time."),
  rate_limit: count(30, "Most messages of one user in a minute; 0 means no limit."),
  hand_memory: size(1024 ** 3, "Memory of one process that answers messages; one that takes more is ended."),
});

export const retention = section({
  messages: count(90, "Days to keep answered messages and their replies; 0 is forever."),
  sessions: count(
    0,
    "Days to keep a session after its end, with its messages, decisions and notes; 0 is forever.",
  ),
  usage: count(0, "Days to keep records of model usage, for `/usage` and the budget; 0 is forever."),
  tasks: count(
    0,
    "Days to keep a forge's task after its end, with its steps and their output; 0 is forever.",
  ),
  dead_letters: count(0, "Days to keep messages and tasks that failed for good; 0 is forever."),
});

const chat = z.string().regex(/^[a-z]+:\S+$/);
const cron = z
  .string()
  .max(LONGEST_CRON)
  .regex(/^\S+(?: +\S+){4,5}$/)
  .meta({ shown: `cron expression of at most ${LONGEST_CRON} characters` });

export const schedules = z
  .array(
    z.strictObject({
      name: chosenName,
      cron,
      timezone: z.string().refine(isTimeZone).meta({ timezone: true }).optional(),
      chat,
      user: z.string().min(1).optional(),
      message: z.string().min(1),
      enabled: z.boolean().default(true),
    }),
  )
  .default([])
  .meta({
    description: "Messages that `serve` posts to a chat at set times.",
    shown: "list of {name, cron, timezone, chat: channel:chat, user, message, enabled}",
  });

export const notify = section({
  chat: chat.nullable().default(null).meta({
    description: "The chat that is notified when a task from a forge has ended; null is none.",
    shown: "channel:chat",
  }),
});

export const heartbeat = section({
  enabled: flag(false, "Post a message to a chat regularly."),
  cron: cron.default("*/30 * * * *").meta({ description: "When it is posted." }),
  chat: chat
    .default("web:operator")
    .meta({ description: "The chat it is posted to.", shown: "channel:chat" }),
  message: text("Is there anything that needs attention?", "The message."),
});

export const forges = section(
  byForge((name) => {
    const variable = name.toUpperCase();
    const { settings } = forgeFacts(name);
    return section({
      token: secret(
        `env:${variable}_PERSONAL_ACCESS_TOKEN`,
        "The access token, named by an environment variable.",
      ),
      base_url: optionalUrl(settings.base_url),
      webhook_secret: secret(`env:${variable}_WEBHOOK_SECRET`, settings.webhook_secret),
      repositories: texts([], settings.repositories),
      poll_interval: count(60, "Seconds between two checks for new work; 0 relies on webhooks alone."),
    });
  }),
);

const environment = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string());

export const mcpServers = z
  .record(
    chosenName,
    z.strictObject({
      command: z
        .string()
        .min(1)
        .optional()
        .meta({ description: "The program of an MCP server that talks over standard input and output." }),
      args: texts([], "Arguments of the program."),
      env: environment.default({}).meta({
        description: "Environment variables of the program. Write secrets as `env:NAME`.",
        shown: "map of NAME to text or env:NAME",
      }),
      url: httpUrl()
        .optional()
        .meta({ description: "The address of an MCP server over HTTP.", shown: URL_SHOWN }),
      headers: z
        .record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/), z.string())
        .default({})
        .meta({
          description: "Headers of each request to the server. Write secrets as `env:NAME`.",
          shown: `map of NAME to text, env:NAME or text with \${NAME}`,
        }),
      coders: choice(
        ["off", "read-only", "all"],
        "read-only",
        "Which tools of the server coders may call: none, those that it marks as read-only, or all.",
      ),
      oauth: z
        .strictObject({
          client_id: z.string().min(1).optional().meta({
            description:
              "Client id for `picoclaw mcp login`, for a server that does not register clients automatically.",
          }),
          client_secret: z
            .string()
            .regex(/^env:[A-Za-z_][A-Za-z0-9_]*$/)
            .optional()
            .meta({
              description: "Client secret, if the client has one.",
              secret: true,
              reference: true,
              shown: "env:NAME",
            }),
          scope: z
            .string()
            .min(1)
            .optional()
            .meta({ description: "Scope to request at login, if the server does not name one." }),
          callback_port: z.int().min(1).max(65_535).optional().meta({
            description:
              "Port on 127.0.0.1 to which the browser returns after the login; any free one if unset.",
            shown: "port",
          }),
        })
        .optional(),
    }),
  )
  .default({})
  .meta({
    description: "MCP servers whose tools Shiro and coders may call.",
    shown: "map of name to {command, args, env} or {url, headers}",
    reference: true,
  });

export const tools = section({
  write_scope: choice(
    ["read-only", "workspace-write", "unrestricted"],
    "workspace-write",
    "Where tools may write: nowhere, in the workspace, or in any folder.",
  ),
  policy: section({
    default: choice(["allow", "deny"], "allow", "Whether tools that neither list names may be called."),
    allow: texts([], "Tools that may be called."),
    deny: texts([], "Tools that may not be called, even if `allow` names them."),
  }),
  apply_patch: section({
    max_bytes: size(10 * 1024 ** 2, "Largest file that `apply_patch` changes."),
    max_error_chars: count(4000, "How many characters of git's error message `apply_patch` returns.", 100),
  }),
});

export const tasks = section({
  max_steps: positive(60, "Most steps of one task."),
  patience: count(900, "Seconds that a task waits for a model's server that is overloaded or down."),
  label: text("picoclaw", "Issues with this label become tasks."),
  needs: texts([], "Labels that a machine of the fleet must have to run tasks (`picoclaw join --labels`)."),
  key_requests: positive(5000, "Most requests that a coding agent may make with your API key in one task."),
  key_traffic: size(2 * 1024 ** 3, "Most data that these requests may send and receive in one task."),
  rules: texts([], "Rules of this project that a coder should know."),
  allow_ci_files: flag(
    false,
    "Let tasks change files that define CI jobs (`.github/workflows` and the like).",
  ),
  test_command: optionalText("Older name of `checks.command`; ignored where that is set."),
});

export const databaseUrl = z
  .string()
  .regex(/^(?:env:[A-Za-z_][A-Za-z0-9_]*|postgres(?:ql)?:\/\/\S+)$/)
  .nullable()
  .default(null)
  .meta({
    description:
      "Address of the Postgres database for messages, sessions and the queue; null is SQLite in PICOCLAW_HOME.",
    shown: "env:NAME, or postgres:// without a password",
    reference: true,
  });
