/** An edit that does not match is an attempt, not a reason to stop. */
import { afterEach, expect, test } from "bun:test";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const LINES = Array.from({ length: 400 }, (_, number) => `line ${number}\n`);

test("two edits that match nothing are two attempts, and after the second the coder sees the whole file", async () => {
  const asked: string[] = [];
  const wrong = proposal("Change", replace("long.txt", "nothing like this", "other"));
  at = await openConversation(
    ({ messages }, number) => {
      asked.push(messages.at(-1)?.text ?? "");
      return number < 2 ? wrong : proposal("Change", replace("long.txt", "line 399", "line last"));
    },
    { config: "checks: { enabled: never }\n" },
  );
  at.write("long.txt", LINES.join(""));
  const reply = await at.send("/code3 change the last line of long.txt");
  expect(reply.ok).toBe(true);
  expect(at.read("long.txt")).toEndWith("line last\n");
  expect(asked).toHaveLength(3);
  for (const number of [0, 123, 250, 399]) expect(asked[2]).toContain(`line ${number}\n`);
});
