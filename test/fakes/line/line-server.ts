/**
 * LINE's messaging API on a free port of this machine, or on a socket: tokens are good once and for a minute, retry keys
 * are known.
 */
export function startLine(options: {
  readonly token: string;
  readonly socket?: string;
  readonly now?: () => number;
}) {
  const now = options.now ?? Date.now;
  const tokens = new Map<string, { readonly chatId: string; readonly at: number; used: boolean }>();
  const retryKeys = new Set<string>();
  const shown: {
    readonly chatId: string;
    readonly text: string;
    readonly how: "reply" | "push";
    readonly buttons: string[];
  }[] = [];
  const loading: string[] = [];
  /** The files of messages, by the id of the message. */
  const contents = new Map<string, Uint8Array<ArrayBuffer>>();
  /**
   * Answers that come instead; "arrived" means that it is done, but its answer is lost; "silence" none at all; a
   * promise, that it is done when that resolves.
   */
  const faults: (Response | "arrived" | "silence" | Promise<"late">)[] = [];

  const show = (chatId: string, how: "reply" | "push", messages: readonly Message[]) => {
    for (const { text, quickReply } of messages)
      shown.push({ chatId, text, how, buttons: (quickReply?.items ?? []).map(({ action }) => action.data) });
  };
  const server = Bun.serve({
    ...(options.socket === undefined ? { hostname: "127.0.0.1", port: 0 } : { unix: options.socket }),
    async fetch(request) {
      const { pathname } = new URL(request.url);
      if (request.headers.get("authorization") !== `Bearer ${options.token}`)
        return Response.json({ message: "Authentication failed" }, { status: 401 });
      if (pathname === "/v2/bot/info")
        return Response.json({
          userId: "Ubot",
          basicId: "@bot",
          displayName: "PicoClaw",
          chatMode: "bot",
          markAsReadMode: "auto",
        });
      const content = /^\/v2\/bot\/message\/([^/]+)\/content$/.exec(pathname)?.[1];
      if (content !== undefined) {
        const bytes = contents.get(content);
        return bytes === undefined ? new Response("", { status: 404 }) : new Response(bytes);
      }
      const body = (await request.json()) as {
        replyToken: string;
        to: string;
        chatId: string;
        messages: Message[];
      };
      if (pathname === "/v2/bot/chat/loading/start") {
        loading.push(body.chatId);
        return Response.json({}, { status: 202 });
      }
      const fault = await faults.shift();
      if (fault === "silence") return new Promise<Response>(() => {});
      if (fault instanceof Response) return fault;
      const wrong = wrongIn(body.messages);
      if (wrong !== null) return Response.json({ message: wrong }, { status: 400 });
      const lost = () =>
        fault === "arrived" ? new Response("", { status: 500 }) : Response.json({ sentMessages: [] });
      if (pathname === "/v2/bot/message/reply") {
        const token = tokens.get(body.replyToken);
        if (token === undefined || token.used || now() - token.at > 60_000)
          return Response.json({ message: "Invalid reply token" }, { status: 400 });
        token.used = true;
        show(token.chatId, "reply", body.messages);
        return lost();
      }
      if (pathname !== "/v2/bot/message/push") return new Response("", { status: 404 });
      const key = request.headers.get("x-line-retry-key") ?? "";
      if (retryKeys.has(key))
        return Response.json({ message: "The retry key is already accepted" }, { status: 409 });
      retryKeys.add(key);
      show(body.to, "push", body.messages);
      return lost();
    },
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    shown,
    loading,
    contents,
    faults,
    /** A token as an event brings it. */
    issue(chatId: string): string {
      const token = `token-${tokens.size}`;
      tokens.set(token, { chatId, at: now(), used: false });
      return token;
    },
    stop: () => server.stop(true),
  };
}

interface Message {
  readonly type: string;
  readonly text: string;
  readonly quickReply?: {
    readonly items: readonly { readonly action: { readonly label: string; readonly data: string } }[];
  };
}

function wrongIn(messages: readonly Message[]): string | null {
  if (messages.length === 0 || messages.length > 5) return "Size must be between 1 and 5";
  for (const { type, text, quickReply } of messages) {
    if (type !== "text" || text.length === 0 || text.length > 5000) return "May not be empty or too long";
    const items = quickReply?.items ?? [];
    if (items.length > 13 || items.some(({ action }) => action.label.length > 20 || action.data.length > 300))
      return "Bad quick reply";
  }
  return null;
}
