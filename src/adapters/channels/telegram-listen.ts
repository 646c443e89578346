import type { Timers } from "../../application/ports/timers.ts";
import { grammySignal, type TelegramClient } from "./telegram-client.ts";
import { HEARD_UPDATES, type TakeUpdate } from "./telegram-updates.ts";

/** The header in which Telegram shows the webhook's secret. */
export const SIGNED_BY = "x-telegram-bot-api-secret-token";

const POLL_SECONDS = 30;
const REST_MS = 5_000;

/** Has Telegram call us from now on. */
export async function setTelegramWebhook(client: TelegramClient, url: string, secret: string): Promise<void> {
  await client.setWebhook(url, { secret_token: secret, allowed_updates: [...HEARD_UPDATES] });
}

export interface PollDeps {
  readonly client: TelegramClient;
  readonly take: TakeUpdate;
  readonly timers: Timers;
  readonly onTrouble: (error: unknown) => void;
}

/**
 * Asks Telegram again and again, until the signal says so. Asking for what follows an update acknowledges it, so that is
 * done only once it is stored; one that could not be stored is asked for again. Never rejects.
 */
export async function pollTelegram(
  { client, take, timers, onTrouble }: PollDeps,
  signal: AbortSignal,
): Promise<void> {
  let next = 0;
  let webhookGone = false;
  while (!signal.aborted)
    try {
      // A webhook that was set before would keep everything from us.
      if (!webhookGone) await client.deleteWebhook({}, grammySignal(signal));
      webhookGone = true;
      const options = { offset: next, timeout: POLL_SECONDS, allowed_updates: [...HEARD_UPDATES] };
      for (const update of await client.getUpdates(options, grammySignal(signal))) {
        await take(update);
        next = update.update_id + 1;
      }
    } catch (error) {
      if (signal.aborted) return;
      onTrouble(error);
      await restMs(timers, signal);
    }
}

function restMs(timers: Timers, signal: AbortSignal): Promise<void> {
  const over = Promise.withResolvers<void>();
  const cancel = timers.after(REST_MS, over.resolve);
  signal.addEventListener("abort", () => over.resolve(), { once: true });
  return over.promise.finally(cancel);
}
