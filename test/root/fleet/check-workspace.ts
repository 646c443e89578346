/** The state of a machine's workspace when everything was answered: the journals, the tree, and the undo. */
import { expect } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { StoredJob } from "../../../src/application/ports/jobs.ts";
import { openWorkspace } from "../../../src/wiring/workspace.ts";
import type { Cli } from "../../e2e/cli-kit.ts";
import type { Told } from "./check-store.ts";

/** A message that says `write WORD` appends a line of that word to this file, and to a file of its own. */
const SHARED = "shared.txt";

/**
 * Each message has at most one job in effect. A sender who was told that it is done has the change in the tree, any other
 * has none. Nothing is staged any more, and undoing every job restores the first tree.
 */
export async function checkWorkspace(
  cli: Cli,
  told: readonly Told[],
  before: Readonly<Record<string, string>>,
): Promise<void> {
  const env = { PATH: process.env.PATH, HOME: join(cli.folder, "user"), PICOCLAW_HOME: cli.home };
  const opened = await openWorkspace(env, { cwd: cli.workspace });
  if (!opened.ok) throw new Error(JSON.stringify(opened));
  const { workspace } = opened;
  expect(await workspace.repair()).toBeNull();
  const jobs = workspace.archive.list();
  // A job in conflict with another's change is kept for inspection.
  const open = jobs.filter(
    ({ state, outcome, red }) =>
      state === "running" || (state === "staged" && outcome !== "conflict" && red !== "conflict"),
  );
  expect(open).toEqual([]);
  const standing = jobs.filter(({ state }) => state === "committed");
  const byMessage = Map.groupBy(standing, ({ groupId }) => groupId.split("#").at(-1) ?? "");
  expect([...byMessage].filter(([, all]) => all.length > 1)).toEqual([]);

  const lines = (cli.tree()[SHARED] ?? "").split("\n").filter((line) => line !== "");
  const wrong = told
    .filter(({ text }) => /write \w+$/.test(text))
    .flatMap(({ id, text, answers }) => {
      const word = /\w+$/.exec(text)?.[0] ?? "";
      const answer = answers[0]?.text ?? "";
      const found = {
        job: byMessage.has(id),
        lines: lines.filter((line) => line === word).length,
        own: cli.tree()[`${word}.txt`] ?? null,
        // Applied, or named by the process that took the message over.
        told: /^Applied|stays applied and is not repeated: (?:#|job_)\d/.test(answer),
      };
      const stands = { job: true, lines: 1, own: `${word}\n`, told: true };
      const wanted = found.job ? stands : { job: false, lines: 0, own: null, told: false };
      const same = Bun.deepEquals(found, wanted) && (found.job || answers[0]?.ok === false);
      return same ? [] : [{ id, word, ...found, answer }];
    });
  expect(wrong).toEqual([]);
  expect(leftovers(workspace.storage)).toEqual([]);

  let left: readonly StoredJob[] = standing.toSorted((a, b) => b.stateAt.localeCompare(a.stateAt));
  while (left.length > 0) {
    const rest: StoredJob[] = [];
    for (const job of left) {
      const undone = await workspace.takeBack({ direction: "undo", name: job.jobId, force: false });
      if (undone.status !== "done") rest.push(job);
    }
    if (rest.length === left.length) break;
    left = rest;
  }
  expect(left).toEqual([]);
  expect(cli.tree()).toEqual(before);
}

/** An unfinished intent, and views of finished jobs. */
function leftovers(storage: string): string[] {
  const all = existsSync(storage) ? readdirSync(storage) : [];
  return all.filter((name) => name === "intent.json" || name.endsWith(".tmp"));
}
