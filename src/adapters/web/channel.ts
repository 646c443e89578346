import type { Channel } from "../../application/ports/channel.ts";

/**
 * The console as a channel. A reply is delivered when it is stored: the page reads it from there, and open pages hear
 * of it over the bus.
 */
export function createWebChannel(): Channel {
  return {
    name: "web",
    deliver: async () => ({ status: "sent" }),
    wasDelivered: async () => true,
    check: async () => ({ ok: true, detail: "console" }),
    close: async () => {},
  };
}
