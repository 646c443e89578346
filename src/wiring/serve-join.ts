import { hostname } from "node:os";
import type { JoinedFleet, JoinOptions } from "../application/serve/server.ts";
import { labelsOf } from "./fleet.ts";
import type { ListenDeps } from "./serve-parts.ts";
import { openWorking } from "./serve-work.ts";

/** The work of `serve` without its listener, its channels' ears and its schedules. */
export async function joinFleet(
  given: ListenDeps,
  { labels: own, concurrency: lanes, log }: JoinOptions,
): Promise<JoinedFleet> {
  const labels = [...new Set([...labelsOf(given.config), ...own])];
  const config = { ...given.config, serve: { ...given.config.serve, max_chats: lanes } };
  const place = { kind: "join", labels, lanes, publicUrl: null, log } as const;
  const working = await openWorking({ ...given, config }, place);
  await working.start().catch(async (error: unknown) => {
    await working.giveUp();
    throw error;
  });
  return {
    machineName: hostname(),
    labels,
    reload: () => given.state.reload(),
    stop: () => working.stop(),
  };
}
