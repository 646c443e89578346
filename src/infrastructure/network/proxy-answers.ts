import type { Destination, Refused } from "../../domain/policy/network.ts";

const STATUS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  403: "Forbidden",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** Read by programs and models, so in English alone. */
const REASONS: Readonly<Record<Refused, string>> = {
  "bad-host": "is not a host",
  "not-allowed": "is not among the allowed domains",
  port: "is allowed, but not on this port",
  denied: "is denied",
  address: "has no address that may be reached: private, loopback and link-local ones are not",
};

export function refusalText({ host, port }: Destination, reason: Refused): string {
  return `${host}:${port} ${REASONS[reason]}`;
}

export function answerText(status: number, text: string): string {
  const body = `picoclaw: ${text}\n`;
  return [
    `HTTP/1.1 ${status} ${STATUS[status] ?? "Error"}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}
