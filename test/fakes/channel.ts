import type { Channel, Delivery, DeliveryResult, InboundMessage } from "../../src/application/ports/serve.ts";

/** A service that recognises doubles by their key, and can be made to fail. */
export function createFakeChannel(name = "test") {
  const shown: { readonly chatId: string; readonly text: string; readonly key: string }[] = [];
  const calls: Delivery[] = [];
  const faults: (DeliveryResult | "silent-success")[] = [];
  const channel: Channel = {
    name,
    async deliver(delivery) {
      calls.push(delivery);
      const fault = faults.shift();
      if (fault !== undefined && fault !== "silent-success") return fault;
      if (!shown.some(({ key }) => key === delivery.key))
        shown.push({ chatId: delivery.chatId, text: textOf(delivery), key: delivery.key });
      // It arrived, but its answer did not.
      return fault === "silent-success" ? { status: "later", reason: "no answer" } : { status: "sent" };
    },
    async check() {
      return { ok: true, detail: "" };
    },
    async close() {},
  };
  return { channel, shown, calls, faults };
}

function textOf({ content }: Pick<Delivery, "content">): string {
  return content.kind === "reply" ? content.reply.text : content.text;
}

export function inbound(n: number, more: Partial<InboundMessage> = {}): InboundMessage {
  return {
    channel: "test",
    eventId: `event-${n}`,
    chatId: "chat-1",
    userId: "user-1",
    text: `text ${n}`,
    ...more,
  };
}
