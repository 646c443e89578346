import type { ServerWebSocket } from "bun";

interface SlackMessage {
  readonly channel: string;
  readonly ts: string;
  readonly thread: string | null;
  text: string;
  blocks: unknown[];
  metadata: { event_type: string; event_payload: Record<string, unknown> } | null;
  readonly ephemeralTo: string | null;
  updates: number;
  /** Whether some call about it lets Slack fetch the addresses in it. */
  previews: boolean;
}

const showsPreviews = (args: Record<string, string>) =>
  args.unfurl_links !== "false" || args.unfurl_media !== "false";

/** Slack's web API and Socket Mode on a free port of this machine. */
export function startSlack(options: { readonly botToken: string; readonly appToken: string }) {
  const messages: SlackMessage[] = [];
  const files: {
    readonly name: string;
    readonly text: string;
    readonly channel: string;
    readonly thread: string | null;
  }[] = [];
  /** Files that people sent, by the end of their address; readable with the bot's token alone. */
  const contents = new Map<string, Uint8Array<ArrayBuffer>>();
  const uploads = new Map<string, { name: string; text: string }>();
  const faults: {
    readonly method?: string;
    /** `arrived`: carried out, but the caller learns nothing. A promise of `late`: carried out when it resolves. */
    readonly answer: () => Response | Promise<Response | "late"> | "arrived";
  }[] = [];
  const calls: string[] = [];
  const acks: { readonly envelope_id: string; readonly payload?: unknown }[] = [];
  let socket: ServerWebSocket<unknown> | undefined;
  let connections = 0;
  const connected = Promise.withResolvers<void>();
  let clock = 1_700_000_000;
  const ok = (more: object = {}) => Response.json({ ok: true, ...more });

  const api = (method: string, args: Record<string, string>, auth: string): Response | Promise<Response> => {
    const token = auth.replace(/^Bearer /, "");
    if (token !== (method === "apps.connections.open" ? options.appToken : options.botToken))
      return Response.json({ ok: false, error: "invalid_auth" });
    const json = (name: string) => (args[name] === undefined ? null : JSON.parse(args[name]));
    switch (method) {
      case "auth.test":
        return ok({ user_id: "Ubot", bot_id: "Bbot", team: "team", user: "picoclaw", team_id: "T1" });
      case "apps.connections.open":
        return ok({ url: `ws://127.0.0.1:${server.port}/socket` });
      case "chat.postEphemeral":
      case "chat.postMessage": {
        const message: SlackMessage = {
          channel: args.channel ?? "",
          ts: `${clock++}.000100`,
          thread: args.thread_ts ?? null,
          text: args.text ?? "",
          blocks: json("blocks") ?? [],
          metadata: json("metadata"),
          ephemeralTo: args.user ?? null,
          updates: 0,
          previews: showsPreviews(args),
        };
        const wrong = wrongIn(message.blocks);
        if (wrong !== null) return Response.json({ ok: false, error: wrong });
        messages.push(message);
        return ok({ ts: message.ts, channel: message.channel });
      }
      case "chat.update": {
        const found = messages.find(({ ts, channel }) => ts === args.ts && channel === args.channel);
        if (found === undefined) return Response.json({ ok: false, error: "message_not_found" });
        found.text = args.text ?? "";
        found.blocks = json("blocks") ?? [];
        found.metadata = json("metadata") ?? found.metadata;
        found.updates++;
        found.previews ||= showsPreviews(args);
        return ok({ ts: found.ts, channel: found.channel });
      }
      case "conversations.replies":
      case "conversations.history": {
        const list = messages.filter(
          ({ channel, thread, ts, ephemeralTo }) =>
            ephemeralTo === null &&
            channel === args.channel &&
            (method === "conversations.history" ? thread === null : thread === args.ts || ts === args.ts),
        );
        return ok({
          messages: list.map(({ ts, text, metadata }) => ({ ts, text, bot_id: "Bbot", metadata })),
        });
      }
      case "files.getUploadURLExternal": {
        const id = `F${uploads.size}`;
        uploads.set(id, { name: args.filename ?? "", text: "" });
        return ok({ upload_url: `http://127.0.0.1:${server.port}/upload/${id}`, file_id: id });
      }
      case "files.completeUploadExternal": {
        for (const { id } of json("files") as { id: string }[]) {
          const upload = uploads.get(id);
          if (upload)
            files.push({ ...upload, channel: args.channel_id ?? "", thread: args.thread_ts ?? null });
        }
        return ok({ files: [] });
      }
      default:
        return Response.json({ ok: false, error: "unknown_method" });
    }
  };

  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request, self) {
      const { pathname } = new URL(request.url);
      if (pathname === "/socket")
        return self.upgrade(request) ? undefined : new Response(null, { status: 400 });
      if (pathname.startsWith("/files/")) {
        if (request.headers.get("authorization") !== `Bearer ${options.botToken}`)
          return new Response("<html>Sign in</html>", { headers: { "content-type": "text/html" } });
        return new Response(contents.get(pathname.slice("/files/".length)));
      }
      if (pathname.startsWith("/upload/")) {
        const upload = uploads.get(pathname.slice("/upload/".length));
        const body = await request.text();
        if (upload) upload.text = body;
        return new Response("OK");
      }
      if (pathname.startsWith("/respond/")) {
        const { text, blocks } = (await request.json()) as { text: string; blocks?: unknown[] };
        messages.push({
          channel: pathname,
          ts: `${clock++}.000100`,
          thread: null,
          text,
          blocks: blocks ?? [],
          metadata: null,
          ephemeralTo: null,
          updates: 0,
          previews: false,
        });
        return ok();
      }
      const method = pathname.replace(/^\/api\//, "");
      calls.push(method);
      const raw = await request.text();
      const type = request.headers.get("content-type") ?? "";
      const args = type.includes("json")
        ? Object.fromEntries(
            Object.entries(JSON.parse(raw || "{}")).map(([k, v]) => [
              k,
              typeof v === "string" ? v : JSON.stringify(v),
            ]),
          )
        : Object.fromEntries(new URLSearchParams(raw));
      const at = faults.findIndex((fault) => fault.method === undefined || fault.method === method);
      const fault = at < 0 ? undefined : await faults.splice(at, 1)[0]?.answer();
      if (fault instanceof Response) return fault;
      const answer = await api(
        method,
        args as Record<string, string>,
        request.headers.get("authorization") ?? `Bearer ${args.token}`,
      );
      return fault === "arrived" ? new Response("", { status: 500 }) : answer;
    },
    websocket: {
      open(ws) {
        socket = ws;
        connections += 1;
        ws.send(
          JSON.stringify({
            type: "hello",
            num_connections: 1,
            connection_info: { app_id: "A1" },
            debug_info: {},
          }),
        );
        connected.resolve();
      },
      message(_, data) {
        acks.push(JSON.parse(String(data)));
      },
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}/api/`,
    origin: `http://127.0.0.1:${server.port}`,
    messages,
    contents,
    files,
    faults,
    calls,
    acks,
    connected: connected.promise,
    /** How many were made over Socket Mode. */
    connections: () => connections,
    /** Sends an envelope over Socket Mode. */
    push(type: "events_api" | "slash_commands" | "interactive", payload: object, more: object = {}) {
      const envelope = {
        type,
        envelope_id: crypto.randomUUID(),
        accepts_response_payload: true,
        payload,
        ...more,
      };
      socket?.send(JSON.stringify(envelope));
      return envelope.envelope_id;
    },
    /** Sends a frame as it is over Socket Mode. */
    pushFrame: (frame: string | Uint8Array) => void socket?.send(frame),
    /** Ends the connection of Socket Mode, as a proxy or a fallen server does. */
    hangUp: () => socket?.terminate(),
    stop: () => server.stop(true),
  };
}

/** Block Kit's limits. */
function wrongIn(blocks: readonly unknown[]): string | null {
  if (blocks.length > 50) return "invalid_blocks";
  for (const block of blocks as {
    type: string;
    text?: { text: string };
    elements?: { text: { text: string }; value: string }[];
  }[]) {
    if (block.type === "section" && (block.text?.text.length ?? 0) > 3000) return "invalid_blocks";
    if (block.type === "section" && block.text?.text === "") return "invalid_blocks";
    for (const element of block.type === "actions" ? (block.elements ?? []) : [])
      if (element.text.text.length > 75 || element.value.length > 2000) return "invalid_blocks";
  }
  return null;
}
