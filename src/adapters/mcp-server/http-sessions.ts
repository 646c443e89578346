import { randomUUID } from "node:crypto";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { createMcpServer } from "./create-server.ts";
import type { McpHost } from "./host.ts";
import type { RunningCalls } from "./running-calls.ts";

export interface Sessions {
  /** The transport of a known session, or one for a session that is about to begin; null for an unknown id. */
  transportFor(sessionId: string | undefined): Promise<WebStandardStreamableHTTPServerTransport | null>;
  close(): Promise<void>;
}

/** A client that went without a word leaves its session behind; the one unused for longest makes room. */
const MOST_SESSIONS = 100;

/** Each client has a server of its own; all of them work with the same tools. */
export function createSessions(host: McpHost, calls: RunningCalls): Sessions {
  /** In the order of their last use. */
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();

  async function begin(): Promise<WebStandardStreamableHTTPServerTransport> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: async (id) => {
        sessions.set(id, transport);
        const [oldest] = sessions.values();
        if (sessions.size > MOST_SESSIONS) await oldest?.close();
      },
    });
    transport.onclose = () => {
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
    };
    await createMcpServer(host, calls).connect(transport);
    return transport;
  }

  return {
    async transportFor(sessionId) {
      if (sessionId === undefined) return begin();
      const transport = sessions.get(sessionId);
      if (transport === undefined) return null;
      sessions.delete(sessionId);
      sessions.set(sessionId, transport);
      return transport;
    },
    async close() {
      await Promise.all([...sessions.values()].map((transport) => transport.close()));
    },
  };
}
