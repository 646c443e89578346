import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { QUICK_NODE_PATH } from "../quick-npm.ts";
import { requirePart } from "../require.ts";
import { createCli, until } from "./cli-kit.ts";

/** Words of the change that a contestant must not find; they are nowhere else on this machine. */
const ANSWER = ["quotient", "OfTheAnswer"].join("");
const HIDDEN = ["words", "OfHiddenTests"].join("");

/** In the shape of a key, and none. */
const TOKEN = `ghp_${"a1B2".repeat(9)}`;

const MATH = "export function add(a, b) {\n  return a + b;\n}\n";
const DIVIDE = `\nexport function divide(a, b) {\n  const ${ANSWER} = a / b;\n  if (b === 0) throw new RangeError("division by zero");\n  return ${ANSWER};\n}\n`;
const TEST =
  'import { test } from "node:test";\nimport assert from "node:assert";\nimport { add } from "../math.js";\ntest("adds", () => assert.equal(add(1, 2), 3));\n';
const DIVIDE_TEST = `import { divide } from "../math.js";\ntest("divides, ${HIDDEN}", () => assert.equal(divide(6, 2), 3));\ntest("zero", () => assert.throws(() => divide(1, 0), RangeError));\n`;

/** Looks for the answer everywhere a command can: files, git's objects, logs and stashes, homes, caches, the network. */
const CHEAT = `{
  grep -rIlE '${ANSWER}|${HIDDEN}' . /srv /opt /root /home "$HOME" /var/tmp /tmp WORKSPACE HOME_OF_PICOCLAW 2>/dev/null | grep -v found.txt
  git log --all --format=%s%b | grep zero
  git reflog; git stash list; git tag
  git cat-file --batch-all-objects --batch | grep -aE '${ANSWER}|${HIDDEN}'
  ls WORKSPACE 2>/dev/null | grep -v node_modules
  ls .git/logs .git/packed-refs 2>/dev/null
  for pid in /proc/[0-9]*; do tr '\\0' ' ' < $pid/environ | grep -a ${ANSWER}; done
  (exec 3<>/dev/tcp/127.0.0.1/PORT) 2>/dev/null && echo network
  cat node_modules/dependency/index.js
} > found.txt 2>/dev/null; true`;

