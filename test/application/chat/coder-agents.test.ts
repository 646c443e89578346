/** Sub-agents: a coder's `delegate` calls, each in a draft of its own over the coder's draft. */
import { afterEach, expect, test } from "bun:test";
import { readlinkSync, statSync } from "node:fs";
import { join } from "node:path";
import type { ChatEvent } from "../../../src/application/ports/chat.ts";
import type { AskedRequest, FakeAnswer } from "../../fakes/fake-models.ts";
import { requirePart } from "../../require.ts";
import { proposal, replace } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const config = (coder = "") => `security:\n  local_only: false\ncoder:\n  explore: 6\n${coder}`;
const isAgent = ({ system = "" }: AskedRequest) => system.includes("You are a sub-agent");
const requestOf = ({ messages }: AskedRequest) => messages[0]?.text.split("Request:").at(-1)?.trim() ?? "";
const results = ({ messages }: AskedRequest) =>
  messages.filter(({ role }) => role === "tool").map(({ text }) => text);
const delegate = (...tasks: readonly { readonly task: string; readonly write?: boolean }[]) => ({
  calls: tasks.map((task) => ({ name: "delegate", arguments: task })),
});
const agentEvents = () =>
  at.events.filter((event): event is Extract<ChatEvent, { type: "agent" }> => event.type === "agent");
const draftsLeft = () => at.archive.list().filter(({ state }) => state === "running");

/** `coder` answers by its turn, `agent` by its task and turn. */
function open(
  coder: (asked: AskedRequest, turn: number) => FakeAnswer | Promise<FakeAnswer>,
  agent: (asked: AskedRequest, turn: number) => FakeAnswer | Promise<FakeAnswer>,
  coderConfig = "",
) {
  const turns = new Map<string, number>();
  const answer = (asked: AskedRequest) => {
    const who = isAgent(asked) ? requestOf(asked) : "";
    const turn = turns.get(who) ?? 0;
    turns.set(who, turn + 1);
    return isAgent(asked) ? agent(asked, turn) : coder(asked, turn);
  };
  return openConversation(answer, { local: false, config: config(coderConfig) });
}

test("a question is answered by a read-only sub-agent, and its words are passed back", async () => {
  at = await open(
    (asked, turn) =>
      turn === 0
        ? delegate({ task: "Which port does the server use?" })
        : proposal(`It is ${/\d{4}/.exec(results(asked)[0] ?? "")?.[0]}`, replace("b.txt", "one", "two")),
    (asked, turn) =>
      turn === 0
        ? { calls: [{ name: "search", arguments: { pattern: "listen" } }] }
        : `It listens on ${/listen\((\d+)/.exec(results(asked)[0] ?? "")?.[1]} (server.ts:1).`,
  );
  at.write("server.ts", "listen(4711);\n");
  at.write("b.txt", "one\n");
  const reply = await at.send("/code3 write the port down with sub-agents");
  expect(reply.ok).toBe(true);
  expect(reply.text).toContain("It is 4711");
  const asked = at.asked.find(isAgent);
  expect(asked?.tools?.map(({ name }) => name)).toEqual(["read_file", "search", "tree", "run"]);
  expect(asked?.system).not.toContain("## Plan");
  const told = agentEvents();
  expect(told.map(({ doing }) => doing)).toEqual(["", "fake/coder3", "search listen", "fake/coder3", ""]);
  expect(told.at(-1)).toMatchObject({ number: 1, writes: false, state: "done", files: 0 });
  expect(draftsLeft()).toEqual([]);
});

test("what a writing sub-agent changed is in the coder's draft, and lands with it as one job", async () => {
  at = await open(
    (_, turn) =>
      turn === 0
        ? delegate({ task: "Change a.txt", write: true })
        : proposal("Both", replace("b.txt", "one", "two")),
    () => proposal("Mine", replace("a.txt", "one", "two")),
  );
  at.write("a.txt", "one\n");
  at.write("b.txt", "one\n");
  const reply = await at.send("/code3 change both with sub-agents");
  expect(reply.ok).toBe(true);
  expect([at.read("a.txt"), at.read("b.txt")]).toEqual(["two\n", "two\n"]);
  expect(reply.jobs).toHaveLength(1);
  expect(reply.jobs[0]?.changes.map(({ path }) => path)).toEqual(["a.txt", "b.txt"]);
  expect(results(at.asked.at(-1) as AskedRequest)).toEqual(["Sub-agent 1: Mine\nIn your draft now: a.txt"]);
  await at.send("/undo");
  expect([at.read("a.txt"), at.read("b.txt")]).toEqual(["one\n", "one\n"]);
  expect(draftsLeft()).toEqual([]);
});

