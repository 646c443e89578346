import { Readable, Writable } from "node:stream";
import { agent, methods, ndJsonStream, PROTOCOL_VERSION, type SessionUpdate } from "@agentclientprotocol/sdk";
import type { AcpHost } from "./host.ts";
import { listCommands } from "./list-commands.ts";
import { promptText } from "./prompt-text.ts";
import { type AcpSession, createAcpSessions } from "./sessions.ts";

export interface AcpStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/**
 * Serves one editor until it goes or `stop` says so; what it had running is then ended and taken back. Nobody is asked
 * for permission: every job can be taken back, and `/undo` is a command of every session.
 */
export async function serveAcp(host: AcpHost, streams: AcpStreams, stop: AbortSignal): Promise<void> {
  const sessions = createAcpSessions(host);
  const connection = createAcpAgent(host, sessions).connect(
    ndJsonStream(Writable.toWeb(streams.output), Readable.toWeb(streams.input) as ReadableStream<Uint8Array>),
  );
  const end = () => connection.close();
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  await connection.closed;
  stop.removeEventListener("abort", end);
  await sessions.close();
}

interface Client {
  notify(
    method: typeof methods.client.session.update,
    params: { sessionId: string; update: SessionUpdate },
  ): Promise<void>;
}

function createAcpAgent(host: AcpHost, sessions: ReturnType<typeof createAcpSessions>) {
  const sender = (client: Client, sessionId: string) => (update: SessionUpdate) =>
    void client
      .notify(methods.client.session.update, { sessionId, update })
      .catch((cause: unknown) => host.log(`acp: ${String(cause).slice(0, 500)}`));

  /** An editor knows a session only once it has read the answer, so its commands follow that. */
  function tellCommands(client: Client, { id, folder }: AcpSession): void {
    const availableCommands = listCommands(folder.commands, folder.chat);
    setImmediate(() => sender(client, id)({ sessionUpdate: "available_commands_update", availableCommands }));
  }

  return agent({ name: "picoclaw" })
    .onRequest(methods.agent.initialize, () => ({
      protocolVersion: PROTOCOL_VERSION,
      agentInfo: { name: "picoclaw", title: "PicoClaw", version: host.version },
      authMethods: [],
      agentCapabilities: {
        loadSession: false,
        promptCapabilities: { embeddedContext: true },
        sessionCapabilities: { resume: {}, close: {} },
      },
    }))
    .onRequest(methods.agent.session.new, async ({ params, client }) => {
      const session = await sessions.begin(params.cwd);
      tellCommands(client, session);
      return { sessionId: session.id };
    })
    .onRequest(methods.agent.session.resume, async ({ params, client }) => {
      tellCommands(client, await sessions.begin(params.cwd, params.sessionId));
      return {};
    })
    .onRequest(methods.agent.session.close, ({ params }) => {
      sessions.end(params.sessionId);
      return {};
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client, signal }) => {
      const session = sessions.find(params.sessionId);
      const text = promptText(params.prompt, session.folder.workspace.root);
      const stopReason = await session.prompt(text, { signal, send: sender(client, session.id) });
      return { stopReason };
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.find(params.sessionId).cancel());
}
