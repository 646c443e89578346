/** CONTRIBUTING says in which files and lines one more channel, forge, patch format, check runner, model protocol, command, page or language consists. Tried on a copy of the sources. */
import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { STEPS } from "../../scripts/check.ts";

const ROOT = join(import.meta.dir, "../..");
let copy = "";

beforeAll(() => {
  copy = mkdtempSync(join(tmpdir(), "picoclaw-extend-"));
  for (const name of ["src", "scripts"]) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  mkdirSync(join(copy, "docs"));
  for (const name of ["node_modules", "package.json", "biome.json"])
    symlinkSync(join(ROOT, name), join(copy, name));
  writeFileSync(
    join(copy, "tsconfig.json"),
    JSON.stringify({
      extends: join(ROOT, "tsconfig.json"),
      compilerOptions: { rootDir: "." },
      include: ["src"],
    }),
  );
});
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function addLine(path: string, after: string, line: string): void {
  const text = readFileSync(join(copy, path), "utf8");
  expect(text).toContain(after);
  writeFileSync(join(copy, path), text.replace(after, `${after}${line}`));
}

function addToList(path: string, list: RegExp, entry: string): void {
  const text = readFileSync(join(copy, path), "utf8");
  expect(text).toMatch(list);
  writeFileSync(
    join(copy, path),
    text.replace(list, (found) => found.replace(/\]$/, `, ${entry}]`)),
  );
}

/** The generator of the schema, the defaults and the reference, as each recipe with a setting names it. */
function generateReference(): void {
  const made = Bun.spawnSync([process.execPath, "--no-env-file", "scripts/gen-config-docs.ts"], {
    cwd: copy,
  });
  expect(made.stderr.toString()).toBe("");
}

/** The steps of `npm run check` over the copy; what fails says why. The record of types is the copy's own. */
function failedSteps(): readonly string[] {
  const start = (argv: readonly string[]) => {
    const own = argv.map((word) => word.replace(/^node_modules\/\.cache\//, ""));
    return Bun.spawnSync([process.execPath, "--no-env-file", ...own], { cwd: copy });
  };
  expect(start([join(ROOT, "node_modules/.bin/biome"), ...FORMAT]).exitCode).toBe(0);
  return STEPS.flatMap(({ name, argv }) => {
    const ended = start(name === "format and lint" ? [argv[0] ?? "", ...CHECK_FORMAT] : argv);
    return ended.exitCode === 0 ? [] : [`${name}: ${ended.stdout}${ended.stderr}`];
  });
}
/** As `npm run format` does it; the copy is no repository that names ignored files. */
const CHECK_FORMAT = ["check", "--vcs-enabled=false", "--error-on-warnings", "src"];
const FORMAT = ["check", "--write", "--vcs-enabled=false", "src"];

function run(script: string): string {
  const child = Bun.spawnSync([process.execPath, "--no-env-file", "-e", script], {
    cwd: copy,
    stderr: "pipe",
  });
  expect(child.stderr.toString()).toBe("");
  return child.stdout.toString().trim();
}

test("a channel: its entry and one line; the names of commands, the API and health follow", () => {
  writeFileSync(
    join(copy, "src/adapters/channels/toy.ts"),
    `import type { ChannelEntry } from "./channel-entry.ts";
export const toy: ChannelEntry = {
  name: "toy", title: "Toy", allowedUsers: () => [], isDirect: () => true, open: async () => null,
};
`,
  );
  const registry = "src/adapters/channels/registry.ts";
  addLine(registry, 'import { telegram } from "./telegram.ts";\n', 'import { toy } from "./toy.ts";\n');
  addToList(registry, /const CHANNELS: readonly ChannelEntry\[\] = \[[^\]]*\]/, "toy");
  const names = run(`
    const { CHANNEL_NAMES, channelTitle } = await import("./src/adapters/channels/registry.ts");
    const { openApi } = await import("./src/adapters/web/api.ts");
    const { serveMessagesFor } = await import("./src/domain/texts/serve.ts");
    console.log(CHANNEL_NAMES.includes("toy"), channelTitle("toy"), JSON.stringify(openApi("0")).includes("toy"),
      serveMessagesFor("ja").pairUsage(CHANNEL_NAMES).includes("toy"));
    const { runningMessagesFor } = await import("./src/domain/texts/jobs-running.ts");
    console.log(["en", "ja"].map((locale) => runningMessagesFor(locale).source("chat:toy")).join(", "));
  `);
  expect(names).toBe("true Toy true true\nchat in Toy, Toy のチャット");
});

test("a patch format: its file and one line; it is read raw and in a fence, and named in the result", () => {
  writeFileSync(
    join(copy, "src/domain/patch/formats/toy.ts"),
    `import type { EmbeddedFormat } from "./embedded-format.ts";
export const toyFormat: EmbeddedFormat = {
  name: "toy", initials: "%",
  isMark: (text, at, end) => text.slice(at, end).startsWith("%% write "),
  isLeadIn: () => false,
  measure: (text) => (from) => { const end = text.indexOf("%% end", from); return end < 0 ? undefined : end + 6; },
  runsToEnd: false, readsProse: false, inAnyFence: true,
  read(text) {
    const [head = "", ...body] = text.split("\\n");
    return { ok: true, warnings: [], commands: [{ type: "file_edit", action: "create", target: head.slice(9),
      content: \`\${body.slice(0, body.indexOf("%% end")).join("\\n")}\\n\` }] };
  },
};
`,
  );
  const registry = "src/domain/patch/formats/registry.ts";
  addLine(registry, 'import { v4aFormat } from "./v4a.ts";\n', 'import { toyFormat } from "./toy.ts";\n');
  addToList(registry, /const FORMATS: readonly EmbeddedFormat\[\] = \[[^\]]*\]/, "toyFormat");
  const parsed = run(`
    const { parsePatch } = await import("./src/domain/patch/parse-patch.ts");
    const raw = parsePatch("Here it is.\\n\\n%% write a.txt\\nhello\\n%% end\\n");
    const fenced = parsePatch("\`\`\`\\n%% write a.txt\\nhello\\n%% end\\n\`\`\`\\n");
    console.log(JSON.stringify([raw, fenced].map((one) => [one.format, one.commands.length, one.commands[0]?.content])));
  `);
  expect(JSON.parse(parsed)).toEqual([
    ["toy", 1, "hello\n"],
    ["toy", 1, "hello\n"],
  ]);
});

