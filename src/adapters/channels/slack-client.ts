import { webApi } from "@slack/bolt";
import type { DeliveryResult } from "../../application/ports/channel.ts";
import { inTime } from "./in-time.ts";

export type SlackClient = Pick<webApi.WebClient, "chat" | "conversations" | "auth" | "filesUploadV2">;

export type SlackCall<T> =
  | { readonly ok: true; readonly value: T }
  | {
      readonly ok: false;
      readonly delivered: DeliveryResult;
      /** Slack answered that it will not do this; otherwise it was too busy, or nobody knows. */
      readonly refused: boolean;
    };

/** What the call brought, or how its reply is to go on. */
export async function callSlack<T>(call: () => Promise<T>, signal: AbortSignal): Promise<SlackCall<T>> {
  try {
    return { ok: true, value: await inTime(call(), signal, "no answer in time") };
  } catch (error) {
    const { code } = error as { code?: string };
    return { ok: false, delivered: toDelivered(error), refused: code === webApi.ErrorCode.PlatformError };
  }
}

const NEVER =
  /^(?:channel_not_found|is_archived|not_in_channel|account_inactive|restricted_action|user_not_found|cannot_dm_bot|messages_tab_disabled)$/;

function toDelivered(error: unknown): DeliveryResult {
  const { code, retryAfter, data } = error as {
    code?: string;
    retryAfter?: number;
    data?: { error?: string };
  };
  const reason = `Slack: ${data?.error ?? (error instanceof Error ? error.message : String(error))}`;
  if (code === webApi.ErrorCode.RateLimitedError)
    return { status: "later", reason, afterMs: (retryAfter ?? 30) * 1000 };
  if (data?.error !== undefined && NEVER.test(data.error)) return { status: "impossible", reason };
  return { status: "later", reason };
}
