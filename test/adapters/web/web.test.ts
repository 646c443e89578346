import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { chatMessagesFor } from "../../../src/domain/texts/chat.ts";
import { create, until } from "../../e2e/cli-kit.ts";
import { PNG } from "../../fakes/pictures.ts";
import { createServer, type Server, signIn, type Visitor } from "./web-kit.ts";

let server: Server;
let operator: Visitor;
let alice: Visitor;
beforeAll(async () => {
  server = await createServer({
    script: [
      {
        when: { role: "coder3", message: "/Request:\\n.*buttons/" },
        text: "## Plan\nx\n\n## Patch\n```text:buttons.txt\nx\n```\n\n## Risk\nlow\n",
      },
      {
        when: { role: "coder3", message: "/Request:\\n.*findme/" },
        text: "## Plan\nx\n\n## Patch\n```text:findme.txt\nx\n```\n\n## Risk\nlow\n",
      },
      {
        when: { role: "coder3", message: "/breaks/" },
        text: "## Plan\nx\n\n## Patch\n```text:breaks.txt\nx\n```\n```bash\necho half way; echo '<b>no' >&2; exit 3\n```\n\n## Risk\nhigh\n",
      },
      {
        when: { role: "coder3", message: "/Request:\\n.*named/" },
        text: "## Plan\nx\n\n## Patch\n```text:named.txt\nx\n```\n\n## Risk\nlow\n",
      },
      {
        when: { role: "coder3", message: "/Request:\\n.*mine/" },
        text: "## Plan\nx\n\n## Patch\n```text:mine.txt\nx\n```\n\n## Risk\nlow\n",
      },
      {
        when: { role: "coder3" },
        text: '## Plan\n<img src=x onerror=alert(1)>\n\n## Patch\n```text:<b>a&"b.txt\n<script>alert(1)</script>\n```\n\n## Risk\nlow\n',
      },
      { when: { message: "slow" }, text: "late", delay_ms: 60_000 },
      { when: { message: "/unwell$/" }, fail: "unauthorized" },
      { text: "re: {{message}}" },
    ],
  });
  operator = await signIn(server.login);
  alice = await signIn(server.link(server.url, "--user", "alice", "--role", "user"));
});
afterAll(() => server.close());

