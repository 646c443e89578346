import { expect, test } from "bun:test";
import { toBlocks } from "../../../../src/adapters/channels/slack-channel.ts";
import { channelMessagesFor } from "../../../../src/domain/texts/channels.ts";

test("a reply that names everyone notifies no one, in its notification either", () => {
  const text = "<!channel> look, <@U1>: a < b";
  const shown = toBlocks({ kind: "notice", text }, channelMessagesFor("en"));
  expect(shown.text).toBe("&lt;!channel&gt; look, &lt;@U1&gt;: a &lt; b");
  expect(JSON.stringify(shown.blocks)).not.toContain("<");
});