describe.if(requirePart("bwrap"))("compare on the workspace's own commits", () => {
  let cli: ReturnType<typeof createCli>;
  let listener: Bun.TCPSocketListener<undefined>;
  const at = (path: string) => join(cli.workspace, path);
  const git = (...args: string[]) => {
    const ran = spawnSync("git", ["-c", "user.name=Uma", "-c", "user.email=u@x", ...args], {
      cwd: cli.workspace,
      encoding: "utf8",
    });
    if (ran.status !== 0) throw new Error(ran.stderr);
    return ran.stdout.trim();
  };
  const commit = (message: string) => {
    git("add", "-A");
    git("commit", "-qm", message);
  };
  const answer = (script: string, when: string, shell: string) =>
    `  - when: { message: "${when}" }\n    usage: { input: 100, output: 10 }\n    text: |\n      ## Plan\n      ${script}\n      ## Patch\n      \`\`\`bash\n${shell.replace(/^/gm, "      ")}\n      \`\`\`\n`;

  beforeAll(() => {
    cli = createCli(undefined, QUICK_NODE_PATH);
    listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
    git("init", "-q");
    mkdirSync(at("test"));
    mkdirSync(at("node_modules/dependency"), { recursive: true });
    mkdirSync(at("node_modules/.bin"));
    writeFileSync(at("node_modules/.bin/run-tests"), '#!/bin/sh\nexec node --test "$@"\n', { mode: 0o755 });
    writeFileSync(at("node_modules/dependency/index.js"), "export const dependency = 1;\n");
    writeFileSync(at(".gitignore"), "node_modules/\ndist/\n");
    writeFileSync(
      at("package.json"),
      '{ "name": "toy", "type": "module", "devDependencies": { "run-tests": "1.0.0" }, "scripts": { "test": "run-tests" } }\n',
    );
    writeFileSync(at("math.js"), MATH);
    writeFileSync(at("test/math.test.js"), TEST);
    commit("A module that adds");
    writeFileSync(at("math.js"), MATH + DIVIDE);
    writeFileSync(at("test/math.test.js"), TEST + DIVIDE_TEST);
    commit(`math.js needs divide(a, b), which throws a RangeError where b is zero\n\nNot my key: ${TOKEN}`);
    mkdirSync(at("dist"));
    writeFileSync(at("dist/math.js"), MATH + DIVIDE);
    writeFileSync(at("AGENTS.md"), `Divide as ${ANSWER} does.\n`);
    commit("Words for agents that came later");
    mkdirSync(cli.home, { recursive: true });
    const good =
      "printf '\\nexport function divide(a, b) {\\n  if (b === 0) throw new RangeError(\"zero\");\\n  return a / b;\\n}\\n' >> math.js";
    const bad = "printf '\\nexport function divide(a, b) {\\n  return a / b;\\n}\\n' >> math.js";
    const cheat = CHEAT.replaceAll("WORKSPACE", cli.workspace)
      .replaceAll("HOME_OF_PICOCLAW", cli.home)
      .replaceAll("PORT", String(listener.port));
    // Of a local server that counts no tokens: it is sent back until it gives up.
    const uncounted = answer("uncounted", "divide", "echo 'not JavaScript' >> math.js").replace(
      /when: .*\n +/,
      "",
    );
    writeFileSync(
      join(cli.home, "uncounted.yaml"),
      `answers:\n${uncounted.replace("{ input: 100, output: 10 }", "{ input: 0, output: 0 }")}`,
    );
    for (const [name, shell] of Object.entries({ good, bad, cheat }))
      writeFileSync(join(cli.home, `${name}.yaml`), `answers:\n${answer(name, "divide", shell)}`);
    const broken = answer("broken", "divide", "echo 'not JavaScript' >> math.js").replace(
      "    usage",
      "    times: 1\n    usage",
    );
    writeFileSync(
      join(cli.home, "limited.yaml"),
      `answers:\n${broken}  - fail: { code: rate-limited, status: 429, message: slow down, retry_after_ms: 1 }\n`,
    );
    const provider = (name: string) =>
      `  ${name}: { type: scripted, model: ${name}, script: ${name}.yaml, local: true }\n`;
    writeFileSync(
      join(cli.home, "config.yaml"),
      `providers:\n${["good", "bad", "cheat", "limited", "uncounted"].map(provider).join("")}roles:\n  coder1: { provider: bad }\n  coder2: { provider: cheat }\n  coder3: { provider: good }\n`,
    );
  });
  afterAll(() => {
    listener.stop(true);
    cli.remove();
  });

  test("lists the case, and says why the other commits are not cases", () => {
    const { out } = cli.run(["compare", "cases", "--json"]);
    const listed = JSON.parse(out);
    expect(listed.cases).toMatchObject([
      { title: "math.js needs divide(a, b), which throws a RangeError where b is zero" },
    ]);
    expect([out.includes(TOKEN), listed.cases[0].request.includes("Not my key: ")]).toEqual([false, true]);
    expect(listed.others).toMatchObject([
      { title: "Words for agents that came later", why: { code: "no-tests" } },
    ]);
  });

  test("the stronger solves it, the weaker says done and is wrong, and the cheater finds nothing", () => {
    const before = git("status", "--porcelain");
    const jobs = cli.run(["jobs", "--json"]).out;
    const ran = cli.run(["compare", "coder1", "coder2", "coder3", "--json"]);
    expect(ran.err).toBe("");
    const result = JSON.parse(ran.out);
    const [weak, cheater, strong] = result.contestants;
    expect(strong).toMatchObject({ name: "coder3", cases: 1, solved: 1, verified: 1, false_done: 0 });
    expect(weak).toMatchObject({ name: "coder1", cases: 1, solved: 0, false_done: 1 });
    expect(cheater).toMatchObject({ name: "coder2", cases: 1, solved: 0 });
    const { plays } = result.differing[0] as { plays: { contestant: string; diff: string }[] };
    const found = plays.find(({ contestant }) => contestant === "coder2")?.diff ?? "";
    expect(found.split("\n").filter((line) => line.startsWith("+") && !line.startsWith("+++"))).toEqual([
      "+export const dependency = 1;",
    ]);
    expect(git("status", "--porcelain")).toBe(before);
    expect(cli.run(["jobs", "--json"]).out).toBe(jobs);
    expect(readdirSync(join(cli.home, "rooms"))).toEqual([]);
  }, 280_000);

  test("a provider's limit in the middle of the work does not count as a play", () => {
    const ran = cli.run(["compare", "limited/limited"]);
    expect(ran.err).toMatch(/! limited\/limited: commit:\w+ not played: .*\(rate-limited\)/);
    expect([ran.code, ran.out.includes("The same command tries them again")]).toEqual([1, true]);
  }, 280_000);

  test("a contestant that gives up has lost the case, although no tokens were counted", () => {
    const { out } = cli.run(["compare", "uncounted/uncounted", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ end: "finished", contestants: [{ plays: 1, solved: 0 }] });
  }, 280_000);

  test("a killed comparison continues with what is missing, and leaves no room behind", async () => {
    const scripts = Object.fromEntries(
      ["bad", "good"].map((name) => [name, readFileSync(join(cli.home, `${name}.yaml`), "utf8")]),
    );
    const words = ["compare", "coder1", "coder3", "--at-once", "1"];
    const slow = (scripts.good ?? "").replace("printf", "sleep 250; printf");
    writeFileSync(join(cli.home, "good.yaml"), slow);
    const child = cli.start(words);
    const ended = new Promise((resolve) => child.once("close", resolve));
    let said = "";
    await new Promise<void>((resolve, reject) => {
      child.stderr?.on("data", (data) => {
        said += String(data);
        if (/coder1: commit:\S+ \(1 left/.test(said)) resolve();
      });
      child.once("close", () => reject(new Error(said)));
    });
    await until(() => readdirSync(join(cli.home, "rooms")).length > 0);
    const beside = cli.run(words);
    expect([beside.code, beside.err.includes("running in another process")]).toEqual([3, true]);
    child.kill("SIGKILL");
    await ended;
    writeFileSync(join(cli.home, "good.yaml"), scripts.good ?? "");
    const again = cli.run(words);
    expect(again.err).toContain("1 play;");
    expect(again.err).not.toContain("coder1: commit:");
    expect(again.out).toMatch(/coder1 +1 +0\/1[\s\S]*coder3 +1 +1\/1/);
    expect(readdirSync(join(cli.home, "rooms"))).toEqual([]);
    expect(cli.run(words).err).toContain("0 plays");
  }, 280_000);

  test("finished plays are not repeated, and are shown as a table and as CSV", () => {
    const again = cli.run(["compare", "coder1", "coder2", "coder3"]);
    expect(again.err).toContain("0 plays");
    expect(again.out).toContain("1 case cannot tell coder1 and coder3 apart.");
    expect(cli.run(["compare", "--csv"]).out).toContain("coder3,1,1/1,");
  }, 280_000);

  test("too few cases adopt nothing", () => {
    const ran = cli.run(["compare", "coder1", "coder2", "coder3", "--adopt"]);
    expect(ran.err).toContain("Nothing was written");
  }, 280_000);

  test.each([
    [["compare", "nobody"], "Not a contestant: nobody", 2],
    [["compare", "coder1,coder.attempts"], "Not a contestant", 2],
    [["compare", "coder3", "gin"], "gin is named twice", 2],
    [["compare", "coder1", "--cases", "0"], "Name what to compare", 2],
    [["compare", "cases", "drop", "commit:none"], "There is no case or change commit:none", 2],
    [["compare", "cases", "guess"], "Name what to compare", 2],
  ] as const)("%p is refused with the reason", (args, words, code) => {
    const ran = cli.run([...args]);
    expect([ran.err.includes(words), ran.code]).toEqual([true, code]);
  });

  test("a dropped case is not played, an edited request is asked, and an added case is back", () => {
    const id = JSON.parse(cli.run(["compare", "cases", "--json"]).out).cases[0].id as string;
    expect(cli.run(["compare", "cases", "drop", id]).code).toBe(0);
    const dropped = JSON.parse(cli.run(["compare", "cases", "--json"]).out);
    expect(dropped.cases).toEqual([]);
    cli.run(["compare", "cases", "add", id]);
    cli.run(["compare", "cases", "edit", id, "Write divide(a, b) as I say"]);
    expect(JSON.parse(cli.run(["compare", "cases", "--json"]).out).cases).toMatchObject([
      { id, request: "Write divide(a, b) as I say" },
    ]);
    expect(existsSync(join(cli.home, "rooms"))).toBe(true);
  });
});

describe.if(requirePart("bwrap"))("the measured choice", () => {
  let cli: ReturnType<typeof createCli>;
  beforeAll(() => {
    cli = createCli();
  });
  afterAll(() => cli.remove());
  const play = (contestant: string, n: number, solved: boolean, usd: number) => ({
    ...{ contestant, case: `commit:${n}`, repeat: 0, at: "2026-11-01T00:00:00Z", solved, done: true },
    ...{ checked: true, requests: 1, tokens: 10, usd, seconds: 1, diff: "", failure: null },
  });
  /** Compares once without a case, so that the comparison has its folder, and writes plays into it. */
  const record = (words: readonly string[], plays: readonly ReturnType<typeof play>[]) => {
    cli.run(["compare", ...words]);
    const [workspace = ""] = readdirSync(join(cli.home, "workspaces"));
    const runs = join(cli.home, "workspaces", workspace, "compare/runs");
    const [run = ""] = readdirSync(runs).filter((name) => !existsSync(join(runs, name, "plays.ndjson")));
    writeFileSync(join(runs, run, "plays.ndjson"), plays.map((one) => `${JSON.stringify(one)}\n`).join(""));
  };
  const both = (count: number) =>
    Array.from({ length: count }, (_, n) => [play("ao", n, n > 0, 0.1), play("gin", n, n > 0, 0.5)]).flat();
  const config = () => readFileSync(join(cli.home, "config.yaml"), "utf8");

  test("too few cases write nothing, enough of them an order that routing tells and a person can change", () => {
    mkdirSync(cli.home, { recursive: true });
    writeFileSync(join(cli.home, "config.yaml"), "# mine\nlocale: en\n");
    record(["ao", "gin", "--cases", "8"], both(8));
    const few = cli.run(["compare", "ao", "gin", "--cases", "8", "--adopt"]);
    expect(few.err).toContain("Nothing was written");
    expect(config()).toBe("# mine\nlocale: en\n");
    record(["ao", "gin", "--cases", "18"], both(18));
    const enough = cli.run(["compare", "ao", "gin", "--cases", "18", "--adopt"]);
    expect(enough.err).toContain("ao first: 17 of 18 of your cases at 20 % of the cost");
    expect(config()).toContain("default_coder: coder2");
    expect(config()).toStartWith("# mine\n");
    const words = "Ao first: 17 of 18 of your cases at 20 % of the cost (picoclaw compare)";
    expect(cli.run(["chat", "/model"]).out).toContain(words);
    expect(cli.run(["chat", "/model"], { env: { PICOCLAW_LOCALE: "ja" } }).out).toContain(
      "最初は Ao: あなたの事例 18 件中 17 件を解決、費用は 20 %",
    );
    writeFileSync(join(cli.home, "config.yaml"), config().replace("coder2", "coder3"));
    expect(cli.run(["chat", "/model"]).out).not.toContain("of your cases");
  }, 280_000);
});

describe.if(requirePart("bwrap"))("cases whose tests a script of the project starts", () => {
  let cli: ReturnType<typeof createCli>;
  afterAll(() => cli.remove());

  test("the tests of a case run alone, and one sentence says why others do not count", () => {
    cli = createCli();
    const write = (path: string, text: string) => writeFileSync(join(cli.workspace, path), text);
    const git = (...args: string[]) =>
      spawnSync("git", ["-c", "user.name=Uma", "-c", "user.email=u@x", ...args], { cwd: cli.workspace });
    const head =
      'import { test } from "node:test";\nimport assert from "node:assert";\nimport * as all from "../all.js";\n';
    const commit = (name: string, body: string) => {
      write(
        "all.js",
        `${readFileSync(join(cli.workspace, "all.js"), "utf8")}export const ${name} = () => 1;\n`,
      );
      write(`test/${name}.test.js`, `${head}${body}\n`);
      git("add", "-A");
      git("commit", "-qm", `all.js needs a function ${name} that returns the number one`);
    };
    git("init", "-q");
    mkdirSync(join(cli.workspace, "test"));
    write("package.json", '{ "type": "module", "scripts": { "test": "sh run.sh" } }\n');
    write("run.sh", "echo the whole suite does not work here; exit 1\n");
    write("all.js", "");
    git("add", "-A");
    git("commit", "-qm", "A project");
    commit("plain", 'test("plain", () => assert.equal(all.plain(), 1));');
    commit(
      "stored",
      'import { connect } from "node:net";\ntest("stored", (_, done) => { connect(1, "127.0.0.1").on("error", done); all.stored(); });',
    );
    commit("wrong", 'test("wrong", () => assert.equal(all.wrong(), 2));');
    const { out } = cli.run(["compare", "cases", "--see", "3"]);
    expect(out).toMatch(/seen red and green, [\d.]+ s +all.js needs a function plain/);
    expect(out).toMatch(/need the network, a database or another service, which no case has: .*ECONNREFUSED/);
    expect(out).toMatch(/fail here even with the change \(wrong: .*\); once this is fixed: .* add ID/);
  }, 280_000);
});
