import type { Destination, RefusedDestination } from "../../domain/policy/network.ts";

const STATUS: Readonly<Record<number, string>> = {
  400: "Bad Request",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

/** Read by programs and models, so in English alone. */
const REASONS: Readonly<Record<RefusedDestination, string>> = {
  "bad-host": "is not a host",
  "not-allowed": "is not among the allowed domains",
  port: "is allowed, but not on this port",
  denied: "is denied",
  address: "has no address that may be reached: private, loopback and link-local ones are not",
};

/** Programs show the status line of a refused tunnel, and none of them its body. */
export function refusalStatus({ host, port }: Destination, reason: RefusedDestination): string {
  return `Refused by picoclaw: ${host.replace(/[^\x21-\x7e]/g, "?").slice(0, 300)}:${port} ${REASONS[reason]}`;
}

export function refusalText({ host, port }: Destination, reason: RefusedDestination): string {
  return `${host}:${port} ${REASONS[reason]}`;
}

export function answerText(status: number, text: string, phrase: string = STATUS[status] ?? "Error"): string {
  const body = `picoclaw: ${text}\n`;
  return [
    `HTTP/1.1 ${status} ${phrase}`,
    "Content-Type: text/plain; charset=utf-8",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
}
