import { isLoopback } from "./guard.ts";

/**
 * Who is behind a connection, as far as that can be told apart: its address. A proxy on this machine has written whom it
 * heard at the end of `X-Forwarded-For`; nobody else is believed. Of IPv6 the network counts, since it is one customer's.
 */
export function sourceOf(connection: string, headers: Headers): string {
  const from = connection.replace(/^::ffff:(?=\d+\.)/i, "");
  const heard = headers.get("x-forwarded-for")?.split(",").at(-1)?.trim() ?? "";
  const address = isLoopback(from) && heard !== "" ? heard : from;
  if (!address.includes(":") || address.includes(".")) return address;
  return address.split("::")[0]?.split(":").slice(0, 4).join(":") ?? address;
}
