import { HTTPFetchError, type messagingApi } from "@line/bot-sdk";
import { inTime } from "./in-time.ts";

/** The calls that the channel makes, of the official client. */
export type LineClient = Pick<
  messagingApi.MessagingApiClient,
  "replyMessage" | "pushMessage" | "showLoadingAnimation" | "getBotInfo"
>;

export type LineOutcome =
  | { readonly ok: true }
  | {
      readonly ok: false;
      readonly kind: "bad-token" | "known" | "limited" | "refused" | "unreachable";
      readonly reason: string;
      readonly afterMs?: number;
    };

/** Makes a call end within a time and its errors values: the client itself knows neither. */
export async function callLine(call: () => Promise<unknown>, signal: AbortSignal): Promise<LineOutcome> {
  try {
    await inTime(call(), signal, "LINE did not answer in time");
    return { ok: true };
  } catch (error) {
    if (!(error instanceof HTTPFetchError))
      return {
        ok: false,
        kind: "unreachable",
        reason: error instanceof Error ? error.message : String(error),
      };
    const { status, body, headers } = error;
    const reason = `LINE answered ${status}: ${body.slice(0, 200)}`;
    // 409: this retry key was accepted before.
    if (status === 409) return { ok: false, kind: "known", reason };
    if (status === 429) {
      const seconds = Number(headers.get("retry-after") ?? Number.NaN);
      return { ok: false, kind: "limited", reason, ...(seconds > 0 && { afterMs: seconds * 1000 }) };
    }
    if (status >= 500) return { ok: false, kind: "unreachable", reason };
    if (status === 400 && /reply token/i.test(body)) return { ok: false, kind: "bad-token", reason };
    return { ok: false, kind: "refused", reason };
  }
}
