import { afterAll, beforeAll, expect, test } from "bun:test";
import { createServer, type Server } from "../../adapters/web/web-kit.ts";
import { requirePart, runs } from "../../require.ts";

interface Message {
  readonly message_id: string;
  readonly state: string;
  readonly reply: { readonly text: string; readonly ok: boolean } | null;
}

if (requirePart("bwrap")) {
  let server: Server;
  let token: string;
  let url: string;
  beforeAll(async () => {
    server = await createServer({
      script: [
        {
          when: { role: "coder3", message: "/append n(\\d+)$/" },
          text: "## Plan\nAppend\n\n## Patch\n```bash\necho line >> log-{{1}}.txt\n```\n\n## Risk\nlow\n",
          delay_ms: 60,
        },
        { text: "re: {{message}}" },
      ],
    });
    token = server.token("--scope", "read,chat,jobs");
    url = server.url;
  });
  afterAll(() => server.close());

  const ask = async (path: string, body?: unknown) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    return (await response.json()) as Message;
  };

  async function done(id: string): Promise<Message> {
    for (;;) {
      const message = await ask(`/messages/${id}`);
      if (message.state === "done") return message;
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  // From the acknowledgement over the model's answer, the job, its commit and the stored reply, to long after.
  const moments = [0, 40, 90, 130, 170, 210, 260, 400];
  const rounds = Array.from({ length: runs(moments.length) }, (_, n) =>
    n < moments.length ? (moments[n] as number) : (n * 37) % 500,
  );
  for (const [n, afterMs] of rounds.entries())
    test(`killed ${afterMs} ms after a message was taken, nothing is lost and nothing is done twice`, async () => {
      const sent = await ask("/messages", { text: `append n${n}`, route: "CODE3", event_id: `kill-${n}` });
      await new Promise((resolve) => setTimeout(resolve, afterMs));
      await server.stop("SIGKILL");
      ({ url } = await server.restart());
      // The service did not hear of the acknowledgement and sends it again.
      const again = await ask("/messages", { text: `append n${n}`, route: "CODE3", event_id: `kill-${n}` });
      expect(again.message_id).toBe(sent.message_id);
      const { reply } = await done(sent.message_id);
      expect(reply).not.toBeNull();
      expect(server.read(`log-${n}.txt`)).toBe("line\n");
    }, 300_000);

  test("a stop that is asked for lets what runs end", async () => {
    const sent = await ask("/messages", { text: "append n900", route: "CODE3" });
    await new Promise((resolve) => setTimeout(resolve, 40));
    await server.stop("SIGTERM");
    ({ url } = await server.restart());
    await done(sent.message_id);
    expect(server.read("log-900.txt")).toBe("line\n");
  }, 300_000);

  test("a hang-up reads the configuration again; a wrong one changes nothing and says so", async () => {
    const hangUp = async (said: string) => {
      process.kill(server.pid(), "SIGHUP");
      while (!server.errors().includes(said)) await new Promise((resolve) => setTimeout(resolve, 20));
    };
    server.configure("serve: { rate_limit: 2 }\n");
    await hangUp("The configuration was reloaded.");
    const answers = [];
    for (let n = 0; n < 3; n += 1) answers.push(await ask("/messages", { text: `limited ${n}` }));
    expect(answers.map((one) => "error" in one)).toEqual([false, false, true]);
    server.configure("serve: { prot: 1 }\n");
    await hangUp("The new configuration is not valid");
    expect(server.errors()).toContain("serve.port");
    server.configure(`worker: { workspace: ${JSON.stringify(server.home)} }\n`);
    await hangUp(`The workspace would change to ${server.home}`);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  }, 300_000);
}
