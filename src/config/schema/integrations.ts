import { z } from "zod";
import { byForge, forgeFacts } from "../../domain/config/forge-kinds.ts";
import { ROUTES } from "../../domain/config/route.ts";
import { isTimeZone } from "../scalar-values.ts";
import {
  chosenName,
  count,
  flag,
  httpUrl,
  optionalText,
  optionalUrl,
  secret,
  size,
  text,
  texts,
} from "./primitives.ts";

export const session = z
  .strictObject({
    timezone: z.string().min(1).refine(isTimeZone).meta({ timezone: true }).nullable().default(null).meta({
      description:
        "Whose midnight ends a session, and whose date models are told; null is the machine's zone.",
      shown: "time zone name or null",
    }),
    cutover: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/)
      .default("00:00")
      .meta({ description: "When a session ends.", shown: "HH:MM" }),
    history_tokens: count(2048, "What a model is given of the turns, in tokens.", { min: 256 }),
    summary_tokens: count(512, "Longest summary of what came before them, in tokens.", { min: 64 }),
  })
  .prefault({});

export const terminal = z
  .strictObject({
    keys: z
      .enum(["emacs", "vim"])
      .default("emacs")
      .meta({ description: "How the line of a conversation at a terminal is edited." }),
    bell: flag(true, "Ring when work of more than ten seconds ends while the window is not looked at."),
  })
  .prefault({});

export const line = z
  .strictObject({
    channel_secret: secret("env:LINE_CHANNEL_SECRET", "Checks the signature of a webhook."),
    channel_access_token: secret("env:LINE_CHANNEL_ACCESS_TOKEN", "Sends replies."),
    forced_route: z
      .enum(ROUTES)
      .nullable()
      .default("CHAT")
      .meta({ description: "The route of every message; null lets LINE route like any other channel." }),
    strict: flag(false, "Force the route even over an explicit command."),
    push_quota: count(200, "Push messages in a month."),
    allowed_users: texts([], "Users who may speak without being paired."),
    base_url: optionalUrl("Another address than LINE's own."),
  })
  .prefault({});

export const slack = z
  .strictObject({
    bot_token: secret("env:SLACK_BOT_TOKEN", "The bot's token."),
    app_token: secret("env:SLACK_APP_TOKEN", "The token for socket mode."),
    signing_secret: secret("env:SLACK_SIGNING_SECRET", "Checks the signature of a request."),
    allowed_users: texts([], "Users who may speak without being paired."),
    base_url: optionalUrl("Another address than Slack's own."),
  })
  .prefault({});

export const telegram = z
  .strictObject({
    bot_token: secret("env:TELEGRAM_BOT_TOKEN", "The bot's token."),
    webhook_secret: secret(
      "env:TELEGRAM_WEBHOOK_SECRET",
      "With it and serve.public_url Telegram calls a webhook; without, it is polled.",
    ),
    allowed_users: texts([], "Users who may speak without being paired."),
    base_url: optionalUrl("Another address than Telegram's own."),
  })
  .prefault({});

export const serve = z
  .strictObject({
    host: text("127.0.0.1", "Address the server listens on."),
    port: z
      .int()
      .min(0)
      .max(65_535)
      .default(7433)
      .meta({ description: "Port; 0 is any free one.", shown: "port" }),
    public_url: optionalUrl("The address that others see."),
    max_chats: count(50, "Chats that are answered at once.", { min: 1 }),
    rate_limit: count(30, "Messages of one user in a minute; 0 is any number."),
  })
  .prefault({});

export const retention = z
  .strictObject({
    messages: count(90, "Days that answered messages and their replies are kept; 0 is for ever."),
    sessions: count(
      0,
      "Days that a session is kept after its end, with what was said, decided and noted in it; 0 is for ever.",
    ),
    usage: count(0, "Days that the use of models is kept, for `/usage` and the budget; 0 is for ever."),
    tasks: count(
      0,
      "Days that a task of a forge is kept after its end, with its steps and their outputs; 0 is for ever.",
    ),
    dead_letters: count(0, "Days that work that was given up is kept; 0 is for ever."),
  })
  .prefault({});

const chat = z.string().regex(/^[a-z]+:\S+$/);
const cron = z.string().regex(/^\S+(?: +\S+){4,5}$/);

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
    description: "Messages that are posted to a chat at set times while `serve` runs.",
    shown: "list of {name, cron, timezone, chat: channel:chat, user, message, enabled}",
  });

export const notify = z
  .strictObject({
    chat: chat.nullable().default(null).meta({
      description: "Who is told when a task that a forge brought has ended; null is nobody.",
      shown: "channel:chat",
    }),
  })
  .prefault({});

