import { createWebApp } from "../adapters/web/app.ts";
import type { ListenOptions, RunningServer } from "../application/serve/server.ts";
import { LARGEST_BODY_BYTES } from "../application/ports/webhook.ts";
import { noteAddress } from "../infrastructure/serve/live-address.ts";
import { listenHttp } from "../infrastructure/platform/http-server.ts";
import { labelsOf } from "./fleet.ts";
import type { ListenDeps, ServeDeps } from "./serve-parts.ts";
import { startServeSchedules } from "./serve-rounds.ts";
import { createWebHost } from "./serve-web.ts";
import { openWorking } from "./serve-work.ts";

/** Wires receiving, answering, sending and the web together, and listens. */
export async function listenAndServe(
  given: ListenDeps,
  { host, port, log }: ListenOptions,
): Promise<RunningServer> {
  const publicUrl = given.config.serve.public_url?.replace(/\/+$/, "") ?? null;
  const labels = labelsOf(given.config);
  const lanes = given.config.serve.max_chats;
  const working = await openWorking(given, { kind: "serve", labels, lanes, publicUrl, log });
  const { parts, inbox, forges } = working;
  const { state } = parts;
  const closing = new AbortController();
  const place = { host, port, publicUrl };
  const mcp = lateMcp(parts);
  const renew = { rounds: async () => {} };
  const reload = async () => {
    const problem = await state.reload();
    if (problem === null) await renew.rounds();
    return problem;
  };
  const web = createWebHost({
    ...parts,
    inbox,
    forges,
    place,
    mcp: mcp.answer,
    closing: closing.signal,
    reload,
  });
  const server = listenHttp({ host, port, limitBytes: LARGEST_BODY_BYTES, fetch: createWebApp(web) });
  place.port = server.port;
  const startAll = async () => {
    await working.start();
    return startServeSchedules(parts, inbox);
  };
  const rounds = await startAll().catch(async (error: unknown) => {
    // Nobody would answer what is taken in here.
    closing.abort();
    await server.close();
    await working.giveUp();
    throw error;
  });
  renew.rounds = rounds.renew;
  const shown = host.includes(":") ? `[${host}]` : host === "0.0.0.0" ? "127.0.0.1" : host;
  const address = `${shown}:${server.port}`;
  const forgetAddress = noteAddress(parts.home, address, new Date());
  return {
    url: publicUrl ?? `http://${address}`,
    reload,
    async stop() {
      forgetAddress();
      rounds.stop();
      closing.abort();
      server.drain();
      await working.stop(async () => {
        await mcp.close();
        await server.close();
      });
    },
  };
}

/** The MCP endpoint, loaded at its first request. */
function lateMcp({ state }: ServeDeps) {
  const made: { endpoint?: ReturnType<typeof state.openMcp> } = {};
  return {
    async answer() {
      made.endpoint ??= state.openMcp();
      const endpoint = await made.endpoint;
      return (request: Request) => endpoint.handle(request);
    },
    close: async () => (await made.endpoint)?.close(),
  };
}
