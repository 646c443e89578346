import { createForgeFetch } from "../../../src/infrastructure/forges/forge-fetch.ts";
import { createGitHub } from "../../../src/infrastructure/forges/github.ts";
import { createGitLab } from "../../../src/infrastructure/forges/gitlab.ts";
import { forgeContract } from "../../contracts/forge.ts";
import { startGitHub } from "../../fakes/forges/github-server.ts";
import { startGitLab } from "../../fakes/forges/gitlab-server.ts";

/** Waits are told, not slept. */
function quickFetch() {
  const waits: number[] = [];
  const fetch = createForgeFetch({
    fetch: globalThis.fetch,
    timeoutMs: 300,
    patienceMs: 60_000,
    now: Date.now,
    pause: async (_, signal) => signal.throwIfAborted(),
    onWait: ({ code }, ms) => {
      if (code === "rate-limited") waits.push(ms);
    },
  });
  return { fetch, waits };
}

forgeContract("github", (world) => {
  const server = startGitHub(world);
  const { fetch, waits } = quickFetch();
  const parts = {
    token: world.token,
    apiUrl: `${server.url}/api/v3`,
    site: server.url,
    userAgent: "picoclaw",
  };
  return { forge: createGitHub({ ...parts, fetch }), url: server.url, stop: server.stop, waits };
});

forgeContract("gitlab", (world) => {
  const server = startGitLab(world);
  const { fetch, waits } = quickFetch();
  const forge = createGitLab({ token: world.token, site: server.url, fetch });
  return { forge, url: server.url, stop: server.stop, waits };
});