async function answered(visitor: Visitor, chat: string, text: string): Promise<string> {
  const sent = await visitor.post(`/chat/${chat}`, { text, event: crypto.randomUUID() });
  expect(sent.status).toBe(303);
  for (;;) {
    const page = await visitor.text(`/chat/${chat}`);
    if (!page.includes('class="reply pending"')) return page;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("a deleted folder is shown with its files, in the page of its job and where its card unfolds", async () => {
  mkdirSync(join(server.workspace, "gone/in"), { recursive: true });
  for (const path of ["gone/a.txt", "gone/in/b.txt"])
    writeFileSync(join(server.workspace, path), `${path}\n`);
  const patch = JSON.stringify([{ type: "shell_command", action: "run", target: "rm -rf gone; mkdir bare" }]);
  const ran = await operator.post("/playground", { patch, do: "apply" });
  const address = new URL(ran.headers.get("location") ?? "/nowhere", server.url).pathname;
  const page = await operator.text(address);
  expect(page).not.toContain("This job changed no file");
  for (const text of ["gone/a.txt", "gone/in/b.txt", "bare"]) expect(page).toContain(text);
  const unfolded = await operator.text(`${address}/diff?path=gone`);
  expect(unfolded).toContain("Folder with 2 files: a.txt, in/b.txt");
  expect(unfolded).toContain("−1");
  expect(await operator.text(`${address}/diff?path=bare`)).toContain("empty folder");
  await operator.post(`${address}/undo`, {});
  expect(await operator.text(address)).toContain("gone/in/b.txt");
}, 300_000);

test("a preview that was thrown away is discarded, not stopped", async () => {
  const patch = "```text:thrown.txt\nx\n```";
  const ran = await operator.post("/playground", { patch, do: "preview" });
  const address = new URL(ran.headers.get("location") ?? "/nowhere", server.url).pathname;
  await operator.post(`${address}/discard`, {});
  const page = await operator.text(address);
  expect(page).toContain('<span class="state discarded">Discarded</span>');
  expect(page).not.toContain("Rolled back");
  expect(page).not.toContain("Stopped, nothing changed");
  // A filter names every job of its kind, with any number of failed commands.
  const offered = [
    ...(await operator.text("/jobs")).matchAll(/<option value="(?:partly|no-change)"[^>]*>([^<]*)</g),
  ];
  expect(offered.map(([, label]) => label)).toEqual(["Applied, some commands failed", "No change"]);
  expect(server.run(["jobs"]).out).toContain("Discarded");
}, 300_000);

test("the settings in use are shown, and beside them those edited since", async () => {
  const file = join(server.home, "config.yaml");
  const before = readFileSync(file, "utf8");
  writeFileSync(
    file,
    before.replace("chat: { provider: demo, model: demo }", "chat: { provider: demo, model: later }"),
  );
  const page = await operator.text("/system");
  const [, row = ""] = /<tr><td><code>roles\.chat\.model<\/code><\/td>([\s\S]*?)<\/tr>/.exec(page) ?? [];
  expect(row).toContain("<td><code>&quot;demo&quot;</code>");
  expect(row).toContain("not read yet: <code>&quot;later&quot;</code>");
  writeFileSync(file, before);
  expect(await operator.text("/system")).not.toContain("not read yet");
}, 300_000);

test("a chat is called by its first message, and chats of a terminal stand in the same list", async () => {
  await answered(operator, "operator.other", "Something else");
  await answered(operator, "operator.titled", "First words of it");
  const page = await answered(operator, "operator.titled", "Second words");
  const [, menu = ""] = /<details class="menu">([\s\S]*?)<\/details>/.exec(page) ?? [];
  expect(menu).toContain("First words of it");
  expect(menu).not.toContain("Second words");
  server.run(["chat", "--name", "nightly", "typed at a terminal"]);
  const sessions = await operator.text("/sessions");
  expect(sessions).toContain("nightly: typed at a terminal");
  expect(sessions).toContain("First words of it");
  expect(await operator.text("/sessions/cli/nightly")).toContain("re: typed at a terminal");
  expect(await alice.text("/sessions")).not.toContain("nightly");
  expect((await alice.get("/sessions/cli/nightly")).status).toBe(404);
}, 300_000);

test("an undo button is reported once, on the job's card, and is not a message of the user", async () => {
  const page = await answered(operator, "operator.pressed", "/code3 named");
  const form = [...page.matchAll(/<form[^>]*data-say>[\s\S]*?<\/form>/g)]
    .map(([one]) => one)
    .find((one) => one.includes("/undo "));
  const field = (name: string) => new RegExp(`name="${name}" value="([^"]*)"`).exec(form ?? "")?.[1] ?? "";
  const sent = await operator.post("/chat/operator.pressed", { text: field("text"), event: field("event") });
  expect(sent.status).toBe(303);
  let after = await operator.text("/chat/operator.pressed");
  while (after.includes('class="reply pending"')) after = await operator.text("/chat/operator.pressed");
  expect(after).toContain('<details class="event-line"><summary>Undone');
  expect(after).not.toContain("event-card");
  expect(after.split('value="/redo ')).toHaveLength(2);
  expect(after).not.toContain('<div class="bubble">/undo');
  const typed = await answered(operator, "operator.pressed", field("text").replace("/undo", "/redo"));
  expect(typed).toContain('<div class="bubble">/redo');
  await answered(operator, "operator.pressed", field("text"));
}, 300_000);

test("the number of a line in a difference leads to the job that wrote it, through later jobs", async () => {
  const made = (patch: object) =>
    JSON.parse(server.apply([patch], ["--json"]).out) as { job_id: string; number: number };
  const write = (action: string, content: string) => ({
    type: "file_edit",
    action,
    target: "why/a.txt",
    content,
  });
  const first = made(write("create", "one\ntwo <b>\n")).number;
  const { job_id: second, number } = made(write("update", "ONE\ntwo <b>\n"));
  const page = await operator.text(`/jobs/${second}`);
  const links = [...page.matchAll(/href="(\/jobs\/[^"]+\/why\?[^"]+)"/g)].map(([, one = ""]) =>
    one.replaceAll("&amp;", "&"),
  );
  const why = async (line: number, side: string) => {
    const link = links.find((one) => one.includes(`line=${line}&side=${side}`)) ?? "";
    return /<pre class="output wrap"[^>]*>([\s\S]*?)<\/pre>/.exec(await operator.text(link))?.[1] ?? "";
  };
  expect(await why(1, "after")).toContain(`Written by #${number}`);
  expect(await why(1, "before")).toContain(`why/a.txt:1: one\n\nWritten by #${first},`);
  expect(await why(2, "after")).toContain(`why/a.txt:2: two &lt;b&gt;\n\nWritten by #${first},`);
  const at = (query: string) => operator.get(`/jobs/${second}/why?${query}`);
  expect((await at("path=why%2Fa.txt&line=x")).status).toBe(404);
  expect(await (await at("path=why%2Fa.txt&line=9")).text()).toContain("why/a.txt has 2 lines.");
  expect(await (await at("path=..%2F..%2Fetc%2Fpasswd&line=1")).text()).toContain("There is no file");
  const guest = await signIn(server.link(server.url, "--user", "curious", "--role", "user"));
  expect((await guest.get(`/jobs/${second}/why?path=why%2Fa.txt&line=1`)).status).toBe(404);
}, 300_000);

test("the composer gets the project's files that a word after @ may mean", async () => {
  server.apply([create("src/cart-total.ts", "x")]);
  const found = async (visitor: Visitor) => (await visitor.get("/files?q=carttot")).json();
  expect(await found(operator)).toEqual(["src/cart-total.ts"]);
  expect((await fetch(`${server.url}/files?q=cart`, { redirect: "manual" })).status).not.toBe(200);
});

describe("an image in the console", () => {
  const send = async (visitor: Visitor, chat: string, bytes: Uint8Array<ArrayBuffer>, name = "a.png") => {
    const body = new FormData();
    const fields = { csrf: visitor.csrf, text: "look", event: crypto.randomUUID() };
    for (const [key, value] of Object.entries(fields)) body.append(key, value);
    body.append("file", new File([bytes], name, { type: "image/png" }));
    const cookie = [...visitor.cookies].map(([key, value]) => `${key}=${value}`).join("; ");
    const headers = { cookie, "accept-language": "en" };
    return fetch(`${server.url}/chat/${chat}`, { method: "POST", body, headers, redirect: "manual" });
  };

  test("is shown beside its message, to its chat's people only, and a model that does not see is not asked", async () => {
    expect((await send(operator, "operator.image", PNG)).status).toBe(303);
    let page = await operator.text("/chat/operator.image");
    while (page.includes('class="reply pending"')) page = await operator.text("/chat/operator.image");
    expect(page).toContain("cannot read images. Nothing was sent");
    const address = /<img src="([^"]+)" alt="a.png"/.exec(page)?.[1] ?? "";
    const picture = await operator.get(address);
    expect(picture.headers.get("content-type")).toBe("image/png");
    expect(new Uint8Array(await picture.arrayBuffer())).toEqual(PNG);
    expect((await alice.get(address)).status).toBe(404);
    expect((await operator.get(`${address.slice(0, -4)}0000`)).status).toBe(404);
  }, 300_000);

  test("is refused before it is sent where no model takes such a file", async () => {
    const sent = await send(operator, "operator.noimage", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0]));
    expect(sent.status).toBe(415);
    expect(decodeURIComponent(sent.headers.get("x-notice") ?? "")).toContain("a.png");
    const large = new Uint8Array(4 * 1024 ** 2);
    large.set(PNG);
    expect((await send(operator, "operator.noimage", large)).status).toBe(413);
    expect(await operator.text("/chat/operator.noimage")).not.toContain("a.png");
  }, 300_000);
});

