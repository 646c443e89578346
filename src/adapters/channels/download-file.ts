import type { DownloadResult } from "../../application/ports/serve.ts";

export interface FileAddress {
  readonly url: string;
  /** Sent as a bearer; absent where the address itself is the right to read. */
  readonly token?: string;
}

type FetchFile = (
  url: string,
  init: { headers: Record<string, string>; redirect: "manual"; signal: AbortSignal },
) => Promise<Response>;

/**
 * Fetches a file from a service. It ends past the limit with the bytes so far, which are too long for its reader. No
 * redirect is followed: the token is for that address alone.
 */
export async function downloadFile(
  { url, token }: FileAddress,
  limitBytes: number,
  signal: AbortSignal,
  ask: FetchFile = fetch,
): Promise<DownloadResult> {
  try {
    const headers: Record<string, string> = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const response = await ask(url, { headers, redirect: "manual", signal });
    const type = response.headers.get("content-type") ?? "";
    if (response.status !== 200 || type.includes("text/html")) {
      await response.body?.cancel();
      return {
        ok: false,
        reason: type.includes("text/html") ? "a login is asked for" : `HTTP ${response.status}`,
      };
    }
    const pieces: Uint8Array[] = [];
    let length = 0;
    for await (const piece of response.body ?? []) {
      pieces.push(piece);
      length += piece.length;
      if (length > limitBytes) break;
    }
    return { ok: true, bytes: new Uint8Array(Buffer.concat(pieces)) };
  } catch (error) {
    // The address may hold a token, so the error's own words are not passed on.
    return { ok: false, reason: signal.aborted ? "no answer in time" : errorCodeOf(error) };
  }
}

function errorCodeOf(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "the connection failed";
}
