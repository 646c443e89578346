import type { DeliveryResult, DownloadResult } from "../../application/ports/serve.ts";
import { readUpTo } from "../../domain/platform/file-bytes.ts";

export type NotDelivered = Exclude<DeliveryResult, { status: "sent" }>;

/** Why a service currently delivers nothing, and what helps. */
export interface ServiceTrouble {
  readonly detail: string;
  readonly remedy?: string;
}

export type ServiceCall<T> =
  | { readonly ok: true; readonly value: T }
  /** `delivered`: how the reply that was being sent continues. */
  | { readonly ok: false; readonly error: unknown; readonly delivered: NotDelivered };

/** Makes a call end with the signal, and its errors values: `read` says what they mean. */
export async function callService<T>(
  call: () => Promise<T>,
  signal: AbortSignal,
  read: (error: unknown) => NotDelivered,
): Promise<ServiceCall<T>> {
  try {
    return { ok: true, value: await inTime(call(), signal) };
  } catch (error) {
    return { ok: false, error, delivered: read(error) };
  }
}

/** The result of a call, or a rejection as soon as the signal aborts: some clients do not support signals. */
export async function inTime<T>(call: Promise<T>, signal: AbortSignal, why = "no answer in time") {
  const late = Promise.withResolvers<never>();
  const end = () => late.reject(new Error(why));
  if (signal.aborted) end();
  signal.addEventListener("abort", end, { once: true });
  try {
    return await Promise.race([call, late.promise]);
  } finally {
    signal.removeEventListener("abort", end);
  }
}

/** 200 once the event is stored, with the text that the person is shown; after a 500 the service sends it again. */
export async function answerEvent(
  store: () => Promise<unknown>,
  onTrouble: (error: unknown) => void,
): Promise<Response> {
  try {
    const answer = await store();
    return new Response(typeof answer === "string" ? answer : null, { status: 200 });
  } catch (error) {
    onTrouble(error);
    return new Response(null, { status: 500 });
  }
}

/** Keeps the newest of what only this process knows. */
export function remember(known: Set<string>, key: string, most: number): void {
  known.add(key);
  if (known.size > most) known.delete(known.values().next().value as string);
}

export interface FileAddress {
  readonly url: string;
  /** Sent as a bearer; absent where the address itself is the right to read. */
  readonly token?: string;
}

/** Past the limit it ends with the bytes so far. No redirect is followed: the token is for that address alone. */
export async function downloadFile(
  { url, token }: FileAddress,
  limitBytes: number,
  signal: AbortSignal,
): Promise<DownloadResult> {
  try {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await fetch(url, { headers, redirect: "manual", signal });
    const type = response.headers.get("content-type") ?? "";
    if (response.status !== 200 || type.includes("text/html")) {
      await response.body?.cancel();
      return {
        ok: false,
        reason: type.includes("text/html") ? "a login is asked for" : `HTTP ${response.status}`,
      };
    }
    const { bytes } = await readUpTo(response.body, limitBytes);
    return { ok: true, bytes: new Uint8Array(bytes) };
  } catch (error) {
    // The address may hold a token, so the error's own words are not passed on.
    return { ok: false, reason: signal.aborted ? "no answer in time" : errorCodeOf(error) };
  }
}

function errorCodeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "the connection failed";
}
