import type { EventStore } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";

/** What a session keeps for a client that comes back; the oldest goes first, the latest always stays. */
const MOST_EVENTS = 1_000;
const MOST_CHARS = 4_000_000;

interface KeptEvent {
  readonly id: string;
  readonly stream: string;
  readonly message: JSONRPCMessage;
  readonly chars: number;
}

/** What was sent in one session, so that a client whose connection broke gets the rest of its stream. */
export function createEventStore(): EventStore {
  const kept: KeptEvent[] = [];
  let chars = 0;
  let count = 0;
  return {
    async storeEvent(stream, message) {
      count += 1;
      const event = { id: `${count}`, stream, message, chars: JSON.stringify(message).length };
      kept.push(event);
      chars += event.chars;
      while (kept.length > 1 && (kept.length > MOST_EVENTS || chars > MOST_CHARS))
        chars -= kept.shift()?.chars ?? 0;
      return event.id;
    },
    async replayEventsAfter(lastEventId, { send }) {
      const at = kept.findIndex(({ id }) => id === lastEventId);
      const last = kept[at];
      if (last === undefined) throw new Error(`event ${lastEventId.slice(0, 100)} is not kept`);
      // The first event of a stream only gives it an id; it holds no message.
      for (const { id, stream, message } of kept.slice(at + 1))
        if (stream === last.stream && "jsonrpc" in message) await send(id, message);
      return last.stream;
    },
  };
}