describe("a reader of another language and zone than the server's", () => {
  const read = async (chat: string) =>
    (await operator.get(`/chat/${chat}`, { "accept-language": "ja" })).text();

  test("sees what commands answered, why a model failed, and buttons in Japanese", async () => {
    for (const text of ["/help", "/usage", "unwell", "/plan a house"])
      await answered(operator, "operator.reader", text);
    const page = await read("operator.reader");
    for (const [ja, en] of [
      [chatMessagesFor("ja").help[0]?.[1], chatMessagesFor("en").help[0]?.[1]],
      ["Mio は答えられませんでした", "Mio could not answer"],
      [chatMessagesFor("ja").giveToCoder, chatMessagesFor("en").giveToCoder],
    ])
      expect([ja, page.includes(String(ja)), page.includes(String(en))]).toEqual([ja, true, false]);
  });

  test("sees times in the zone that the browser sent", async () => {
    const at = "2026-01-01T12:00:00.000Z";
    await answered(operator, "operator.zone", "hello");
    const times = async (zone: string) => {
      operator.cookies.set("picoclaw_zone", zone);
      const page = await operator.text("/chat/operator.zone");
      operator.cookies.delete("picoclaw_zone");
      return /<time datetime="([^"]+)"[^>]*>(?:[^<]* )?(\d\d):(\d\d)</.exec(page)?.slice(1) ?? [at];
    };
    const [iso = at, hour] = await times("Asia/Kolkata");
    const expected = new Date(iso).toLocaleTimeString("en", { timeZone: "Asia/Kolkata", hourCycle: "h23" });
    expect(hour).toBe(expected.slice(0, 2));
    expect((await times("No/Where")).length).toBe(3);
  });
});

