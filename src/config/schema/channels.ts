import { z } from "zod";
import { ROUTES } from "../../domain/config/route.ts";
import { isTimeZone } from "../time-zone.ts";
import { chosenName, count, flag, optionalUrl, secret, text, texts } from "./primitives.ts";

export const session = z
  .strictObject({
    timezone: z
      .string()
      .refine(isTimeZone)
      .default("Asia/Tokyo")
      .meta({ description: "Whose midnight ends a session.", timezone: true, shown: "time zone name" }),
    cutover: z
      .string()
      .regex(/^([01]\d|2[0-3]):[0-5]\d$/)
      .default("00:00")
      .meta({ description: "When a session ends.", shown: "HH:MM" }),
    history_tokens: count(2048, "What a model is given of the turns, in tokens.", { min: 256 }),
    summary_tokens: count(512, "Longest summary of what came before them, in tokens.", { min: 64 }),
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
    keep_days: count(90, "Older name of `retention.messages`, which wins."),
  })
  .prefault({});

export const retention = z
  .strictObject({
    messages: z.int().min(0).nullable().default(null).meta({
      description:
        "Days that answered messages and their replies are kept; 0 is for ever, null is `serve.keep_days`.",
      shown: "integer from 0",
    }),
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
      timezone: z.string().refine(isTimeZone).optional(),
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
