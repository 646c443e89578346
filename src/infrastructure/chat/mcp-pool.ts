import type { McpTools } from "./mcp-tools.ts";

/** A chat's own MCP servers stay up between its messages, so that a browser keeps its page; failed or ended ones are not kept. */
export type McpPool = ReturnType<typeof createMcpPool>;

export interface McpPoolDeps {
  readonly setTimer: (run: () => void, ms: number) => () => void;
}

/** How long servers wait for the next message of their chat. */
const IDLE_MS = 300_000;

interface PooledServers {
  readonly opening: Promise<McpTools>;
  users: number;
  cancel: () => void;
}

export function createMcpPool({ setTimer }: McpPoolDeps) {
  const held = new Map<string, PooledServers>();

  const end = async (key: string) => {
    const one = held.get(key);
    held.delete(key);
    one?.cancel();
    await (await one?.opening.catch(() => undefined))?.close();
  };

  return {
    /** The servers of this key, started when they are not up; coders that work side by side share them. */
    async take(key: string, open: () => Promise<McpTools>): Promise<McpTools> {
      const known = held.get(key);
      if (known !== undefined) {
        known.cancel();
        known.users += 1;
        const tools = await known.opening;
        if (tools.alive() || known.users > 1) return tools;
        await end(key);
      }
      const one: PooledServers = { opening: open(), users: 1, cancel: () => {} };
      held.set(key, one);
      one.opening.catch(() => held.delete(key));
      return one.opening;
    },
    /** Gives them back; they end if they are not taken again in time. */
    async release(key: string): Promise<void> {
      const one = held.get(key);
      if (one === undefined) return;
      one.users -= 1;
      if (one.users > 0) return;
      const tools = await one.opening.catch(() => null);
      if (tools === null || !tools.alive() || tools.unavailable.length > 0) return end(key);
      one.cancel = setTimer(() => void end(key), IDLE_MS);
    },
    async closeAll(): Promise<void> {
      await Promise.allSettled([...held.keys()].map(end));
    },
  };
}