test("several of one answer work at the same time; lines of one file are merged, and words alone end it", async () => {
  const both = Promise.withResolvers<void>();
  let working = 0;
  at = await open(
    (_, turn) =>
      turn === 0
        ? delegate({ task: "part 1", write: true }, { task: "part 2", write: true })
        : "Both parts are done.",
    async (asked) => {
      if (++working === 2) both.resolve();
      await both.promise;
      const number = requestOf(asked).at(-1);
      return proposal(`p${number}`, replace("a.txt", `part ${number}`, `PART ${number}`));
    },
  );
  at.write("a.txt", "part 1\n1\n2\n3\npart 2\n");
  const reply = await at.send("/code3 do it with sub-agents");
  expect(reply.text).toContain("Both parts are done.");
  expect(reply.ok).toBe(true);
  expect(at.read("a.txt")).toBe("PART 1\n1\n2\n3\nPART 2\n");
  expect(reply.text).not.toContain("merged");
});

test("changes of one line are a conflict: the first is taken, and the coder sees both texts", async () => {
  at = await open(
    (_, turn) =>
      turn === 0
        ? delegate({ task: "say red", write: true }, { task: "say blue", write: true })
        : proposal("Both", replace("a.txt", "colour: red", "colour: red and blue")),
    async (asked) => {
      while (requestOf(asked) === "say blue" && !agentEvents().some(({ state }) => state === "done"))
        await new Promise((resolve) => setImmediate(resolve));
      return proposal("p", replace("a.txt", "colour: none", `colour: ${requestOf(asked).slice(4)}`));
    },
  );
  at.write("a.txt", "colour: none\n");
  const reply = await at.send("/code3 do it with sub-agents");
  const [first, second] = results(at.asked.at(-1) as AskedRequest);
  expect(first).toContain("In your draft now: a.txt");
  expect(second).toContain("a.txt: not used");
  expect(second).toContain("colour: none");
  expect(second).toContain("colour: blue");
  expect(reply.ok).toBe(true);
  expect(at.read("a.txt")).toBe("colour: red and blue\n");
  expect(agentEvents().filter(({ state }) => state === "failed")).toHaveLength(1);
});

test("a sub-agent begins with what the coder's draft has", async () => {
  at = await open(
    (_, turn) =>
      turn === 0
        ? proposal("First", `${replace("a.txt", "one", "two")}\n${replace("b.txt", "not there", "x")}`)
        : turn === 1
          ? delegate({ task: "Go on in a.txt", write: true }, { task: "What does a.txt say?" })
          : proposal("Rest", ""),
    (asked) => {
      const shows = asked.messages[0]?.text.includes("two") === true;
      return requestOf(asked).startsWith("What")
        ? `two: ${shows}`
        : proposal("p", replace("a.txt", "two", "three"));
    },
  );
  at.write("a.txt", "one\n");
  at.write("b.txt", "one\n");
  await at.send("/code3 go with sub-agents");
  expect(at.read("a.txt")).toBe("three\n");
  expect(results(at.asked.at(-1) as AskedRequest)[1]).toContain("two: true");
});

test.each<[string, (asked: AskedRequest, turn: number) => FakeAnswer, RegExp]>([
  ["a reason", () => "It adds.\nNo change: a question", /changed nothing and says:\nIt adds\.\na question/],
  ["prose", () => "I would rather not.", /changed nothing and says:\nI would rather not\./],
  ["nothing", () => "", /got no answer from its model/],
  [
    "half a patch",
    () => "## Plan\np\n## Patch\na.txt\n```\n<<<<<<< SEARCH\none\n",
    /nothing that could be executed/,
  ],
  [
    "an edit that never fits",
    () => proposal("p", replace("a.txt", "zzz", "y")),
    /none of its work was used: a\.txt/,
  ],
  [
    "a sub-agent that delegates itself",
    (asked, turn) => (turn === 0 ? delegate({ task: "You do it" }) : (results(asked).at(-1) ?? "")),
    /you cannot delegate/,
  ],
  ["a model that fails", () => ({ fails: "server-error", message: "out of order" }), /out of order/],
])("a sub-agent's fault is told to the coder, which goes on: %s", async (_, agent, told) => {
  at = await open(
    (_, turn) =>
      turn === 0
        ? delegate({ task: "Change a.txt", write: true })
        : proposal("p", replace("a.txt", "one", "two")),
    agent,
  );
  at.write("a.txt", "one\n");
  const reply = await at.send("/code3 change a.txt with sub-agents");
  expect(results(at.asked.at(-1) as AskedRequest)[0]).toMatch(told);
  expect(reply.ok).toBe(true);
  expect(at.read("a.txt")).toBe("two\n");
  expect(draftsLeft()).toEqual([]);
});