test("a check runner: its file and one line; its tests are found, run, read, narrowed and known", () => {
  writeFileSync(
    join(copy, "src/domain/checks/runners/toy.ts"),
    `import { type CheckRunner, hasName } from "./check-runner.ts";
export const toy: CheckRunner = {
  name: "toy", reads: ["toy.cfg"],
  findTest: (files) => (hasName(files, "toy.cfg") ? { command: "toy test", line: "toy test --names" } : null),
  calls: [/^toy test(?: |$)/],
  readers: [(lines) => lines.includes("TOY DONE") ? { formats: ["toy"], listed: "all",
    tests: new Map([["one", "fail"]]), counts: { passed: 0, failed: 1, skipped: 0 } } : null],
  testPaths: [/\\.toy$/], decidedBy: [/(?:^|\\/)toy\\.cfg$/],
  narrow: (line, files) => (line === "toy test --names" ? \`\${line} \${files.join(" ")}\` : null),
};
`,
  );
  const registry = "src/domain/checks/runners/registry.ts";
  addLine(registry, 'import { tap } from "./tap.ts";\n', 'import { toy } from "./toy.ts";\n');
  addLine(registry, "  ...plainRunners,\n", "  toy,\n");
  const known = run(`
    const { decidesChecks, isTestPath } = await import("./src/domain/checks/path-kinds.ts");
    const checks = await import("./src/domain/checks/find-checks.ts");
    const { readResults } = await import("./src/domain/checks/read-results.ts");
    const [found] = checks.findChecks({ names: ["toy.cfg"], texts: {} }, null);
    console.log(JSON.stringify([found.command, checks.READ_FOR_CHECKS.includes("toy.cfg"), checks.isKnownCheck("toy test", []),
      isTestPath("a.toy"), decidesChecks("toy.cfg"), readResults("x\\nTOY DONE\\n").counts.failed,
      (await import("./src/domain/checks/narrow-check.ts")).narrowLine(found.line, ["a.toy"], new Map())]));
  `);
  expect(JSON.parse(known)).toEqual(["toy test", true, true, true, true, 1, "toy test --names a.toy"]);
});

test("a model's protocol: its name is in one list, which the configuration and the settings of a model read", () => {
  addLine("src/domain/config/configured-kinds.ts", "WIRE_TYPES = [", '"toy", ');
  addLine("src/infrastructure/models/models.ts", '    case "ollama":\n', '    case "toy":\n');
  const type = run(`
    const { configSchema } = await import("./src/config/schema/root.ts");
    const parsed = configSchema.safeParse({ providers: { mine: { type: "toy", model: "m" } } });
    console.log(parsed.success, parsed.data?.providers.mine.type);
  `);
  expect(type).toBe("true toy");
});

