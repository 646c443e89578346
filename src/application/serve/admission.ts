import type { ServeMessages } from "../../domain/texts/texts.ts";
import type { AccessStore } from "../ports/access.ts";
import type { InboundMessage, ReceiveResult } from "../ports/channel.ts";

type AdmissionRefusal = Extract<ReceiveResult, { status: "refused" }>;

export interface AdmissionDeps {
  readonly access: Pick<AccessStore, "person">;
  readonly messages: () => ServeMessages;
  /** Messages of one user in a minute; 0 is any number. */
  readonly perMinute: () => number;
  readonly now: () => Date;
  /** The answer to a stranger; it may name a way to be let in. */
  readonly onStranger?: (message: InboundMessage) => Promise<string>;
}

const MOST_CHARACTERS = 100_000;
const MINUTE_MS = 60_000;
const MOST_USERS = 10_000;

/** Who may speak, and how often. Whoever is signed in to the console was let in there; others must be known. */
export function createAdmission(
  parts: AdmissionDeps,
): (message: InboundMessage) => Promise<AdmissionRefusal | null> {
  /** When each user's last messages came, in the order of the users' last one. */
  const recent = new Map<string, number[]>();

  function tooMany(message: InboundMessage): boolean {
    const limit = parts.perMinute();
    if (limit === 0) return false;
    const key = `${message.channel}:${message.userId}`;
    const now = parts.now().getTime();
    const times = (recent.get(key) ?? []).filter((at) => at > now - MINUTE_MS);
    if (times.length >= limit) return true;
    recent.delete(key);
    recent.set(key, [...times, now]);
    if (recent.size > MOST_USERS) recent.delete(recent.keys().next().value as string);
    return false;
  }

  return async (message) => {
    const refuse = (reason: AdmissionRefusal["reason"], text: string): AdmissionRefusal => ({
      status: "refused",
      reason,
      text,
    });
    const words = parts.messages();
    if (message.text.length > MOST_CHARACTERS) return refuse("too-long", words.tooLong(MOST_CHARACTERS));
    if (message.channel !== "web") {
      const person = await parts.access.person(message.channel, message.userId);
      if (person === null) {
        // Past the limit nothing is said at all: each word to a stranger costs a row, a call, a push perhaps.
        if (tooMany(message)) return refuse("too-many", "");
        return refuse("stranger", (await parts.onStranger?.(message)) ?? words.stranger);
      }
    }
    return tooMany(message) ? refuse("too-many", words.tooMany) : null;
  };
}