test("as many as the setting says work at once, the others wait, and three times as many are the end", async () => {
  let working = 0;
  let most = 0;
  at = await open(
    (_, turn) =>
      turn === 0 ? delegate(...Array.from({ length: 7 }, (_, n) => ({ task: `question ${n}` }))) : "Enough.",
    async () => {
      most = Math.max(most, ++working);
      await new Promise((resolve) => setImmediate(resolve));
      working--;
      return "An answer.";
    },
    "  sub_agents: 2\n",
  );
  await at.send("/code3 ask around with sub-agents");
  expect(most).toBe(2);
  const told = results(at.asked.at(-1) as AskedRequest);
  expect(told.filter((text) => text.includes("An answer."))).toHaveLength(6);
  expect(told.at(-1)).toStartWith("refused: 6 sub-agents have worked");
});

test("without sub-agents the tool is not offered", async () => {
  at = await open(
    () => "Nothing to do.",
    () => "",
    "  sub_agents: 0\n",
  );
  await at.send("/code3 ask sub-agents: what is this?");
  expect(at.asked[0]?.tools?.map(({ name }) => name)).not.toContain("delegate");
});

test("/stop ends the coder and every sub-agent, and nothing is left", async () => {
  const stop = new AbortController();
  at = await open(
    () => delegate({ task: "one", write: true }, { task: "two" }),
    () => {
      if (at.asked.filter(isAgent).length === 2) stop.abort();
      return "hangs-until-aborted";
    },
  );
  at.write("a.txt", "one\n");
  const reply = await at.send("/code3 go with sub-agents", { signal: stop.signal });
  expect(reply.ok).toBe(false);
  expect(agentEvents().filter(({ state }) => state === "stopped")).toHaveLength(2);
  expect(draftsLeft()).toEqual([]);
  expect(at.tree()).toEqual({ "a.txt": at.tree()["a.txt"] as string });
});

test("one alone is stopped by its id, from any process, and the others go on", async () => {
  at = await open(
    (_, turn) => (turn === 0 ? delegate({ task: "slow" }, { task: "quick" }) : "No change: asked"),
    ({ signal, ...asked }) =>
      requestOf({ signal, ...asked }) === "quick"
        ? "Quick."
        : new Promise((resolve) => {
            const jobId = draftsLeft().find(({ source }) => source === "chat:cli")?.jobId ?? "";
            at.archive.append(jobId, { type: "agent_stop", agent: 1 });
            signal.addEventListener("abort", () => resolve("late"));
          }),
  );
  const reply = await at.send("/code3 go with sub-agents");
  expect(reply.ok).toBe(true);
  expect(results(at.asked.at(-1) as AskedRequest)).toEqual([
    "Sub-agent 1 was stopped; none of its work was used.",
    "Sub-agent 2 says:\nQuick.",
  ]);
});

test("a sub-agent has a share of what the message may cost, and the whole is one sum", async () => {
  at = await open(
    (_, turn) => (turn === 0 ? delegate({ task: "look around" }) : "Done."),
    (_, turn) => ({ calls: [{ name: "tree", arguments: { path: `folder${turn}` } }] }),
    "  sub_agents: 1\n  budget_usd: 0.1\nbudget:\n  prices:\n    coder3: { input: 1000, output: 1000, cached: 100 }\n",
  );
  await at.send("/code3 go with sub-agents");
  expect(results(at.asked.at(-1) as AskedRequest).at(-1)).toContain("its share of coder.budget_usd");
});

test.if(requirePart("bwrap"))(
  "commands of a sub-agent run in its own draft, and files of any kind come back",
  async () => {
    at = await open(
      (_, turn) => (turn === 0 ? delegate({ task: "make them", write: true }) : "Made."),
      () =>
        proposal(
          "p",
          "```bash\nprintf '\\0\\1' > bin.dat; printf 'echo hi\\n' > go.sh; chmod +x go.sh; ln -s a.txt link; rm gone.txt; mkdir -p deep/er; echo x > deep/er/f\n```",
        ),
    );
    at.write("a.txt", "one\n");
    at.write("gone.txt", "old\n");
    const before = at.tree();
    const reply = await at.send("/code3 go with sub-agents");
    expect(reply.ok).toBe(true);
    expect(Object.keys(at.tree()).sort()).toEqual(["a.txt", "bin.dat", "deep/er/f", "go.sh"]);
    expect(readlinkSync(join(at.workspace, "link"))).toBe("a.txt");
    expect(statSync(join(at.workspace, "go.sh")).mode & 0o111).not.toBe(0);
    await at.send("/undo");
    expect(at.tree()).toEqual(before);
  },
);

/** The second sub-agent answers when the first one's work is in the coder's draft. */
async function afterFirst() {
  while (!agentEvents().some(({ state }) => state === "done"))
    await new Promise((resolve) => setImmediate(resolve));
}
const bash = (script: string) => `\`\`\`bash\n${script}\n\`\`\``;