test("a command called version, help or log is refused by the compiler, which says who answers first", () => {
  const dispatch = readFileSync(join(copy, "src/adapters/cli/dispatch.ts"), "utf8");
  const taken = /interface TakenNames \{[^}]*\}/.exec(dispatch)?.[0];
  const satisfies = /\} (satisfies [^;]*);/.exec(dispatch)?.[1];
  const names = ["version", "help", "log", "toy"].map((name) => `${name}: async () => 1`).join(", ");
  writeFileSync(join(copy, "taken.ts"), `${taken}\nexport const table = { ${names} } ${satisfies};\n`);
  const compiled = Bun.spawnSync(
    [process.execPath, "node_modules/.bin/tsc", "--ignoreConfig", "--noEmit", "--types", "", "taken.ts"],
    { cwd: copy },
  );
  const said = compiled.stdout.toString();
  for (const who of ["src/main.ts answers", "dispatch answers", "OTHER_NAMES has"])
    expect(said).toContain(who);
  expect(said.match(/error TS/g)).toHaveLength(3);
});

test("a command: its file, one line and its words; help, completion and the manual page have it", () => {
  writeFileSync(
    join(copy, "src/adapters/cli/toy.ts"),
    `import type { Subcommand } from "./command.ts";
export const command: Subcommand = {
  name: "toy" as Subcommand["name"], usage: "toy", flags: "", words: 0,
  run: async (program) => { program.out("toy ran\\n"); return 0; },
};
`,
  );
  const line = '  undo: async () => (await import("./undo.ts")).command,\n';
  addLine("src/adapters/cli/dispatch.ts", line, '  toy: async () => (await import("./toy.ts")).command,\n');
  for (const language of ["en", "ja"])
    addLine(
      `src/domain/texts/${language}/help.json`,
      '  "commands": {\n',
      '    "toy": { "does": "plays" },\n',
    );
  const ran = (args: string) =>
    run(`process.argv = ["bun", "picoclaw", ${args}]; await import("./src/main.ts");`);
  expect(ran('"toy"')).toBe("toy ran");
  expect(ran('"--help"')).toContain("toy");
  expect(ran('"man"')).toContain("toy");
  expect(ran('"completion", "bash"')).toContain("toy");
});

test("a forge: its facts, its file and one line; its addresses, settings, words and deliveries are known", () => {
  addLine(
    "src/domain/config/configured-kinds.ts",
    "const FORGES = {\n",
    `  toy: {
    site: "https://toy.example", item: /^\\/([^/]+\\/[^/]+)\\/(wishes|gifts)\\/(\\d+)$/, issues: ["wishes"], pulls: ["gifts"],
    between: "/", gitUser: "toy", title: "Toy", pullRef: (number) => String(number), newPull: (branch) => branch, closing: ["gra-nt(?:s|ed)?"],
    settings: { base_url: "Its address.", webhook_secret: "Its secret.", repositories: "Its toys." },
  },
`,
  );
  writeFileSync(
    join(copy, "src/infrastructure/forges/toy.ts"),
    `import type { Forge } from "../../application/ports/forges.ts";
import { parseEvent } from "../../domain/platform/json-members.ts";
import { type ForgeEntry, isSameSecret } from "./forge-entry.ts";
export const toy: ForgeEntry = {
  open: async ({ site }) => ({ kind: "toy", site }) as unknown as Forge,
  deliveries: {
    signedBy: "x-toy", isGenuine: (headers, _bytes, secret) => isSameSecret(headers.get("x-toy") ?? "", secret),
    parse: (_headers, bytes) => parseEvent(new TextDecoder().decode(bytes)),
    read: ({ body, site }) => [{ deliveryId: "toy:1", event: { kind: "opened", actor: "kim", text: String(body) },
      item: { forge: "toy", site, repository: "a/b", kind: "issue", number: 7 } }],
  },
};
`,
  );
  const registry = "src/infrastructure/forges/forge-registry.ts";
  addLine(registry, 'import { gitlab } from "./gitlab.ts";\n', 'import { toy } from "./toy.ts";\n');
  addLine(registry, "ForgeEntry>> = { ", "toy, ");
  const known = run(`
    const { createWebhooks } = await import("./src/adapters/forges/webhooks.ts");
    const { configSchema } = await import("./src/config/schema/root.ts");
    const { byForge } = await import("./src/domain/config/configured-kinds.ts");
    const { itemUrl, parseItemUrl } = await import("./src/domain/forges/forge-items.ts");
    const { defuse } = await import("./src/domain/forges/posted-text.ts");
    const { createForge, DELIVERY_FORMATS } = await import("./src/infrastructure/forges/forge-registry.ts");
    const ref = parseItemUrl("https://toy.example/a/b/wishes/7", byForge(() => []));
    const taken = [];
    const answer = createWebhooks({ formats: DELIVERY_FORMATS, intake: async (event) => { taken.push(event.item.number); return { did: "queued" }; },
      forges: { ...byForge(() => null), toy: { secret: "s", site: "https://toy.example" } } });
    const post = (secret) => answer("toy", new Request("http://h/", { method: "POST", body: '"hi"', headers: { "x-toy": secret } }));
    console.log(JSON.stringify([itemUrl(ref), ref.kind, defuse("toy", "grants #7") === "grants #7", configSchema.parse({}).forges.toy.token,
      (await createForge("toy", { site: "x" })).kind, (await post("wrong")).status, (await post("s")).status, taken]));
  `);
  expect(JSON.parse(known)).toEqual([
    "https://toy.example/a/b/wishes/7",
    "issue",
    false,
    "env:TOY_PERSONAL_ACCESS_TOKEN",
    "toy",
    401,
    200,
    [7],
  ]);
});