describe("coming in", () => {
  test("a link opens the console once, with a cookie that scripts and other sites cannot use", async () => {
    expect(operator.first.status).toBe(303);
    const [cookie = ""] = operator.first.headers.getSetCookie();
    expect(cookie).toMatch(/; HttpOnly/);
    expect(cookie).toMatch(/; SameSite=Strict/);
    const again = await fetch(server.login, { method: "POST", redirect: "manual" });
    expect(again.status).toBe(403);
    const page = await again.text();
    expect(page).toContain("This link was already used");
    expect(page).toContain("picoclaw serve link");
  });

  test("who only looks at a link does not use it up", async () => {
    const link = server.link(server.url);
    for (const method of ["HEAD", "GET", "GET"]) {
      const looked = await fetch(link, { method, redirect: "manual" });
      expect([looked.status, looked.headers.getSetCookie()]).toEqual([200, []]);
    }
    const foreign = await fetch(link, {
      method: "POST",
      redirect: "manual",
      headers: { origin: "https://elsewhere.example" },
    });
    expect(foreign.status).toBe(403);
    expect((await fetch(link, { method: "POST", redirect: "manual" })).status).toBe(303);
  });

  test("a link to a port without a listener says so", () => {
    const made = server.run(["serve", "link", "--port", "1"]);
    expect([made.code, made.err]).toEqual([
      0,
      expect.stringContaining("Nothing is listening on 127.0.0.1:1"),
    ]);
  });

  test("a link leads to the port that the running server has", () => {
    const made = server.run(["serve", "link", "--json"]);
    const { login, listening } = JSON.parse(made.out) as { login: string; listening: boolean };
    expect([new URL(login).origin, listening]).toEqual([new URL(server.url).origin, true]);
  });

  test("two browsers that open one link at once: one is let in", async () => {
    const link = server.link(server.url);
    const tries = await Promise.all(
      Array.from({ length: 8 }, () => fetch(link, { method: "POST", redirect: "manual" })),
    );
    expect(tries.filter(({ status }) => status === 303).length).toBe(1);
  });

  test("nothing is shown to a stranger, and no page says which addresses exist", async () => {
    for (const path of [
      "/",
      "/chat",
      "/jobs",
      "/jobs/job_1_aaaaaaaa",
      "/system",
      "/nothing",
      "/live?jobs=1",
    ]) {
      const response = await fetch(`${server.url}${path}`, { redirect: "manual" });
      expect([path, response.status]).toEqual([path, 401]);
      expect(await response.text()).toContain("picoclaw serve link");
    }
  });

  test("a visit from another site is sent once more from a page of ours, and no further", async () => {
    const headers = { "sec-fetch-site": "cross-site" };
    const first = await fetch(`${server.url}/jobs?x=1`, { headers });
    expect(await first.text()).toContain('content="0;url=/jobs?x=1&amp;again=1"');
    const second = await fetch(`${server.url}/jobs?x=1&again=1`, { headers });
    expect(second.status).toBe(401);
  });

  test("signing out ends the session on the server too", async () => {
    const guest = await signIn(server.link(server.url, "--user", "guest"));
    const cookie = [...guest.cookies].map((pair) => pair.join("=")).join("; ");
    const stream = await guest.get("/live?jobs=1");
    await guest.post("/logout");
    expect((await fetch(`${server.url}/jobs`, { headers: { cookie } })).status).toBe(401);
    // The earlier messages, then the end: a stream that goes on would keep this waiting.
    expect(await stream.text()).toContain(": hello");
  });
});