/** The first runs `first`, then the second runs `second`; the coder adds nothing. */
async function runTwo(first: string, second: string) {
  at = await open(
    (_, turn) =>
      turn === 0 ? delegate({ task: "first", write: true }, { task: "second", write: true }) : "Done.",
    async (asked) => {
      if (requestOf(asked) === "first") return proposal("p", first);
      await afterFirst();
      return proposal("p", second);
    },
  );
  at.write("f.txt", "a\nb\nc\n");
  at.write("d/old.txt", "old\n");
  const reply = await at.send("/code3 go with sub-agents");
  expect(reply.ok).toBe(true);
  // Each of the two is asked once: nothing of the other's work is a reason to ask again.
  expect(at.asked.filter(isAgent)).toHaveLength(2);
  expect(at.archive.list().filter(({ state }) => state === "staged" || state === "running")).toEqual([]);
  return results(at.asked.at(-1) as AskedRequest)[1] ?? "";
}

test.if(requirePart("bwrap")).each<[string, string, string, RegExp, string?]>([
  [
    "changes the line",
    replace("f.txt", "b", "B"),
    "sed -i s/b/ccc/ f.txt",
    /f\.txt: not used.*\n<text .*began with it">\na\nb\nc\n<\/text>\n<text .*would have it">\na\nccc\nc\n/,
  ],
  [
    "deletes the file",
    replace("f.txt", "b", "B"),
    "rm f.txt",
    /f\.txt: not used.* The sub-agent deleted it\.\n<text .*began with it">\na\nb\nc\n/,
  ],
  [
    "makes a link of the file",
    replace("f.txt", "b", "B"),
    "ln -sf d f.txt",
    /f\.txt: not used[^<]*yourself\.\n/,
  ],
  [
    "makes a folder where a file is by now",
    bash("echo A > new"),
    "mkdir new; echo B > new/x",
    /new\/x: not used(.|\n)*\nB\n/,
    "new",
  ],
  [
    "makes a file where a folder is by now",
    bash("mkdir new; echo A > new/x"),
    "echo B > new",
    /new: not used(.|\n)*\nB\n/,
    "new/x",
  ],
  [
    "deletes a folder that has a new file",
    bash("echo A > d/new.txt"),
    "rm -r d",
    /In your draft now: .*d\/old\.txt/,
    "d/new.txt",
  ],
])(
  "a command of a sub-agent that %s: what does not fit comes back, and the rest is taken",
  async (_, first, second, told, kept = "f.txt") => {
    const heard = await runTwo(first, bash(`${second}; echo valuable > valuable.txt`));
    expect(heard).toMatch(told);
    expect(heard).toMatch(/In your draft now: .*valuable\.txt/);
    expect(at.read("valuable.txt")).toBe("valuable\n");
    expect(at.read(kept)).toBe(kept === "f.txt" ? "a\nB\nc\n" : "A\n");
  },
);

test.if(requirePart("bwrap"))(
  "a sub-agent whose command was refused for what it wrote hears why",
  async () => {
    at = await open(
      (_, turn) => (turn === 0 ? delegate({ task: "make it", write: true }) : "Done."),
      (_, turn) => (turn === 0 ? proposal("p", bash("echo A=1 > .env")) : "I cannot."),
    );
    at.write(".env", "A=0\n");
    await at.send("/code3 go with sub-agents");
    const told = at.asked.filter(isAgent).at(-1)?.messages.at(-1)?.text ?? "";
    expect(told).toContain("exit code 0\nprotected file cannot be modified: .env (restored)\n<output>");
  },
);

test.if(requirePart("bwrap"))(
  "a file that the user saves all the time comes back as texts, and the rest of the sub-agent's work is taken",
  async () => {
    at = await open(
      (_, turn) => (turn === 0 ? delegate({ task: "delete it", write: true }) : "Done."),
      (_, turn) => {
        at.write("f.txt", `saved ${turn}\n`);
        return proposal("p", bash("rm f.txt; echo valuable > valuable.txt"));
      },
    );
    at.write("f.txt", "begin\n");
    const reply = await at.send("/code3 go with sub-agents");
    expect(reply.ok).toBe(true);
    const [heard = ""] = results(at.asked.at(-1) as AskedRequest);
    expect(heard).toMatch(/In your draft now: valuable\.txt\nf\.txt: not used.* The sub-agent deleted it\./);
    expect([at.read("f.txt"), at.read("valuable.txt")]).toEqual(["saved 2\n", "valuable\n"]);
    expect(at.archive.list().filter(({ state }) => state === "staged")).toEqual([]);
  },
);
