import { timingSafeEqual } from "node:crypto";
import type { Update } from "grammy/types";
import { SIGNED_BY } from "./telegram-listen.ts";
import type { TakeUpdate } from "./telegram-updates.ts";

export const LIMIT_BYTES = 1024 ** 2;

/** The webhook of Telegram: it shows the secret that it was given. An update is stored before the 200, else it comes again. */
export function createTelegramWebhook(parts: {
  readonly secret: string;
  readonly take: TakeUpdate;
  readonly onTrouble: (error: unknown) => void;
}): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!isSameSecret(request.headers.get(SIGNED_BY) ?? "", parts.secret))
      return new Response(null, { status: 401 });
    const body = await request.text();
    if (body.length > LIMIT_BYTES) return new Response(null, { status: 413 });
    const update = readUpdate(body);
    if (update === null) return new Response(null, { status: 400 });
    try {
      await parts.take(update);
    } catch (error) {
      parts.onTrouble(error);
      return new Response(null, { status: 500 });
    }
    return new Response(null, { status: 200 });
  };
}

function isSameSecret(given: string, secret: string): boolean {
  const [one, other] = [Buffer.from(given), Buffer.from(secret)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function readUpdate(body: string): Update | null {
  try {
    const update = JSON.parse(body) as Partial<Update> | null;
    return typeof update?.update_id === "number" ? (update as Update) : null;
  } catch {
    return null;
  }
}