describe("the border", () => {
  test("a port that is taken is not shared", () => {
    const ran = server.run(["serve", "--port", new URL(server.url).port]);
    expect(ran.code).toBe(3);
    expect(ran.err).toContain(`cannot listen on 127.0.0.1:${new URL(server.url).port}`);
  });

  test("a page whose name was pointed at us is turned away by its Host", async () => {
    for (const host of ["evil.example", "localhost.evil.example:80", "127.0.0.1.nip.io"]) {
      const answer = await raw(`GET /healthz HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect([host, answer.split("\r\n")[0]]).toEqual([host, "HTTP/1.1 403 Forbidden"]);
    }
  });

  test("a visitor is never sent on to another server", async () => {
    for (const path of ["//elsewhere.example/x", "/\\elsewhere.example/x", "/.//elsewhere.example/x"]) {
      const lines = [`GET ${path} HTTP/1.1`, "Host: 127.0.0.1", "Sec-Fetch-Site: cross-site"];
      const answer = await raw(`${lines.join("\r\n")}\r\nConnection: close\r\n\r\n`);
      expect(answer).toContain('content="0;url=/elsewhere.example/x?again=1"');
    }
  });

  test("every answer forbids scripts from elsewhere, framing, sniffing and keeping", async () => {
    for (const path of ["/jobs", "/healthz", "/api/v1/jobs", "/nothing-here"]) {
      const { headers } = await operator.get(path);
      const policy = headers.get("content-security-policy") ?? "";
      expect(policy).toContain("default-src 'none'");
      expect(policy).not.toContain("unsafe");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("cache-control")).toBe("no-store");
    }
  });

  test("pages carry no inline script and no inline style", async () => {
    for (const path of [
      "/chat/operator",
      "/jobs",
      "/playground",
      "/tasks",
      "/sessions",
      "/usage",
      "/system",
    ]) {
      const page = await operator.text(path);
      expect(page).not.toMatch(/<script(?![^>]*\bsrc=)/);
      expect(page).not.toMatch(/\sstyle=|<style|\son[a-z]+=/);
      expect(page).not.toMatch(/(?:src|href|action)="(?:https?:)?\/\//);
    }
  });

  test("a chart of the usage page whose days are all zero is left out", async () => {
    const page = await operator.text("/usage");
    expect(page).toContain("<figcaption>Jobs per day");
    expect(page).not.toContain("<figcaption>Cost per day");
  });

  test("a change without the page's token, or from another site, changes nothing", async () => {
    const without = await operator.post("/chat/operator", { csrf: "", text: "forged" });
    const wrong = await operator.post("/chat/operator", { csrf: alice.csrf, text: "forged" });
    const elsewhere = await operator.post(
      "/chat/operator",
      { text: "forged" },
      { origin: "https://evil.example" },
    );
    const site = await operator.post(
      "/chat/operator",
      { text: "forged" },
      { "sec-fetch-site": "cross-site" },
    );
    expect([without, wrong, elsewhere, site].map(({ status }) => status)).toEqual([403, 403, 403, 403]);
    expect(await operator.text("/chat/operator")).not.toContain("forged");
  });

  test("a body of more than ten megabytes is refused", async () => {
    const response = await operator.post("/playground", { patch: "x".repeat(10 * 1024 ** 2) });
    expect(response.status).toBe(413);
  });

  test("a client that sends its head a byte at a time is disconnected, and blocks no other", async () => {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    socket.write("GET /healthz HTTP/1.1\r\n");
    const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
    const drip = setInterval(() => socket.write("X"), 1_000);
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    await closed;
    clearInterval(drip);
  }, 300_000);

  test("paths lead nowhere but to pages", async () => {
    for (const path of [
      "/jobs/..%2f..%2fetc%2fpasswd",
      "/jobs/%252e%252e%252f",
      "/assets/../../../../etc/passwd",
      "/assets/..%2f..%2fpackage.json",
      "/jobs/job_1_aaaaaaaa%00",
      "/chat/..%2foperator",
      "/sessions/web/%2e%2e%2f",
    ]) {
      const response = await operator.get(path);
      expect([path, response.status >= 400 && response.status < 500]).toEqual([path, true]);
      expect(await response.text()).not.toContain("root:");
    }
  });

  test("preferences lead back to our own pages only", async () => {
    for (const back of ["//evil.example", "https://evil.example", "/\\evil.example", "javascript:alert(1)"]) {
      const { headers } = await operator.post("/preferences", { lang: "en", back });
      const location = new URL(headers.get("location") ?? "", server.url);
      expect([back, location.origin]).toEqual([back, server.url]);
    }
  });

  async function raw(text: string): Promise<string> {
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    let answer = "";
    socket.on("data", (data) => {
      answer += String(data);
    });
    socket.write(text);
    await new Promise((resolve) => socket.once("close", resolve));
    return answer;
  }
});

describe("what others wrote", () => {
  test("is shown as text, in messages, replies, file names, diffs and output", async () => {
    const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`;
    const page = await answered(operator, "operator.xss", `/code3 ${hostile}`);
    expect(page).toContain("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&gt;&lt;img");
    const jobId = /\/jobs\/(job_\d+_\w{8})/.exec(page)?.[1] ?? "";
    const shell = server.apply([
      { type: "shell_command", action: "run", target: "printf '<script>alert(3)</script>\\033[31mred'" },
    ]);
    expect(shell.code).toBe(0);
    const lists = await operator.text("/jobs");
    const shellJob = [...lists.matchAll(/\/jobs\/(job_\d+_\w{8})"/g)].map(([, id]) => id)[0];
    for (const path of [
      `/jobs/${jobId}`,
      `/jobs/${jobId}?view=split`,
      `/jobs/${shellJob}`,
      "/jobs",
      "/sessions",
    ]) {
      const text = await operator.text(path);
      expect([path, /<script>|<img|<b>a&/.test(text)]).toEqual([path, false]);
    }
    const diff = await operator.text(`/jobs/${jobId}`);
    expect(diff).toContain("&lt;b&gt;a&amp;&quot;b.txt");
    expect(await operator.text(`/jobs/${shellJob}`)).toContain("&lt;script&gt;alert(3)&lt;/script&gt;red");
  });

  test("cannot hide its direction or its controls", async () => {
    server.apply([create("trojan.txt", "user\u202e // admin\u2066\n")]);
    const [, jobId] = /\/jobs\/(job_\d+_\w{8})"/.exec(await operator.text("/jobs")) ?? [];
    expect(await operator.text(`/jobs/${jobId}`)).toContain("user⟦202E⟧ // admin⟦2066⟧");
  });
});

describe("one and the other", () => {
  test("a user sees neither the chats nor the jobs nor the pages of others", async () => {
    await answered(operator, "operator", "the operator's secret");
    const page = await answered(operator, "operator", "/code3 write");
    const jobId = /\/jobs\/(job_\d+_\w{8})/.exec(page)?.[1] ?? "";
    expect((await operator.get(`/jobs/${jobId}`)).status).toBe(200);
    for (const path of [
      `/jobs/${jobId}`,
      "/chat/operator",
      "/chat/operator.x",
      "/sessions/web/operator",
      "/live?chat=web:operator",
      `/live?job=${jobId}`,
    ])
      expect([path, (await alice.get(path)).status]).toEqual([path, 404]);
    for (const path of ["/system", "/tasks", "/playground"])
      expect([path, (await alice.get(path)).status]).toEqual([path, 403]);
    for (const verb of ["undo", "redo", "apply", "stop"])
      expect([verb, (await alice.post(`/jobs/${jobId}/${verb}`)).status]).toEqual([verb, 404]);
    expect(await alice.text("/jobs")).not.toContain(jobId);
    expect(await alice.text("/sessions")).not.toContain("secret");
    expect((await alice.post("/chat/operator", { text: "in her name" })).status).toBe(404);
  });

  test("a user has their own chat, jobs and undo; the operator sees them", async () => {
    const page = await answered(alice, "alice", "/code3 mine");
    const jobId = /\/jobs\/(job_\d+_\w{8})/.exec(page)?.[1] ?? "";
    expect(await alice.text("/jobs")).toContain(jobId);
    expect(await operator.text("/jobs")).toContain(jobId);
    expect(await operator.text("/sessions")).toContain("/sessions/web/alice");
    const undone = await alice.post(`/jobs/${jobId}/undo`);
    expect(await alice.text(undone.headers.get("location") ?? "")).toContain("was undone");
  });

  test("jobs are titled by their request, and found by words, state, chat and file", async () => {
    await answered(operator, "operator.found", "/code3 findme");
    const rows = async (query: string) =>
      [...(await operator.text(`/jobs?${query}`)).matchAll(/<span class="title">([^<]*)</g)].map(
        ([, title]) => title,
      );
    expect(await rows("q=findme")).toEqual(["findme"]);
    expect(await rows("chat=web:operator.found&status=applied&path=findme")).toEqual(["findme"]);
    expect(await rows("chat=web:operator.found&status=taken-back")).toEqual([]);
    expect(await rows("q=findme&day=1999-01-01")).toEqual([]);
    expect(await operator.text("/jobs?q=<b>&status=nonsense&page=x")).toContain("No job matches");
    const [, jobId] = /\/jobs\/(job_\d+_\w{8})"/.exec(await operator.text("/jobs?q=findme")) ?? [];
    const page = await operator.text(`/jobs/${jobId}`);
    // The request is the title, and is not repeated below it.
    expect(page).toContain("<h1>findme</h1>");
    expect(page).not.toContain("<blockquote");
    expect(page).toContain('href="/chat/operator.found"');
    expect(await alice.text("/jobs?q=findme")).not.toContain(jobId);
  });

  test("a card says what failed with its output, and the risk; caveats are folded away", async () => {
    const page = await answered(operator, "operator.failing", "/code3 breaks");
    const card = /<section class="job-card[\s\S]*?<\/section>/.exec(page)?.[0] ?? "";
    expect(card).toContain('class="failure"');
    expect(card).toContain("half way");
    expect(card).toContain("&lt;b&gt;no");
    expect(card).toContain("Risk: high");
    expect(page).not.toContain("[Result]");
    expect(page.split("breaks.txt</span>").length - 1).toBe(1);
  });

  test("a preview in conflict is shown from its sides; the rest of it can be applied, or none", async () => {
    const write = (text: string) => [create("clash.txt", text)];
    server.apply(write("one\n"));
    const staged = JSON.parse(
      server.apply(
        [{ ...create("clash.txt", "draft\n"), action: "update" }, create("beside.txt", "x\n")],
        ["--preview", "--json"],
      ).out,
    ) as { job_id: string };
    server.apply([{ ...create("clash.txt", "theirs\n"), action: "update" }]);
    const job = `/jobs/${staged.job_id}`;
    await operator.post(`${job}/apply`);
    const page = await operator.text(job);
    expect(page).toContain("Conflicts");
    expect(page).toContain("Changed meanwhile");
    for (const line of ["one", "theirs", "draft"]) expect(page).toContain(`<td class="t">${line}</td>`);
    expect((await alice.post(`${job}/rest`)).status).toBe(404);
    expect((await alice.post(`${job}/discard`)).status).toBe(404);
    const rest = await operator.text((await operator.post(`${job}/rest`)).headers.get("location") ?? "");
    expect(rest).toContain("Left out: clash.txt");
    expect([server.tree()["beside.txt"], server.tree()["clash.txt"]].map(String)).toEqual([
      "x\n",
      "theirs\n",
    ]);
    expect(await operator.text(job)).not.toContain("Conflicts");
    const again = await operator.text((await operator.post(`${job}/discard`)).headers.get("location") ?? "");
    expect(again).toContain('class="notice bad"');
  });

  test("two operators press Undo at once: one wins, the other gets the reason", async () => {
    server.apply([create("both.txt", "x\n")]);
    const [, jobId] = /\/jobs\/(job_\d+_\w{8})"/.exec(await operator.text("/jobs")) ?? [];
    const other = await signIn(server.link(server.url, "--user", "second", "--role", "operator"));
    const answers = await Promise.all(
      [operator, other].map(async (who) => {
        const response = await who.post(`/jobs/${jobId}/undo`);
        return who.text(response.headers.get("location") ?? "");
      }),
    );
    const won = answers.filter((page) => page.includes('class="notice good"')).length;
    const told = answers.filter((page) => page.includes('class="notice bad"')).length;
    expect([won, told]).toEqual([1, 1]);
    expect(Object.keys(server.tree())).not.toContain("both.txt");
  });

  test("a reply's buttons speak in the chat they stand in", async () => {
    const page = await answered(operator, "operator.buttons", "/code3 buttons");
    expect(page).toContain('action="/chat/operator.buttons" class="act"');
    expect(await operator.text("/sessions/web/operator.buttons")).not.toContain("data-say");
  });

  test("a reply's buttons name its job, and follow what became of it", async () => {
    const chat = "operator.named";
    const said = async () =>
      [...(await operator.text(`/chat/${chat}`)).matchAll(/name="text" value="(\/[^"]+)"/g)].map(
        ([, text]) => text,
      );
    await answered(operator, chat, "/code3 named");
    const [undo = ""] = await said();
    expect(undo).toMatch(/^\/undo job_\w+$/);
    await operator.post(`/jobs/${undo.slice("/undo ".length)}/undo`, {});
    expect(await said()).toEqual([undo.replace("undo", "redo")]);
  });

  test("a form that is sent twice is one message", async () => {
    const fields = { text: "only once", event: "the-same" };
    await Promise.all([
      operator.post("/chat/operator.twice", fields),
      operator.post("/chat/operator.twice", fields),
    ]);
    const page = await answered(operator, "operator.twice", "and another");
    expect(page.split("re: only once").length - 1).toBe(1);
  });
});

describe("live", () => {
  test("a stream reports a message, and ends when its browser disconnects", async () => {
    const gone = new AbortController();
    const stream = await operator.get("/live?chat=web:operator.live");
    expect(stream.headers.get("content-type")).toContain("text/event-stream");
    const reader = stream.body!.getReader();
    const seen: string[] = [];
    const reading = (async () => {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        seen.push(new TextDecoder().decode(value));
      }
    })();
    await answered(operator, "operator.live", "hello");
    await until(() => seen.join("").includes("event: changed"));
    await reader.cancel();
    gone.abort();
    await reading;
    expect((await operator.get("/jobs")).status).toBe(200);
  });

  test("a message that is not taken is said to be so", async () => {
    const long = await operator.post("/chat/operator", { text: "x".repeat(20_001), event: "long" });
    expect([long.status, decodeURIComponent(long.headers.get("x-notice") ?? "")]).toEqual([
      413,
      "Not sent: at most 20,000 characters",
    ]);
    const eager = await signIn(server.link(server.url, "--user", "eager", "--role", "user"));
    const sent = [];
    for (let n = 0; n < 31; n += 1)
      sent.push(await eager.post("/chat/eager", { text: `m${n}`, event: `e${n}` }));
    expect(sent.map(({ status }) => status)).toEqual([...Array.from({ length: 30 }, () => 303), 429]);
    expect(await sent.at(-1)?.text()).toContain("Too many messages at once");
  });

  test("a job of another process shows up in an open list", async () => {
    const stream = await operator.get("/live?jobs=1");
    const reader = stream.body!.getReader();
    await reader.read();
    server.apply([create("elsewhere.txt", "x\n")]);
    let seen = "";
    while (!seen.includes("event: changed")) seen += new TextDecoder().decode((await reader.read()).value);
    await reader.cancel();
    const [, jobId] = /\/jobs\/(job_\d+_\w{8})"/.exec(await operator.text("/jobs")) ?? [];
    expect(await operator.text(`/jobs/${jobId}`)).toContain("elsewhere.txt");
  });

  test("a message that takes too long can be stopped", async () => {
    const sent = await operator.post("/chat/operator.slow", { text: "slow", event: "s1" });
    const path = sent.headers.get("location") ?? "";
    const id = await waitFor(
      async () =>
        /data-message="(msg_\w+)"[\s\S]*chat\/operator\.slow\/stop/.exec(await operator.text(path))?.[1],
    );
    await operator.post("/chat/operator.slow/stop", { message: id });
    await waitFor(async () => !(await operator.text(path)).includes("pending") || undefined);
    expect(await operator.text(path)).not.toContain("chat/operator.slow/stop");
  });
});

async function waitFor<T>(ask: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
