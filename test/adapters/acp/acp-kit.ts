/** The ACP agent as a real process, with the official client at the other end of its pipes. */
import { spawn } from "node:child_process";
import { join } from "node:path";
import { Readable, Writable } from "node:stream";
import {
  type ClientConnection,
  client,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import { createChatCli, type ScriptEntry } from "../../application/chat/chat-kit.ts";
import { PROGRAM, until } from "../../e2e/cli-kit.ts";

export function createEditor(script: readonly ScriptEntry[], config = "", path = process.env.PATH ?? "") {
  const cli = createChatCli(script, config, path);
  const env = {
    PATH: path,
    HOME: join(cli.folder, "user"),
    PICOCLAW_HOME: cli.home,
    PICOCLAW_LOCALE: "en",
  };
  const updates: { readonly sessionId: string; readonly update: SessionUpdate }[] = [];
  const asked: string[] = [];
  /** Texts of files that the editor has and has not saved; an editor that has some offers to be asked. */
  const unsaved = new Map<string, string>();
  const ends: (() => void)[] = [];

  async function start(args: readonly string[] = []) {
    const process = spawn(PROGRAM, ["acp", ...args], { cwd: cli.folder, env });
    ends.push(() => process.kill("SIGKILL"));
    const ended = new Promise<number | null>((resolve) => process.once("close", resolve));
    let said = "";
    process.stderr.on("data", (data) => (said += data));
    const connection: ClientConnection = client({ name: "test" })
      .onNotification(methods.client.session.update, ({ params }) => void updates.push(params))
      .onRequest(methods.client.session.requestPermission, () => {
        asked.push("permission");
        return { outcome: { outcome: "cancelled" } };
      })
      .onRequest(methods.client.fs.readTextFile, ({ params }) => {
        const content = unsaved.get(params.path);
        if (content === undefined) throw new Error("no such buffer");
        return { content };
      })
      .connect(
        ndJsonStream(
          Writable.toWeb(process.stdin),
          Readable.toWeb(process.stdout) as ReadableStream<Uint8Array>,
        ),
      );
    const { agent } = connection;
    const initialized = await agent.request(methods.agent.initialize, {
      protocolVersion: PROTOCOL_VERSION,
      clientCapabilities: unsaved.size > 0 ? { fs: { readTextFile: true } } : {},
    });
    return { process, connection, agent, initialized, ended, said: () => said };
  }

  const of = <Kind extends SessionUpdate["sessionUpdate"]>(kind: Kind) =>
    updates.flatMap(({ update }) =>
      update.sessionUpdate === kind ? [update as Extract<SessionUpdate, { sessionUpdate: Kind }>] : [],
    );
  return {
    ...cli,
    start,
    updates,
    asked,
    unsaved,
    of,
    /** The words of the agent so far. */
    words: () =>
      of("agent_message_chunk")
        .map(({ content }) => (content.type === "text" ? content.text : ""))
        .join(""),
    until: <T>(look: () => T | undefined) => until(look),
    async remove() {
      for (const end of ends) end();
      await cli.remove();
    },
  };
}

export type Editor = ReturnType<typeof createEditor>;
