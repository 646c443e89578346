import { afterEach, expect, test } from "bun:test";
import { proposal, worked } from "./chat-kit.ts";
import { type OpenedConversation, openConversation } from "./conversation-kit.ts";

let at: OpenedConversation;
let names: string[] = [];
afterEach(async () => {
  for (const name of names.splice(0)) await at.send(`/ps stop ${name}`);
  await at.close();
});

const SERVER = `${process.execPath} -e 'Bun.serve({port: 0, hostname: "127.0.0.1", fetch: (r) => new Response(new URL(r.url).pathname)}); console.log("up")'`;
const call = (given: Readonly<Record<string, unknown>>) => ({
  calls: [{ name: "process", arguments: given }],
});

test("/ps starts, lists, logs and stops a process of the workspace, with buttons, in both languages", async () => {
  at = await openConversation(() => "nobody is asked");
  names = ["web"];
  expect((await at.send("/ps")).text).toBe("There are no background processes.");
  const started = await at.send(`/ps start --name web ${SERVER}`);
  expect(started).toMatchObject({ ok: true });
  expect(started.text).toMatch(
    /^Started: web · http:\/\/127\.0\.0\.1:\d+\/\nends with this program · (?:confined|can write only to this folder \(no bubblewrap\))\nWhat it writes /,
  );
  expect(started.actions?.map(({ message }) => message)).toEqual(["/ps log web", "/ps stop web"]);
  expect((await at.send("/ps")).text).toMatch(/^● web · running · \d+ s · http:\S+ · /);
  expect((await at.send("/ps log web")).text).toBe("```\nup\n```");
  expect(await at.send(`/ps start --name web sleep 9`)).toMatchObject({
    ok: false,
    text: "web is already running. Choose another name (--name), or restart it: picoclaw ps restart web",
  });
  for (const wrong of ["/ps start", "/ps stop", "/ps dance", "/ps start --port 99999 x"])
    expect((await at.send(wrong)).ok).toBe(false);
  expect(await at.send("/ps stop web")).toMatchObject({ ok: true, text: "Stopped: web" });
  expect((await at.send("/ps")).text).toStartWith("○ web · stopped");
  expect((await at.send("/ps clear")).text).toBe("1 removed from the list.");
  await at.send(`/ps start --name long : ${"x".repeat(50_000)}`);
  expect((await at.send("/ps")).text.length).toBeLessThan(500);
  expect(at.asked).toHaveLength(0);
});

test("Shiro starts one, reads a page of it and of no other port, and the reply names it", async () => {
  const pages: string[] = [];
  at = await openConversation(({ messages }, turn) => {
    pages.push(messages.at(-1)?.text ?? "");
    const steps = [
      call({ action: "start", command: SERVER, name: "web" }),
      call({ action: "fetch", name: "web", path: "/health?x=1" }),
      call({ action: "fetch", name: "nobody" }),
    ];
    return steps[turn] ?? worked("It is up.");
  });
  names = ["web"];
  const reply = await at.send("/ops start the server");
  expect(pages[2]).toContain("/health?x=1 (200)\n\n/health");
  expect(pages[3]).toContain("there is no process nobody");
  expect(reply.text).toContain("Background processes started or ended: web (/ps)");
});

test("a coder is offered the tool where the request is about something that runs, and not in a preview", async () => {
  at = await openConversation(
    (_, turn) => (turn === 0 ? call({ action: "list" }) : proposal("Write it", "```txt:a.txt\na\n```")),
    { local: (role) => role === "chat" || role === "worker" },
  );
  const offered = (index: number) => at.asked[index]?.tools?.some(({ name }) => name === "process") ?? false;
  await at.send("/code3 why does the dev server fail?");
  expect(offered(0)).toBe(true);
  expect(at.asked[1]?.messages.at(-1)?.text).toContain("There are no background processes.");
  const before = at.asked.length;
  await at.send("/code3 rename a to b");
  await at.send("/preview /code3 mend the server");
  expect([offered(before), offered(before + 1)]).toEqual([false, false]);
});

test("a file that a background process writes is a foreign change: undo does not revert it", async () => {
  at = await openConversation(() => proposal("Write it", "```txt:a.txt\nours\n```"));
  names = ["writer"];
  await at.send(
    "/ps start --name writer until [ -e go ]; do sleep 0.05; done; echo theirs >> a.txt; : > done; sleep 99",
  );
  await at.send("/code3 write it");
  at.write("go", "");
  const deadline = performance.now() + 30_000;
  while (!("done" in at.tree())) {
    if (performance.now() > deadline) throw new Error((await at.send("/ps log writer")).text);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  const reply = await at.send("/undo");
  expect(reply.ok).toBe(false);
  expect(reply.text).toContain("a.txt");
  expect(at.read("a.txt")).toBe("ours\ntheirs\n");
});
