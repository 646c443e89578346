import { randomUUID } from "node:crypto";
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js";
import { type Connections, createConnections } from "./connections.ts";
import { createMcpServer } from "./mcp-server.ts";
import { createEventStore } from "./event-store.ts";
import type { McpHost } from "./host.ts";
import type { RunningCalls } from "./running-calls.ts";

export interface Session {
  readonly transport: WebStandardStreamableHTTPServerTransport;
  readonly connections: Connections;
}

export interface Sessions {
  /** A known session, or one that is about to begin; null for an unknown id. */
  find(sessionId: string | undefined): Promise<Session | null>;
  close(): Promise<void>;
}

/** A client that went without a word leaves its session behind; the one unused for longest makes room. */
const MOST_SESSIONS = 100;
/** When a client whose connection broke should come back. */
const RETRY_MS = 1_000;

/** Each client has a server of its own; all of them work with the same tools. */
export function createSessions(host: McpHost, calls: RunningCalls): Sessions {
  /** In the order of their last use. */
  const sessions = new Map<string, Session>();

  async function begin(): Promise<Session> {
    const connections = createConnections();
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      eventStore: createEventStore(),
      retryInterval: RETRY_MS,
      onsessioninitialized: async (id) => {
        sessions.set(id, session);
        const [oldest] = sessions.values();
        if (sessions.size > MOST_SESSIONS) await oldest?.transport.close();
      },
    });
    const session = { transport, connections };
    transport.onclose = () => {
      connections.close();
      if (transport.sessionId !== undefined) sessions.delete(transport.sessionId);
    };
    await createMcpServer(host, calls).connect(transport);
    return session;
  }

  return {
    async find(sessionId) {
      if (sessionId === undefined) return begin();
      const session = sessions.get(sessionId);
      if (session === undefined) return null;
      sessions.delete(sessionId);
      sessions.set(sessionId, session);
      return session;
    },
    async close() {
      await Promise.all([...sessions.values()].map(({ transport }) => transport.close()));
    },
  };
}
