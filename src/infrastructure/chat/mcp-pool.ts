import type { McpTools } from "./mcp-tools.ts";

/**
 * MCP servers that stay up between the messages of a chat, so that a browser keeps its page and nobody waits for a
 * start twice. Each chat has its own: what one did there, another does not see. One that failed or ended is not kept.
 */
export interface McpPool {
  /** The servers of this key, started when they are not up. Not shared while somebody has them. */
  take(key: string, open: () => Promise<McpTools>): Promise<McpTools>;
  /** Gives them back; they end when nobody takes them again in time. */
  release(key: string): Promise<void>;
  closeAll(): Promise<void>;
}

export interface McpPoolDeps {
  readonly idleMs: number;
  readonly setTimer: (run: () => void, ms: number) => () => void;
}

export function createMcpPool({ idleMs, setTimer }: McpPoolDeps): McpPool {
  const held = new Map<string, { readonly tools: McpTools; cancel: () => void }>();

  const end = async (key: string) => {
    const one = held.get(key);
    held.delete(key);
    one?.cancel();
    await one?.tools.close();
  };

  return {
    async take(key, open) {
      const known = held.get(key);
      if (known !== undefined) {
        known.cancel();
        if (known.tools.alive()) return known.tools;
        await end(key);
      }
      const tools = await open();
      held.set(key, { tools, cancel: () => {} });
      return tools;
    },
    async release(key) {
      const one = held.get(key);
      if (one === undefined) return;
      if (!one.tools.alive() || one.tools.unavailable.length > 0) return end(key);
      one.cancel = setTimer(() => void end(key), idleMs);
    },
    async closeAll() {
      await Promise.allSettled([...held.keys()].map(end));
    },
  };
}
