import { afterAll, expect, test } from "bun:test";
import { createForgeFetch } from "../../../src/infrastructure/forges/forge-fetch.ts";
import { forgeContract } from "../../contracts/forge.ts";
import { openForge } from "../../fakes/forges/forge-client.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { startGitLab } from "../../fakes/forges/gitlab-server.ts";
import { addRepository, createWorld } from "../../fakes/forges/world.ts";

/** Waits are recorded, not slept. */
function quickFetch() {
  const waits: number[] = [];
  const fetch = createForgeFetch({
    mask: (text) => text,
    fetch: globalThis.fetch,
    timeoutMs: 8_000,
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

test("an answer of 200 that is a page or another document is not accepted, and the address is named", async () => {
  addRepository(world, "acme/shapes");
  const { fetch } = quickFetch();
  const forge = openForge("github", { world, url: server.url, fetch });
  const { signal } = new AbortController();
  const answer = (path: RegExp, response: () => Response) =>
    world.faults.push({ path, times: 1, answer: response });
  const page = () =>
    new Response("<html><title>Sign in</title><body>Sign in to continue</body></html>", {
      headers: { "content-type": "text/html" },
    });
  const pull = { title: "T", body: "", closes: null, draft: false };
  for (const [what, response, words] of [
    ["page", page, "Sign in to continue"],
    ["document", () => Response.json({ status: "ok" }), "number: Invalid input"],
    ["list", () => new Response("[]"), "expected object"],
  ] as const) {
    answer(/pulls$/, response);
    const made = await forge.openPull(
      { repository: "acme/shapes", head: "x", base: "main", ...pull },
      signal,
    );
    expect([what, made.ok]).toEqual([what, false]);
    if (made.ok) continue;
    expect(made.failure.code).toBe("invalid");
    expect(made.failure.message).toContain("/repos/acme/shapes/pulls answered 200");
    expect(made.failure.message).toContain(words);
  }
  answer(/acme\/shapes$/, page);
  expect(await forge.readRepository("acme/shapes", signal)).toMatchObject({
    ok: false,
    failure: { code: "invalid" },
  });
});

test("a refusal of GitHub is reported with its reasons", async () => {
  const { fetch } = quickFetch();
  const forge = openForge("github", { world, url: server.url, fetch });
  const body = {
    message: "Validation Failed",
    errors: [
      { resource: "PullRequest", code: "custom", message: "No commits between main and x" },
      { resource: "PullRequest", field: "head", code: "invalid" },
    ],
  };
  world.faults.push({ path: /pulls$/, times: 1, answer: () => Response.json(body, { status: 422 }) });
  const text = { title: "T", body: "", closes: null, draft: false };
  const made = await forge.openPull(
    { repository: "acme/private", head: "x", base: "main", ...text },
    new AbortController().signal,
  );
  expect(made).toMatchObject({
    ok: false,
    failure: {
      message: "422: Validation Failed; No commits between main and x; PullRequest head invalid",
    },
  });
});

for (const [status, code, most] of [
  [200, "invalid", 16],
  [500, "server-error", 4],
] as const)
  test(`an answer of ${status} that does not end is read up to a limit and said to be too large`, async () => {
    let sent = 0;
    let ended = 0;
    const piece = new Uint8Array(1024 ** 2).fill(0x20);
    const body = () =>
      new ReadableStream<Uint8Array>({
        pull(controller) {
          sent += piece.length;
          // A reader without a limit would end here, with all of it in memory.
          if (sent > 200 * piece.length) controller.close();
          else controller.enqueue(piece);
        },
        cancel() {
          ended += 1;
        },
      });
    const fetch = createForgeFetch({
      mask: (text) => text,
      fetch: (async () => new Response(body(), { status })) as unknown as typeof globalThis.fetch,
      timeoutMs: 300_000,
      patienceMs: 0,
      now: Date.now,
      pause: async () => {},
    });
    const asked = fetch(
      new Request("https://forge.test/user", { method: "POST" }),
      new AbortController().signal,
    );
    await expect(asked).rejects.toMatchObject({ failure: { code, status } });
    expect(sent).toBeLessThanOrEqual(most * piece.length);
    expect(ended).toBe(1);
    if (status === 200)
      await expect(asked).rejects.toThrow("https://forge.test/user answered 200 with more than 8 MiB");
  });

for (const [kind, start, path] of [
  ["github", startGitHub, "/api/v3/repos/acme/moved"],
  ["gitlab", startGitLab, "/api/v4/projects/acme%2Fmoved"],
] as const)
  test(`${kind}: a token follows a redirect on the forge's own site and no further`, async () => {
    const there = createWorld();
    addRepository(there, "acme/moved");
    const forgeServer = start(there);
    const heard: string[] = [];
    const stranger = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        heard.push(JSON.stringify([...request.headers]));
        return Response.json({});
      },
    });
    try {
      const forge = openForge(kind, { world: there, url: forgeServer.url, fetch: quickFetch().fetch });
      const { signal } = new AbortController();
      const redirect = (status: number, location: string) =>
        there.faults.push({
          path: /acme/,
          times: 1,
          answer: () => new Response(null, { status, headers: { location } }),
        });
      redirect(301, path);
      expect(await forge.readRepository("acme/moved", signal)).toMatchObject({ ok: true });
      for (const status of [301, 302, 303, 307, 308]) {
        redirect(status, `http://127.0.0.1:${stranger.port}${path}`);
        const answer = await forge.readRepository("acme/moved", signal);
        expect(answer).toMatchObject({ ok: false, failure: { code: "invalid", status } });
        if (!answer.ok)
          expect(answer.failure.message).toContain(`redirects to http://127.0.0.1:${stranger.port}`);
      }
      expect(heard).toEqual([]);
    } finally {
      await stranger.stop(true);
      forgeServer.stop();
    }
  });

