import { createRequesterFn } from "@gitbeaker/requester-utils";
import type { ForgeFetch } from "./forge-fetch.ts";

/** The client library's own handler repeats a refused request within milliseconds; ours waits as long as the server asks. */
export function gitlabRequester(fetch: ForgeFetch, signal: AbortSignal) {
  return createRequesterFn(
    (_, options) => Promise.resolve(options),
    async (endpoint, options = {}) => {
      const { prefixUrl, searchParams, method, headers, body } = options as {
        prefixUrl?: string;
        searchParams?: string;
        method?: string;
        headers?: Record<string, string>;
        body?: string;
      };
      const url = new URL(endpoint, prefixUrl?.endsWith("/") ? prefixUrl : `${prefixUrl}/`);
      url.search = searchParams ?? "";
      const response = await fetch(
        new Request(url.href, {
          ...(method !== undefined && { method }),
          ...(headers !== undefined && { headers }),
          ...(body !== undefined && { body }),
        }),
        signal,
      );
      const text = await response.text();
      return {
        body: text === "" ? null : (JSON.parse(text) as Record<string, unknown>),
        headers: Object.fromEntries(response.headers.entries()),
        status: response.status,
      };
    },
  );
}
