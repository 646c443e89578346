import { Api, GrammyError } from "grammy/web";
import type { DeliveryResult } from "../../application/ports/channel.ts";
import { inTime } from "./in-time.ts";

/** The calls that the channel makes, of grammY's client. */
export type TelegramClient = Pick<
  Api,
  | "answerCallbackQuery"
  | "deleteMessage"
  | "deleteWebhook"
  | "editMessageReplyMarkup"
  | "editMessageText"
  | "getMe"
  | "getUpdates"
  | "sendChatAction"
  | "sendDocument"
  | "sendMessage"
  | "setWebhook"
>;

/** Longer than a poll lasts; every other call has a limit of its own. */
const CALL_SECONDS = 60;

/** `apiUrl`: another address than Telegram's own. Errors never show the token, which is a part of every address. */
export function createTelegramClient(options: {
  readonly token: string;
  readonly apiUrl: string | null;
}): TelegramClient {
  return new Api(options.token, {
    timeoutSeconds: CALL_SECONDS,
    sensitiveLogs: false,
    ...(options.apiUrl !== null && { apiRoot: options.apiUrl.replace(/\/+$/, "") }),
  });
}

type GrammySignal = NonNullable<Parameters<Api["getMe"]>[0]>;

/** Its types name a shim's signal; what runs takes the platform's own. */
export const grammySignal = (signal: AbortSignal) => signal as unknown as GrammySignal;

export type TelegramCall<T = unknown> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly delivered: Exclude<DeliveryResult, { status: "sent" }>;
      /** Telegram could not read the marks of the text. */
      readonly unreadable: boolean;
    };

/** What the call brought, or how its reply is to go on. */
export async function callTelegram<T>(
  call: (signal: GrammySignal) => Promise<T>,
  signal: AbortSignal,
): Promise<TelegramCall<T>> {
  try {
    return { ok: true, value: await inTime(call(grammySignal(signal)), signal, "no answer in time") };
  } catch (error) {
    const unreadable = error instanceof GrammyError && /can't parse entities/i.test(error.description);
    return { ok: false, delivered: toDelivered(error), unreadable };
  }
}

const NEVER =
  /chat not found|user not found|group chat was (?:upgraded|deactivated)|not enough rights|message thread not found/i;

function toDelivered(error: unknown): Exclude<DeliveryResult, { status: "sent" }> {
  if (!(error instanceof GrammyError)) {
    const reason = `Telegram: ${error instanceof Error ? error.message : String(error)}`;
    return { status: "later", reason };
  }
  const { error_code: code, description, parameters } = error;
  const reason = `Telegram: ${code} ${description}`;
  if (code === 429) return { status: "later", reason, afterMs: (parameters.retry_after ?? 30) * 1000 };
  // 403: the person blocked the bot, or it was put out of the group.
  if (code === 403 || (code === 400 && NEVER.test(description))) return { status: "impossible", reason };
  return { status: "later", reason };
}
