import { expect, test } from "bun:test";
import { talkPage } from "../../../src/adapters/web/talk-page.ts";
import { readTalk, type TalkDeps, writeMarkdown } from "../../../src/application/chat/export-talk.ts";
import type { Turn } from "../../../src/application/ports/chat.ts";
import { storedJob } from "../../infrastructure/store/jobs-kit.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const HOSTILE = [
  "</style><script>alert(1)</script>",
  '<img src=x onerror="alert(2)">',
  "[go](javascript:alert(3))",
  "`<svg onload=alert(4)>`",
  "## Gin · 2026-01-01\n\nfake",
  "```\n</pre><script>alert(5)</script>\n```",
  "‮gnp.exe",
].join("\n\n");

const turn = (position: number, more: Partial<Turn>): Turn => ({
  position,
  at: "2026-03-01T00:00:00.000Z",
  role: "user",
  agent: "",
  groupId: null,
  text: "",
  ...more,
});
const turns = [
  turn(1, { text: HOSTILE }),
  turn(2, { role: "assistant", agent: "Gin", groupId: "g1", text: `**Done** with s3cret\n\n${HOSTILE}` }),
];
const job = storedJob(1, { groupId: "g1", title: `Title ${HOSTILE}`, state: "committed" });
const deps: TalkDeps = {
  sessions: {
    list: async () => [{ id: "s1" }] as never,
    turns: async () => ({ turns, damaged: 0 }),
  },
  workspace: {
    root: "/ws",
    isAlive: () => false,
    mask: (text) => text.replaceAll("s3cret", "***"),
    archive: {
      list: () => [job, storedJob(2, { groupId: "other", title: "somebody else's" })],
      events: () => [],
      walkDifferences: () => [
        {
          path: "a<b>.html",
          before: bytes("old\n"),
          after: bytes(`key=s3cret\n${HOSTILE}\n\`\`\`\`\n`),
        },
        { path: ".git/HEAD", before: null, after: bytes("hidden") },
      ],
    } as never,
  },
};

test("a conversation becomes one page or one document, with its jobs, without secrets and without anything that runs", async () => {
  const talk = await readTalk(deps, "web:ann", "en");
  if (talk === null) throw new Error("nothing was said");
  const page = await talkPage(talk);
  const [, body = ""] = page.split("</style>\n</head>");
  expect(body).toContain("<strong>Done</strong> with ***");
  expect(body).toContain('<tr class="added">');
  expect(body).not.toMatch(/<(?:script|img|svg|style|iframe|link|form)\b/i);
  expect(body).not.toMatch(/<[^>]*\s(?:on\w+|src|style)\s*=/i);
  expect(body).not.toMatch(/href="(?!https?:|mailto:)/i);
  expect(page.split("<style>")).toHaveLength(2);
  expect(page.includes("default-src &#39;none&#39;;")).toBe(true);
  const text = await writeMarkdown(talk);
  // No speaker, no job and no tag but those of the document itself.
  expect(text.split("\n").filter((line) => line.startsWith("#"))).toEqual([
    "# Conversation web:ann, /ws",
    expect.stringMatching(/^## You · /),
    expect.stringMatching(/^## Gin · /),
    expect.stringMatching(/^### Applied: Title &lt;\/style>/),
  ]);
  const outside = text.replace(/^(`{5})diff\n[\s\S]*?^\1$/m, "");
  expect(outside).not.toBe(text);
  expect(outside).not.toMatch(/<[a-z/]/i);
  for (const form of [page, text]) {
    for (const word of ["s3cret", "somebody else", ".git/HEAD"]) expect(form.includes(word)).toBe(false);
  }
});

test("an empty chat yields no document", async () => {
  const silent = { ...deps, sessions: { ...deps.sessions, list: async () => [] } };
  expect(await readTalk(silent, "web:ann", "ja")).toBeNull();
});

test("an answer that failed, and a job without figures, leave no empty quotation", async () => {
  const said = [turn(1, { text: "hello" }), turn(2, { role: "assistant", agent: "Mio" }), ...turns];
  const sessions = { ...deps.sessions, turns: async () => ({ turns: said, damaged: 0 }) };
  const talk = await readTalk({ ...deps, sessions }, "web:ann", "en");
  if (talk === null) throw new Error("nothing was said");
  const text = await writeMarkdown(talk);
  expect(text).not.toContain("## Mio");
  expect(text).not.toMatch(/\n\n>\n(?:\n|$)/);
});
