/** Undo of a job whose files were changed since: merged out of them, as a job of its own. */
import { afterEach, expect, test } from "bun:test";
import { proposal, replace } from "../chat/chat-kit.ts";
import { type OpenedConversation, openConversation } from "../chat/conversation-kit.ts";

let at: OpenedConversation;
afterEach(() => at.close());

const COUNT = 8;
const line = (number: number) => `value ${number} = 0\n\n\n`;
const TEXT = Array.from({ length: COUNT }, (_, number) => line(number)).join("");
const withValues = (numbers: readonly number[]) =>
  numbers.reduce(
    (text, number) => text.replace(`value ${number} = 0`, `value ${number} = ${number + 10}`),
    TEXT,
  );
const all = [...Array(COUNT).keys()];

async function eightJobs() {
  at = await openConversation(({ messages }) => {
    const number = /set (\d)/.exec(messages[0]?.text.split("Request:").at(-1) ?? "")?.[1] ?? "";
    return proposal(
      `Set ${number}`,
      replace("a.txt", `value ${number} = 0`, `value ${number} = ${Number(number) + 10}`),
    );
  });
  at.write("a.txt", TEXT);
  for (const number of all) expect((await at.send(`/code3 set ${number}`)).ok).toBe(true);
  return at.archive.list().map(({ jobId }) => jobId);
}

test("the third of eight in one file is undone alone, redone, and undone again", async () => {
  const jobs = await eightJobs();
  const third = jobs[2] as string;
  const undone = await at.send(`/undo ${third}`);
  expect(undone.text).toContain("#3 was merged out of them as #9");
  expect(undone.ok).toBe(true);
  expect(at.read("a.txt")).toBe(withValues(all.filter((number) => number !== 2)));
  expect(at.archive.read(third)?.state).toBe("undone");
  expect((await at.send(`/undo ${third}`)).ok).toBe(false);
  expect((await at.send(`/redo ${third}`)).ok).toBe(true);
  expect(at.read("a.txt")).toBe(withValues(all));
  expect(at.archive.read(third)?.state).toBe("committed");
  expect((await at.send(`/undo ${third}`)).ok).toBe(true);
  expect(at.read("a.txt")).toBe(withValues(all.filter((number) => number !== 2)));
});

test("of several that were undone by a merge, any is redone, in any order, and undone once more", async () => {
  const jobs = await eightJobs();
  const [third, fifth] = [jobs[2] as string, jobs[4] as string];
  for (const job of [third, fifth]) expect((await at.send(`/undo ${job}`)).ok).toBe(true);
  const redone = await at.send(`/redo ${third}`);
  expect(redone.text).toContain("#3 was merged into them as #11");
  expect(redone.ok).toBe(true);
  expect(at.read("a.txt")).toBe(withValues(all.filter((number) => number !== 4)));
  expect([third, fifth].map((job) => at.archive.read(job)?.state)).toEqual(["committed", "undone"]);
  expect((await at.send(`/redo ${fifth}`)).ok).toBe(true);
  expect(at.read("a.txt")).toBe(withValues(all));
  expect((await at.send(`/undo ${third}`)).ok).toBe(true);
  expect(at.read("a.txt")).toBe(withValues(all.filter((number) => number !== 2)));
  expect(at.archive.read(third)?.state).toBe("undone");
});

test("a job that was undone exactly is redone by a merge if its file was edited since, and undone and redone once more", async () => {
  const jobs = await eightJobs();
  const last = jobs[7] as string;
  expect((await at.send(`/undo ${last}`)).text).not.toContain("merged");
  const mine = (text: string) => text.replace("value 1 = 11", "value 1 = mine");
  at.write("a.txt", mine(withValues(all.slice(0, 7))));
  const redone = await at.send(`/redo ${last}`);
  expect(redone.text).toContain("#8 was merged into them as #");
  expect([redone.ok, at.read("a.txt")]).toEqual([true, mine(withValues(all))]);
  expect(at.archive.read(last)?.state).toBe("committed");
  expect((await at.send(`/redo ${last}`)).ok).toBe(false);
  expect((await at.send(`/undo ${last}`)).ok).toBe(true);
  expect(at.read("a.txt")).toBe(mine(withValues(all.slice(0, 7))));
  expect(at.archive.read(last)?.state).toBe("undone");
  expect((await at.send("/redo")).ok).toBe(true);
  expect(at.read("a.txt")).toBe(mine(withValues(all)));
  at.write("a.txt", at.read("a.txt").replace("value 3 = 13", "value 3 = mine too"));
  expect((await at.send(`/undo ${last}`)).text).toContain("#8 was merged out of them as #");
  expect(at.read("a.txt")).toBe(
    mine(withValues(all.slice(0, 7))).replace("value 3 = 13", "value 3 = mine too"),
  );
});

test("a redo whose own lines were edited since changes nothing, says so and uses up no number", async () => {
  const jobs = await eightJobs();
  const last = jobs[7] as string;
  expect((await at.send(`/undo ${last}`)).ok).toBe(true);
  const edited = withValues(all.slice(0, 7)).replace("value 7 = 0", "value 7 = mine");
  at.write("a.txt", edited);
  expect((await at.send(`/redo ${last}`)).ok).toBe(false);
  expect(at.read("a.txt")).toBe(edited);
  expect(at.archive.read(last)?.state).toBe("undone");
  expect([...at.archive.numbers().values()]).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
});

test("one that was undone by a merge, redone, and then undone exactly is redone", async () => {
  const jobs = await eightJobs();
  const third = jobs[2] as string;
  for (const order of ["undo", "redo"]) expect((await at.send(`/${order} ${third}`)).ok).toBe(true);
  for (const job of jobs.slice(3).reverse()) expect((await at.send(`/undo ${job}`)).ok).toBe(true);
  expect((await at.send(`/undo ${third}`)).ok).toBe(true);
  expect(at.read("a.txt")).toBe(withValues([0, 1]));
  expect((await at.send(`/redo ${third}`)).ok).toBe(true);
  expect(at.read("a.txt")).toBe(withValues([0, 1, 2]));
});

test("a bare undo after it means the newest change, not the undo itself", async () => {
  const jobs = await eightJobs();
  await at.send(`/undo ${jobs[2]}`);
  // Its own file was changed by the undo since: merged out as well.
  expect((await at.send("/undo")).ok).toBe(true);
  expect(at.read("a.txt")).toBe(withValues(all.filter((number) => number !== 2 && number !== 7)));
});

test("lines that were changed since are a conflict that names the job, and nothing changes", async () => {
  const jobs = await eightJobs();
  const saved = at.read("a.txt").replace("value 2 = 12", "value 2 = the user's");
  at.write("a.txt", saved);
  const reply = await at.send(`/undo ${jobs[2]}`);
  expect(reply.ok).toBe(false);
  expect(reply.text).toContain("a.txt");
  expect(at.read("a.txt")).toBe(saved);
  expect(at.archive.list().filter(({ state }) => state === "committed")).toHaveLength(COUNT);
});
