import { isAbsolute, join, relative } from "node:path";
import { Readable, Writable } from "node:stream";
import { fileURLToPath } from "node:url";
import {
  type AgentContext,
  type AvailableCommand,
  agent,
  type ContentBlock,
  methods,
  ndJsonStream,
  PROTOCOL_VERSION,
  type SessionUpdate,
} from "@agentclientprotocol/sdk";
import type { ImageFile } from "../../application/ports/chat.ts";
import { attemptOr } from "../../domain/platform/error-text.ts";
import { createFrameReader } from "../../domain/platform/json-lines.ts";
import { escapeUnseen, toShownJson } from "../../domain/platform/json-text.ts";
import type { ChatMessages } from "../../domain/texts/chat.ts";
import { fenceText } from "../../domain/texts/format-text.ts";
import { type AcpHost, type AcpSession, createAcpSessions, type EditorPrompt } from "./sessions.ts";

/** The commands that can follow a slash, for the editor's completion, with the texts of `/help`. */
function listCommands(
  names: readonly string[],
  { help, helpMore }: Pick<ChatMessages, "help" | "helpMore">,
): AvailableCommand[] {
  const lines = [...help, ...helpMore];
  return names.map((name) => {
    const [usage = "", what] = lines.find(([command]) => command.split(" ").includes(`/${name}`)) ?? [];
    const hint = /(?:\[[^\]]+\]|[A-Z]\S*|on\|off)$/.exec(usage)?.[0];
    return { name, description: what ?? name, ...(hint !== undefined && { input: { hint } }) };
  });
}

/** The user's prompt as one message. A workspace file is named by its path, because coders read it; other text is fenced. */
async function readPrompt(
  blocks: readonly ContentBlock[],
  { folder: { workspace } }: AcpSession,
  readUnsaved: ReadUnsaved | null,
): Promise<EditorPrompt> {
  const { root } = workspace;
  let text = "";
  const behind: string[] = [];
  const named = new Set<string>();
  const nameFile = (uri: string) => {
    const name = fileNameOf(uri, root);
    if (name !== null) named.add(name.replace(/ \([^)]*\)$/, ""));
    return name;
  };
  const images: ImageFile[] = [];
  for (const block of blocks)
    switch (block.type) {
      case "text":
        text += block.text;
        break;
      case "resource_link":
        text += nameFile(block.uri) ?? block.uri;
        break;
      case "resource": {
        const { resource } = block;
        const name = nameFile(resource.uri);
        text += name ?? resource.uri;
        if (name === null && "text" in resource) behind.push(fenceText(resource.text));
        break;
      }
      case "image":
        images.push({ name: imageName(block.uri, images.length + 1), bytes: fromBase64(block.data) });
        break;
      case "audio":
        break;
    }
  if (readUnsaved !== null)
    for (const path of [...named].slice(0, MOST_UNSAVED)) {
      const unsaved = await readUnsaved(join(root, path));
      if (unsaved === null || unsaved.length > LONGEST_UNSAVED || unsaved === savedText(workspace, path))
        continue;
      behind.push(
        `${path} has changes in the editor that are not saved: changes are made to the file on the disk. In the editor it reads:\n${fenceText(unsaved)}`,
      );
    }
  return { text: [text, ...behind].join("\n\n"), images };
}

/** Files of one prompt that the editor is asked for, and characters of one that go along. */
const MOST_UNSAVED = 10;
const LONGEST_UNSAVED = 100_000;
/** An editor that does not answer is not waited for. */
const UNSAVED_MS = 2_000;

/** The text that the editor has of a file, by its absolute path; null: none, or no answer. */
type ReadUnsaved = (path: string) => Promise<string | null>;

function savedText(workspace: AcpSession["folder"]["workspace"], path: string): string | null {
  return attemptOr(null, () => Buffer.from(workspace.files.read(path)).toString("utf8"));
}

