import type { InboundMessage } from "../ports/channel.ts";

/** In `replyTo`: somebody wrote in the console, in a chat of another channel, and reads the answer there. */
export const IN_THE_CONSOLE = { via: "web" } as const;

/** The channel that tells of an answer. */
export function replyChannelOf({ channel, replyTo }: Pick<InboundMessage, "channel" | "replyTo">): string {
  return replyTo?.via === IN_THE_CONSOLE.via ? IN_THE_CONSOLE.via : channel;
}