test("a page of the console: its file and one line; it is served, guarded and in the navigation", () => {
  writeFileSync(
    join(copy, "src/adapters/web/pages/toy.ts"),
    `import { page } from "../layout.ts";
import { html } from "../markup.ts";
import { type ConsolePages, respond } from "../web.ts";
export const toyPages: ConsolePages = {
  section: { address: "/toy", icon: html\`<svg></svg>\`, label: () => "Toys", operatorsOnly: true },
  routes: (app) => { app.get("/toy", (c) => respond(page(c.var.page, { title: "Toys", section: "/toy", body: "All the toys" }))); },
};
`,
  );
  const console_ = "src/adapters/web/console.ts";
  addLine(
    console_,
    'import { setupPages } from "./pages/setup.ts";\n',
    'import { toyPages } from "./pages/toy.ts";\n',
  );
  addLine(console_, "  systemPages,\n", "  toyPages,\n");
  const served = run(`
    const { createConsole } = await import("./src/adapters/web/console.ts");
    const known = { locale: () => "en", messagesFor: () => ({}), demo: false, timezone: () => "UTC", now: () => new Date(0) };
    const host = new Proxy(known, { get: (own, name) => own[name] ?? (() => ({})) });
    const app = createConsole({ host, signIn: {}, assets: { style: { path: "" }, script: { path: "" } }, flashes: { take: () => undefined }, streams: {} });
    const seen = [];
    for (const role of ["operator", "user"]) {
      const person = { viewer: { role, userId: "kim", channel: "web" }, session: { csrf: "c", hash: "h" }, secret: "s" };
      const answer = await app.fetch(new Request("http://127.0.0.1/toy"), { person });
      const text = await answer.text();
      seen.push([answer.status, text.includes("All the toys"), text.includes('href="/toy"')]);
    }
    console.log(JSON.stringify(seen));
  `);
  expect(JSON.parse(served)).toEqual([
    [200, true, true],
    [403, false, false],
  ]);
});

test("all of these pass every step of npm run check", () => {
  generateReference();
  expect(failedSteps()).toEqual([]);
});

test("a language: its folder and one line; the generator writes the rest, and it is spoken, set and offered", () => {
  const texts = join(copy, "src/domain/texts");
  cpSync(join(texts, "en"), join(texts, "xx"), { recursive: true });
  const words = join(texts, "xx/help.json");
  writeFileSync(words, readFileSync(words, "utf8").replace('"usage": "Usage: ', '"usage": "Play: '));
  addLine("src/domain/texts/locale.ts", "LANGUAGES = { ", 'xx: "Toyish", ');
  generateReference();
  const spoken = run(`
    process.env.PICOCLAW_LOCALE = "xx_XX.UTF-8";
    process.argv = ["bun", "picoclaw", "--help"];
    await import("./src/main.ts");
  `);
  expect(spoken).toStartWith("Play: picoclaw");
  const schema = readFileSync(join(copy, "src/config/schema.json"), "utf8");
  expect(JSON.parse(schema).properties.locale.enum).toEqual(["xx", "ja", "en"]);
});