test("a forge that repeats the token in its refusals gives it to no one, and is sent no secret", async () => {
  const secret = "gitlab-own-token-1234";
  const seen: string[] = [];
  const said: string[] = [];
  const fetch = createForgeFetch({
    mask: (text) => text.replaceAll(secret, "****"),
    fetch: (async (request: Request) => {
      seen.push(await request.text());
      return new Response(`{"message":"bad token ${secret}"}`, { status: 502 });
    }) as unknown as typeof globalThis.fetch,
    timeoutMs: 8_000,
    patienceMs: 60_000,
    now: Date.now,
    pause: async () => {},
    onWait: ({ message }) => said.push(message),
  });
  const { signal } = new AbortController();
  const failed = async (request: Request) => String(await fetch(request, signal).catch((error) => error));
  said.push(await failed(new Request("https://forge.example/api/x")));
  said.push(
    await failed(
      new Request("https://forge.example/x", { method: "POST", body: `{"body":"see ${secret}"}` }),
    ),
  );
  expect(said).toHaveLength(4);
  expect([...said, ...seen].join("\n")).not.toContain(secret);
  expect(seen.at(-1)).toBe('{"body":"see ****"}');
});

test("a next page is asked for as the forge's link says, at the forge's own address", async () => {
  addRepository(world, "acme/marked");
  const { fetch } = quickFetch();
  const forge = openForge("github", { world, url: server.url, fetch });
  const comment = (id: number) => ({ id, created_at: "2026-01-01T00:00:00Z", body: `${id}`, user: null });
  const link =
    '<https://elsewhere.test/x?page=1>; rel="prev", <https://elsewhere.test/x?after=c2>; rel="next"';
  const pages = [Response.json([comment(1)], { headers: { link } }), Response.json([comment(2)])];
  world.faults.push({ path: /comments$/, times: 2, answer: () => pages.shift() as Response });
  const item = {
    forge: "github",
    site: server.url,
    repository: "acme/marked",
    kind: "issue",
    number: 1,
  } as const;
  const listed = await forge.listComments(item, new AbortController().signal);
  expect(listed.ok && listed.value.map(({ id }) => id)).toEqual(["1", "2"]);
  expect(world.requests.slice(-2).map(({ query }) => query)).toEqual([{ per_page: "100" }, { after: "c2" }]);
});