function imageName(uri: string | null | undefined, number: number): string {
  const last = uri?.split(/[?#]/)[0]?.split("/").at(-1);
  return last === undefined || last === "" || uri?.startsWith("data:") ? `image ${number}` : last;
}

function fromBase64(data: string): Uint8Array {
  return new Uint8Array(Buffer.from(data, "base64"));
}

/** The path in the workspace, with the lines that a selection names: `src/a.ts (L3:9)`. Null for a file outside the workspace. */
function fileNameOf(uri: string, root: string): string | null {
  let url: URL;
  let path: string;
  try {
    url = new URL(uri);
    path = relative(root, fileURLToPath(new URL(url.pathname, "file:///")));
  } catch {
    return null;
  }
  if (url.protocol !== "file:" || path === "" || path.startsWith("..") || isAbsolute(path)) return null;
  return url.hash === "" ? path : `${path} (${url.hash.slice(1)})`;
}

export interface AcpStreams {
  readonly input: Readable;
  readonly output: Writable;
}

/** A prompt with as many images as a message may have, each of the largest size, as Base64 and with its words. */
export const ACP_MESSAGE_BYTES = 64 * 1024 ** 2;
const NEWLINE = Buffer.from("\n");
const INVALID_REQUEST = -32_600;

/** An editor's messages. One that is too long is answered with an error here; the library would end the connection. */
async function* admitMessages({ input, output }: AcpStreams, limitBytes: number): AsyncGenerator<Uint8Array> {
  const frames = createFrameReader(limitBytes);
  for await (const chunk of input as AsyncIterable<Buffer>)
    for (const frame of frames.push(chunk))
      if (frame.kind === "line") yield Buffer.concat([frame.bytes, NEWLINE]);
      else {
        const message = `Invalid Request: the message is longer than ${limitBytes} bytes`;
        const error = { code: INVALID_REQUEST, message };
        output.write(`${toShownJson({ jsonrpc: "2.0", id: frame.id, error })}\n`);
      }
}

/** The library writes a whole message at once: its text reaches an editor's log, or a terminal, without steering it. */
function shownFrames(output: WritableStream<Uint8Array>): WritableStream<Uint8Array> {
  const writer = output.getWriter();
  return new WritableStream({
    write: (bytes) => writer.write(Buffer.from(escapeUnseen(Buffer.from(bytes).toString("utf8")))),
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  });
}

/**
 * Serves one editor until it disconnects or `stop` aborts; its running work is then ended and undone. The
 * user is not asked for permission: every job can be undone, and `/undo` is a command of every session.
 */
export async function serveAcp(
  host: AcpHost,
  streams: AcpStreams,
  stop: AbortSignal,
  limitBytes = ACP_MESSAGE_BYTES,
): Promise<void> {
  const sessions = createAcpSessions(host);
  const connection = createAcpAgent(host, sessions).connect(
    ndJsonStream(
      shownFrames(Writable.toWeb(streams.output) as WritableStream<Uint8Array>),
      Readable.toWeb(Readable.from(admitMessages(streams, limitBytes))) as ReadableStream<Uint8Array>,
      { maxMessageBytes: limitBytes + NEWLINE.length },
    ),
  );
  const end = () => connection.close();
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  await connection.closed;
  stop.removeEventListener("abort", end);
  // A pipe that is still read would keep the process alive.
  streams.input.destroy();
  await sessions.close();
}

function createAcpAgent(host: AcpHost, sessions: ReturnType<typeof createAcpSessions>) {
  const sender = (client: AgentContext, sessionId: string) => (update: SessionUpdate) =>
    void client
      .notify(methods.client.session.update, { sessionId, update })
      .catch((cause: unknown) => host.log(`acp: ${String(cause).slice(0, 500)}`));

  /** An editor knows a session only once it has read the answer, so its commands follow that. */
  function tellCommands(client: AgentContext, { id, folder }: AcpSession): void {
    const availableCommands = listCommands(folder.commands, folder.chat);
    setImmediate(() => sender(client, id)({ sessionUpdate: "available_commands_update", availableCommands }));
  }

  const editor = { readsFiles: false };
  /** Null where the editor did not offer to be asked. */
  const unsavedReader = (client: AgentContext, sessionId: string): ReadUnsaved | null =>
    editor.readsFiles
      ? (path) =>
          Promise.race([
            client
              .request(methods.client.fs.readTextFile, { sessionId, path })
              .then(({ content }) => content)
              .catch(() => null),
            new Promise<null>((resolve) => setTimeout(resolve, UNSAVED_MS, null)),
          ])
      : null;

  return agent({ name: "picoclaw" })
    .onRequest(methods.agent.initialize, ({ params }) => {
      editor.readsFiles = params.clientCapabilities?.fs?.readTextFile === true;
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentInfo: { name: "picoclaw", title: "PicoClaw", version: host.version },
        authMethods: [],
        agentCapabilities: {
          loadSession: true,
          mcpCapabilities: { http: true, sse: false },
          promptCapabilities: { embeddedContext: true, image: true },
          sessionCapabilities: { list: {}, resume: {}, close: {} },
        },
      };
    })
    .onRequest(methods.agent.session.new, async ({ params, client }) => {
      const session = await sessions.begin(params.cwd, params.mcpServers);
      tellCommands(client, session);
      return { sessionId: session.id, modes: session.modes(), configOptions: await session.options() };
    })
    .onRequest(methods.agent.session.load, async ({ params, client }) => {
      const session = await sessions.resume(params.cwd, params.sessionId, params.mcpServers);
      await sessions.replay(session, sender(client, session.id));
      tellCommands(client, session);
      return { modes: session.modes(), configOptions: await session.options() };
    })
    .onRequest(methods.agent.session.resume, async ({ params, client }) => {
      const session = await sessions.resume(params.cwd, params.sessionId, params.mcpServers ?? []);
      tellCommands(client, session);
      return { modes: session.modes(), configOptions: await session.options() };
    })
    .onRequest(methods.agent.session.list, async ({ params }) => ({
      sessions: await sessions.list(params.cwd ?? null),
    }))
    .onRequest(methods.agent.session.setMode, ({ params }) => {
      sessions.find(params.sessionId).setMode(params.modeId);
      return {};
    })
    .onRequest(methods.agent.session.setConfigOption, async ({ params }) => {
      const session = sessions.find(params.sessionId);
      await session.setOption(params.configId, params.value);
      return { configOptions: await session.options() };
    })
    .onRequest(methods.agent.session.close, ({ params }) => {
      sessions.end(params.sessionId);
      return {};
    })
    .onRequest(methods.agent.session.prompt, async ({ params, client, signal }) => {
      const session = sessions.find(params.sessionId);
      const prompt = await readPrompt(params.prompt, session, unsavedReader(client, session.id));
      const stopReason = await session.prompt(prompt, { signal, send: sender(client, session.id) });
      return { stopReason };
    })
    .onNotification(methods.agent.session.cancel, ({ params }) => sessions.find(params.sessionId).cancel());
}
