import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Forge, ForgeAnswer } from "../../../src/application/ports/forges.ts";
import { FORGE_KINDS, type ForgeKind } from "../../../src/domain/config/configured-kinds.ts";
import type { ItemRef } from "../../../src/domain/forges/forge-items.ts";
import { createForgeFetch } from "../../../src/infrastructure/forges/forge-fetch.ts";
import { createForge } from "../../../src/infrastructure/forges/forge-registry.ts";
import { commandsIn, hostileText } from "../../fakes/forges/commands-in.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { startGitLab } from "../../fakes/forges/gitlab-server.ts";
import { addComment, addItem, addRepository, createWorld } from "../../fakes/forges/world.ts";

const NAME = "acme/tools";

/** Every call of the port that posts words, with foreign words in each place that takes them. */
const POSTING: Partial<
  Readonly<Record<keyof Forge, (forge: Forge, at: Places, text: string) => Promise<ForgeAnswer<unknown>>>>
> = {
  postComment: (forge, { issue }, text) => forge.postComment(issue, { text, mark: text }, SIGNAL),
  editComment: (forge, { issue, comment }, text) =>
    forge.editComment(issue, comment, { text, mark: text }, SIGNAL),
  replyTo: (forge, { pull, thread }, text) => forge.replyTo(pull, thread, { text, mark: text }, SIGNAL),
  openPull: (forge, _, text) =>
    forge.openPull(
      {
        repository: NAME,
        head: `b${opened++}`,
        base: "main",
        title: text,
        body: text,
        closes: null,
        draft: false,
      },
      SIGNAL,
    ),
  updatePull: (forge, { pull }, text) =>
    forge.updatePull(pull, { title: text, body: text, closes: null, draft: false }, SIGNAL),
};
/** Calls that read, and calls whose words are ours: a label of the configuration, a person of the forge. */
const SILENT: readonly (keyof Forge)[] = [
  ...([
    "whoAmI",
    "readRepository",
    "readItem",
    "listComments",
    "listReviewComments",
    "permissionOf",
  ] as const),
  ...([
    "readBranch",
    "findPull",
    "listOpenPulls",
    "listWork",
    "findRequest",
    "listSaid",
    "listFiles",
  ] as const),
];
const SIGNAL = new AbortController().signal;
let opened = 0;

interface Places {
  readonly issue: ItemRef;
  readonly pull: ItemRef;
  readonly comment: string;
  readonly thread: string;
}

describe.each(FORGE_KINDS.map((kind) => [kind]))("what reaches %s", (kind: ForgeKind) => {
  const world = createWorld();
  const server = kind === "github" ? startGitHub(world) : startGitLab(world);
  let forge: Forge;
  let at: Places;

  beforeAll(async () => {
    forge = await createForge(kind, {
      token: world.token,
      site: server.url,
      baseUrl: kind === "github" ? `${server.url}/api/v3` : server.url,
      userAgent: "picoclaw",
      fetch: createForgeFetch({
        mask: (text) => text,
        fetch: globalThis.fetch,
        timeoutMs: 120_000,
        patienceMs: 0,
        now: Date.now,
        pause: async () => {},
      }),
    });
    const repository = addRepository(world, NAME);
    const facts = { title: "T", body: "", author: world.bot };
    const issue = addItem(repository, { kind: "issue", ...facts });
    const branches = { head: "x", headRepository: NAME, headCommit: "1".repeat(40), base: "main" };
    const pull = addItem(repository, { kind: "pull", ...facts, pull: branches });
    const line = addComment(pull, world.bot, "here", { path: "a", line: 1 });
    const ref = (item: typeof issue): ItemRef => ({
      forge: kind,
      site: server.url,
      repository: NAME,
      kind: item.kind,
      number: item.number,
    });
    at = {
      issue: ref(issue),
      pull: ref(pull),
      comment: String(addComment(issue, world.bot, "x").id),
      thread: kind === "github" ? String(line.id) : `d${line.id}`,
    };
  });
  afterAll(() => server.stop());

  test("each call of the port is known to post words or not to", () => {
    const calls = Object.entries(forge).flatMap(([name, member]) =>
      typeof member === "function" ? [name] : [],
    );
    expect([...Object.keys(POSTING), ...SILENT].sort()).toEqual(calls.sort());
  });

  test("no words of others that any call posts are a command to it", async () => {
    await fc.assert(
      fc.asyncProperty(hostileText, async (text) => {
        for (const post of Object.values(POSTING)) {
          const before = world.requests.length;
          const answer = await post(forge, at, text);
          expect(answer.ok).toBe(true);
          const posted = world.requests.slice(before).flatMap(({ body }) => wordsIn(body));
          expect(posted.length).toBeGreaterThan(0);
          for (const words of posted) expect(commandsIn(kind, words)).toEqual([]);
        }
      }),
      { numRuns: 40 },
    );
  }, 300_000);
});

/** The words of a request, without the mark that is ours. */
function wordsIn(body: unknown): string[] {
  const { title, body: text, description } = (body ?? {}) as Record<string, unknown>;
  const words = [title, text, description].filter((one): one is string => typeof one === "string");
  return words.map((one) => one.replace(/^<!-- picoclaw:[\w .-]* -->\n\n/, ""));
}
