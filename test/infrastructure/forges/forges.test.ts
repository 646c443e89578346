import { afterAll, expect, test } from "bun:test";
import { createForgeFetch } from "../../../src/infrastructure/forges/forge-fetch.ts";
import { forgeContract } from "../../contracts/forge.ts";
import { openForge } from "../../fakes/forges/forge-client.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { startGitLab } from "../../fakes/forges/gitlab-server.ts";
import { addRepository, createWorld } from "../../fakes/forges/world.ts";

/** Waits are told, not slept. */
function quickFetch() {
  const waits: number[] = [];
  const fetch = createForgeFetch({
    fetch: globalThis.fetch,
    timeoutMs: 2_000,
    patienceMs: 60_000,
    now: Date.now,
    pause: async (_, signal) => signal.throwIfAborted(),
    onWait: ({ code }, ms) => {
      if (code === "rate-limited") waits.push(ms);
    },
  });
  return { fetch, waits };
}

for (const [kind, start] of [
  ["github", startGitHub],
  ["gitlab", startGitLab],
] as const)
  forgeContract(kind, (world) => {
    const { url, stop } = start(world);
    const { fetch, waits } = quickFetch();
    return { forge: openForge(kind, { world, url, fetch }), url, stop, waits };
  });

const world = createWorld();
const server = startGitHub(world);
afterAll(() => server.stop());

test("where GitHub has no drafts, the title says that it is one", async () => {
  const repository = addRepository(world, "acme/private");
  const { fetch } = quickFetch();
  const forge = openForge("github", { world, url: server.url, fetch });
  const { signal } = new AbortController();
  const refuse = (path: RegExp, status: number, body: object) =>
    world.faults.push({ path, times: 1, answer: () => Response.json(body, { status }) });
  refuse(/pulls$/, 422, { message: "Draft pull requests are not supported in this repository." });
  const text = { title: "T", body: "", closes: null, draft: true };
  const made = await forge.openPull({ repository: "acme/private", head: "x", base: "main", ...text }, signal);
  if (!made.ok) throw new Error(made.failure.message);
  const pull = repository.items.get(made.value.ref.number);
  expect(pull).toMatchObject({ title: "Draft: T", pull: { draft: false } });
  refuse(/graphql$/, 200, { errors: [{ message: "Draft pull requests are not supported" }] });
  expect((await forge.updatePull(made.value.ref, { ...text, title: "T2" }, signal)).ok).toBe(true);
  expect(pull?.title).toBe("Draft: T2");
  expect((await forge.updatePull(made.value.ref, { ...text, draft: false }, signal)).ok).toBe(true);
  expect(pull?.title).toBe("T");
});
