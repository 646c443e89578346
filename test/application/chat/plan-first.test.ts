import { afterEach, expect, test } from "bun:test";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

test("/code plan … explores and writes nothing, and go carries the plan out by the same coder", async () => {
  at = await openConversation(
    (_, turn) =>
      [
        "## Files\n- a.txt\n",
        proposal("1. Turn one into two in a.txt", replace("a.txt", "one", "never")),
        proposal("Done as planned", replace("a.txt", "one", "two")),
      ].at(turn) ?? "",
  );
  at.write("a.txt", "one\n");
  for (let i = 0; i < 250; i++) at.write(`other/${i}.txt`, "x\n");
  const planned = await at.send("/code2 plan make it two");
  expect(planned.text).toStartWith("1. Turn one into two in a.txt\n\nNothing was changed.");
  expect(planned).toMatchObject({ ok: true, jobs: [], actions: [{ message: "go" }] });
  expect(at.read("a.txt")).toBe("one\n");
  expect(at.archive.list()).toEqual([]);
  expect(at.asked[0]?.system).toContain("Change nothing yet.");
  const done = await at.send("go");
  expect(done.ok).toBe(true);
  expect(done.decision).toMatchObject({ route: "CODE2", source: "explicit" });
  expect(at.asked[2]?.messages[0]?.text).toEndWith(
    "make it two\n\nCarry out this plan:\n1. Turn one into two in a.txt",
  );
  expect(at.read("a.txt")).toBe("two\n");
});

test("Mio's plan has a button that gives it to a coder", async () => {
  at = await openConversation(({ role }) =>
    role === "chat" ? "First write a.txt." : proposal("p", "```txt:a.txt\nx\n```"),
  );
  const plan = await at.send("/plan how to begin");
  expect(plan.actions).toMatchObject([{ label: "Give to a coder", message: "/code go" }]);
  const done = await at.send("/code go");
  expect(done.ok).toBe(true);
  expect(at.of("coder3")[0]?.messages[0]?.text).toEndWith(
    "how to begin\n\nCarry out this plan:\nFirst write a.txt.",
  );
  expect(at.tree()).toEqual({ "a.txt": "x\n" });
});

test("go without a plan is a message like any other", async () => {
  at = await openConversation(({ role }) =>
    role === "chat" ? "Where to?" : '{"route":"CHAT","confidence":0.9,"reason":""}',
  );
  const reply = await at.send("go");
  expect(reply.text).toBe("Where to?");
});
