import { afterEach, beforeEach, expect, test } from "bun:test";
import { hasMoved } from "../../../src/adapters/cli/card-deck.ts";
import { createCardMaker } from "../../../src/adapters/cli/conversation-cards.ts";
import { takeBackFacts } from "../../../src/application/jobs/action-report.ts";
import { diffText } from "../../../src/application/jobs/job-facts.ts";
import type { Reply } from "../../../src/application/ports/chat.ts";
import { terminalMessagesFor } from "../../../src/domain/texts/cli-terminal.ts";
import { messagesFor } from "../../../src/domain/texts/jobs.ts";
import { type Bench, createBench, shell } from "../../application/jobs/worker-kit.ts";

let bench: Bench;
beforeEach(() => {
  bench = createBench();
});
afterEach(() => bench.remove());

test("a card counts the files of a deleted folder, and names links, folders and permissions for what they are", async () => {
  for (const [path, text] of Object.entries({ "d/a": "a\n", "d/e/b": "b\n", run: "r\n" }))
    bench.write(path, text);
  await bench.run([shell("mkdir gone; ln -s run old")]);
  const { jobId } = await bench.run([
    shell("rm -rf d gone old; mkdir -p made; ln -s run new; chmod 755 run"),
  ]);
  const workspace = await bench.open();
  const texts = terminalMessagesFor("en");
  const maker = createCardMaker({ workspace, messages: messagesFor("en"), texts });
  const card = maker.fromJob(workspace.archive.read(jobId)!);
  const drawn = card.lines.map((line) => ("text" in line ? line.text : "path" in line ? line.path : ""));
  expect(drawn).toEqual([
    ...["new", "symbolic link", "old", "symbolic link"],
    ...[
      "d/ · 2 files deleted",
      "gone/ · folder deleted",
      "made/ · folder added",
      "run · permissions changed",
    ],
  ]);
  expect(await diffText(workspace.archive.differences(jobId))).toBe(
    "# new: symbolic link\n# old: symbolic link\n",
  );

  const facts = takeBackFacts(
    workspace,
    "undo",
    await workspace.takeBack({ direction: "undo", force: false }),
  );
  maker.describeMove(card, facts);
  expect(card.moved).toBe("5 files as before: d/, gone/, made/, new, old +1");
});

test("a card offers undo and redo, and tells of them, only for jobs that changed something", async () => {
  const ids = [await bench.run([shell("true")]), await bench.run([shell("echo x > a")])].map(
    (one) => one.jobId,
  );
  const workspace = await bench.open();
  const maker = createCardMaker({ workspace, messages: messagesFor("en"), texts: terminalMessagesFor("en") });
  const card = maker.fromJob(workspace.archive.read(ids[0]!)!);
  const keys = () => [ids.slice(0, 1), ids].map((jobIds) => maker.keys({ ...card, jobIds }));
  const undo = async (name: string) =>
    hasMoved(
      takeBackFacts(workspace, "undo", await workspace.takeBack({ direction: "undo", name, force: false })),
    );
  expect(keys()).toEqual([[], ["undo", "diff", "open"]]);
  expect(await undo(ids[0]!)).toBe(false);
  expect(keys()).toEqual([[], ["undo", "diff", "open"]]);
  expect(await undo(ids[1]!)).toBe(true);
  expect(keys()).toEqual([[], ["redo", "diff", "open"]]);
});

test("a card has the title of the plan that landed, not of an earlier attempt", async () => {
  const ran = await bench.run([shell("echo x > a")]);
  const workspace = await bench.open();
  const maker = createCardMaker({ workspace, messages: messagesFor("en"), texts: terminalMessagesFor("en") });
  const titleOf = (plan: string, tried: readonly string[]) => {
    const job = { kind: "job", plan, facts: ran };
    const coder = { kind: "coder", facts: { attempts: tried.length + 1, tried } };
    return maker.fromReply({ text: "", said: [job, coder] } as unknown as Reply, "1 s")?.title;
  };
  expect(titleOf("Count them.\n→ 2. Multiply.\nThen test.", ["Count them."])).toBe("Multiply.");
  expect(titleOf("Count them.", ["Count them."])).toBe("Count them.");
  expect(titleOf("Count them.\n→ as in the docs", [])).toBe("Count them.");
});