export const heartbeat = z
  .strictObject({
    enabled: flag(false, "Post a message to a chat again and again."),
    cron: cron.default("*/30 * * * *").meta({ description: "When.", shown: "cron expression" }),
    chat: chat.default("web:operator").meta({ description: "To which chat.", shown: "channel:chat" }),
    message: text("Is there anything that needs attention?", "What is posted."),
  })
  .prefault({});

export const forges = z
  .strictObject(
    byForge((name) => {
      const variable = name.toUpperCase();
      const { settings } = forgeFacts(name);
      return z
        .strictObject({
          token: secret(`env:${variable}_PERSONAL_ACCESS_TOKEN`, "The token, by reference."),
          base_url: optionalUrl(settings.base_url),
          webhook_secret: secret(`env:${variable}_WEBHOOK_SECRET`, settings.webhook_secret),
          repositories: texts([], settings.repositories),
          poll_interval: count(60, "Seconds between two looks; 0 leaves it to webhooks.", {}),
        })
        .prefault({});
    }),
  )
  .prefault({});

const environment = z.record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/), z.string());

export const mcpServers = z
  .record(
    chosenName,
    z.strictObject({
      command: z.string().min(1).optional().meta({ description: "The program of a server on stdio." }),
      args: texts([], "Its arguments."),
      env: environment.default({}).meta({
        description: "Its environment; what looks like a secret by reference only.",
        shown: "map of NAME to text or env:NAME",
      }),
      url: httpUrl().optional().meta({
        description: "The address of a server over HTTP.",
        shown: "http(s) URL without credentials",
      }),
      headers: z
        .record(z.string().regex(/^[A-Za-z0-9-]{1,100}$/), z.string())
        .default({})
        .meta({
          description: "Headers of each request to the address; what looks like a secret by reference only.",
          shown: `map of NAME to text, env:NAME or text with \${NAME}`,
        }),
      coders: z.enum(["off", "read-only", "all"]).default("read-only").meta({
        description:
          "Which of its tools coders may call: none, those that the server itself marks as read-only, or all.",
      }),
      oauth: z
        .strictObject({
          client_id: z.string().min(1).optional().meta({
            description:
              "The client for `picoclaw mcp login` at a server that does not register clients by itself.",
          }),
          client_secret: z
            .string()
            .regex(/^env:[A-Za-z_][A-Za-z0-9_]*$/)
            .optional()
            .meta({
              description: "Its secret, if it has one.",
              secret: true,
              reference: true,
              shown: "env:NAME",
            }),
          scope: z
            .string()
            .min(1)
            .optional()
            .meta({ description: "What the login asks for, where the server does not say." }),
          callback_port: z.int().min(1).max(65_535).optional().meta({
            description:
              "The port of 127.0.0.1 that the browser comes back to; any free one where it is unset.",
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

export const tools = z
  .strictObject({
    write_scope: z
      .enum(["read-only", "workspace-write", "unrestricted"])
      .default("workspace-write")
      .meta({ description: "Where tools may write: nowhere, in the workspace, or in any folder." }),
    policy: z
      .strictObject({
        default: z
          .enum(["allow", "deny"])
          .default("allow")
          .meta({ description: "What holds for a tool that neither list names." }),
        allow: texts([], "Tools that may be called."),
        deny: texts([], "Tools that may not be called; wins over allow."),
      })
      .prefault({}),
    apply_patch: z
      .strictObject({
        max_bytes: size(10 * 1024 ** 2, "Largest file the tool changes."),
        max_error_chars: count(4000, "Characters of git's error text that are returned.", { min: 100 }),
      })
      .prefault({}),
  })
  .prefault({});

export const tasks = z
  .strictObject({
    max_steps: count(60, "Steps of one task.", { min: 1 }),
    patience: count(900, "Seconds that a task waits for a model's server that is overloaded or failing.", {}),
    label: text("picoclaw", "Issues with this label are taken in."),
    needs: texts(
      [],
      "Labels that a machine of the fleet must have to carry tasks out (`picoclaw join --labels`).",
    ),
    key_requests: count(5000, "Requests that a worker CLI may make with your API key in one task.", {
      min: 1,
    }),
    key_traffic: size(2 * 1024 ** 3, "Bytes that may go through for them in one task, both ways together."),
    rules: texts([], "What a coder should know about this project."),
    allow_ci_files: flag(
      false,
      "Tasks may change files that the forge's machines run (`.github/workflows` and the like).",
    ),
    test_command: optionalText("Another name of `checks.command`, which wins."),
  })
  .prefault({});

export const databaseUrl = z
  .string()
  .regex(/^(?:env:[A-Za-z_][A-Za-z0-9_]*|postgres(?:ql)?:\/\/\S+)$/)
  .nullable()
  .default(null)
  .meta({
    description: "Where the store and the queue live; null is SQLite in PICOCLAW_HOME.",
    shown: "env:NAME, or postgres:// without a password",
    reference: true,
  });
