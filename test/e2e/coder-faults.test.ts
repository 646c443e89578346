/** A coder at work while something goes wrong, through the real program and over a real protocol. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { proposal, replace } from "../application/chat/chat-kit.ts";
import type { Fault, ScriptedReply } from "../fakes/model-server/reply.ts";
import { type ModelServer, startModelServer } from "../fakes/model-server/server.ts";
import { QUICK_NPM_PATH } from "../quick-npm.ts";
import { requirePart } from "../require.ts";
import { createCli, PROGRAM, treeOf, until } from "./cli-kit.ts";

let cli: ReturnType<typeof createCli>;
let server: ModelServer;

beforeEach(async () => {
  cli = createCli();
  server = await startModelServer();
  mkdirSync(cli.home);
  configure({});
  cli.write("a.txt", "one\n");
});
afterEach(async () => {
  await server.stop();
  await cli.remove();
});

function configure(more: object): void {
  writeFileSync(join(cli.home, "config.yaml"), JSON.stringify({ ...server.config(), ...more }));
}

function start(message: string) {
  return Bun.spawn([PROGRAM, "chat", message], {
    cwd: cli.workspace,
    env: {
      PATH: QUICK_NPM_PATH,
      HOME: join(cli.folder, "user"),
      PICOCLAW_HOME: cli.home,
      PICOCLAW_LOCALE: "en",
    },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
}

async function chat(message: string): Promise<{ code: number; out: string }> {
  const child = start(message);
  const out = await new Response(child.stdout).text();
  return { code: await child.exited, out };
}

const GOOD: ScriptedReply = { text: proposal("Two", replace("a.txt", "one", "two")) };
const fault = (one: Fault): ScriptedReply => ({ text: "never whole", fault: one });

describe("a model that fails", () => {
  test.each<readonly [string, ScriptedReply]>([
    ["a stream that breaks off", fault({ kind: "cut", after: 1 })],
    ["a stream that ends early", fault({ kind: "end-early", after: 1 })],
    ["an empty answer", { text: "" }],
    ["a busy server", fault({ kind: "status", status: 429, headers: { "retry-after": "0" } })],
  ])("%s is asked again, and the work is done", async (_, reply) => {
    server.say(reply, GOOD);
    const { code, out } = await chat("/code3 change a.txt");
    expect(out).toStartWith("Applied: 1 file");
    expect(code).toBe(0);
    expect(cli.read("a.txt")).toBe("two\n");
    expect(server.requests).toHaveLength(2);
  });

  test.each<readonly [string, ScriptedReply]>([
    ["a wrong key", fault({ kind: "unauthorized" })],
    ["no credit", fault({ kind: "no-credit" })],
    ["only empty answers", { text: "" }],
  ])("%s is told, and nothing is changed", async (_, reply) => {
    server.say(reply);
    const { code, out } = await chat("/code3 change a.txt");
    expect(out).toStartWith("Gin could not answer: ");
    expect(code).toBe(3);
    expect(cli.tree()).toEqual({ "a.txt": "one\n" });
  });

  test("one that hangs is given up", async () => {
    configure({ models: { first_token_timeout: 1, retries: 0 } });
    server.say(fault({ kind: "hang-before-headers" }));
    const { code, out } = await chat("/code3 change a.txt");
    expect(out).toStartWith("Gin could not answer: ");
    expect(code).toBe(3);
  });

  test("sixty identical failing answers of a local model are as many requests as it has attempts", async () => {
    server.say({ text: proposal("Never", replace("a.txt", "not there", "x")) });
    const { code, out } = await chat("/code3 change a.txt");
    expect(out).toContain("The same failure occurred twice, so the coder was not asked again.");
    expect(code).toBe(1);
    expect(server.requests).toHaveLength(3);
    expect(cli.tree()).toEqual({ "a.txt": "one\n" });
  });

  test("one that fails after a red attempt leaves a preview and says why", async () => {
    server.say(
      { text: proposal("Try", `${replace("a.txt", "one", "two")}\n\`\`\`bash\nexit 3\n\`\`\``) },
      fault({ kind: "unauthorized" }),
    );
    const { code, out } = await chat("/code3 change a.txt");
    expect(out).toStartWith("Preview, nothing applied");
    expect(out).toContain("Gin could not answer: ");
    expect(code).toBe(1);
    expect(cli.tree()).toEqual({ "a.txt": "one\n" });
  });

  test.each<readonly [string, string]>([
    ["beside the workspace", "../other/a.txt"],
    ["anywhere on the machine", "/var/tmp/picoclaw-other-project.txt"],
  ])("a file of another project, %s, is not written, and the coder is told", async (_, path) => {
    mkdirSync(join(cli.folder, "other"));
    writeFileSync(join(cli.folder, "other/a.txt"), "theirs\n");
    server.say({ text: proposal("Theirs", `\`\`\`txt:${path}\nmine\n\`\`\``) }, GOOD);
    const { code } = await chat("/code3 change a.txt");
    expect(code).toBe(0);
    expect(server.requests).toHaveLength(2);
    expect(readFileSync(join(cli.folder, "other/a.txt"), "utf8")).toBe("theirs\n");
    expect(existsSync("/var/tmp/picoclaw-other-project.txt")).toBe(false);
    expect(cli.tree()).toEqual({ "a.txt": "two\n" });
  });

  test("half a patch is sent back, and nothing of it runs", async () => {
    const half = GOOD.text?.replace(/=======[\s\S]*$/, "") ?? "";
    server.say({ text: half }, GOOD);
    const { code } = await chat("/code3 change a.txt");
    expect(code).toBe(0);
    expect(server.requests).toHaveLength(2);
    expect(cli.read("a.txt")).toBe("two\n");
  });

  test("an answer cut inside its patch is gone on with", async () => {
    const whole = proposal("Two", "```txt:b.txt\nfirst line of the file\nsecond line of the file\n```");
    const at = whole.indexOf("line of the file\n```");
    server.say({ text: whole.slice(0, at), finish: "length" }, { text: whole.slice(at) });
    const { code } = await chat("/code3 write b.txt");
    expect(code).toBe(0);
    expect(cli.read("b.txt")).toBe("first line of the file\nsecond line of the file\n");
  });

  test("a question is shown, and the answer to it reaches the coder with it", async () => {
    server.say({ text: "Two in which language?" }, { text: "No change: a question" }, GOOD);
    expect(await chat("/code3 make it two")).toEqual({
      code: 0,
      out: "Nothing was changed. The coder's words: a question\n\nTwo in which language?\n",
    });
    expect((await chat("/code3 English, in a.txt")).code).toBe(0);
    expect(JSON.stringify(server.requests[2]?.body)).toContain("Two in which language?");
  });
});

const withNode = requirePart("bwrap") && requirePart("node") ? test : test.skip;

function project(script: string): void {
  cli.write("package.json", JSON.stringify({ type: "module", scripts: { test: script } }));
}

describe("a check", () => {
  withNode("that hangs ends at its limit, and does not judge", async () => {
    configure({ checks: { auto_limit: 1, timeout: 2 } });
    project("sleep 60");
    server.say(GOOD);
    const { code, out } = await chat("/code3 change a.txt");
    expect(out).toContain("NOT CHECKED: the checks take too long to run automatically");
    expect(code).toBe(0);
    expect(cli.read("a.txt")).toBe("two\n");
  });

  withNode("that forks and stays leaves no process behind", async () => {
    const mark = `7${process.pid}.25`;
    project(`(sleep ${mark} &) ; true`);
    server.say({ text: proposal("Code", "```js:b.mjs\nexport const b = 1;\n```") });
    const { code, out } = await chat("/code3 write b.mjs");
    expect(out).toContain("the tests (npm test) do not notice when b.mjs is broken");
    expect(code).toBe(0);
    expect(Bun.spawnSync(["pgrep", "-f", `sleep ${mark}`]).stdout.toString()).toBe("");
  });

  const listing = (count: number, last: string) =>
    `import { value } from "./b.mjs";\nconst lines = ["TAP version 13"];\nfor (let n = 1; n < ${count}; n++) lines.push("ok " + n + " - case " + n);\nlines.push(${last}, "1..${count}");\nconsole.log(lines.join("\\n"));\n`;
  const CHANGES_B = {
    text: proposal("Two", replace("b.mjs", "export const value = 1;", "export const value = 2;")),
  };

  withNode("of ten thousand tests is read whole, and the one that fails is named", async () => {
    configure({ coder: { attempts: 1 } });
    project("node all.mjs");
    cli.write("b.mjs", "export const value = 1;\n");
    cli.write("all.mjs", listing(10_000, '(value === 1 ? "ok" : "not ok") + " 10000 - the last one"'));
    server.say(CHANGES_B);
    const { code, out } = await chat("/code3 make it two in b.mjs");
    expect(out).toStartWith("Not applied: checks got worse");
    expect(out).toContain("9999 passed, 1 failed");
    expect(out).toContain("Newly failing, skipped or missing: the last one");
    expect(code).toBe(1);
  });

  withNode("whose runner says that all is well over a test that fails does not pass for green", async () => {
    configure({ coder: { attempts: 1 } });
    project("node all.mjs; exit 0");
    cli.write("b.mjs", "export const value = 1;\n");
    cli.write("all.mjs", listing(3, '(value === 1 ? "ok" : "not ok") + " 3 - the last one"'));
    server.say(CHANGES_B);
    const { code, out } = await chat("/code3 make it two in b.mjs");
    expect(out).toStartWith("Not applied: checks got worse");
    expect(code).toBe(1);
    expect(cli.read("b.mjs")).toBe("export const value = 1;\n");
  });

  withNode("whose output ends without a newline is judged by its exit code", async () => {
    configure({ coder: { attempts: 1 } });
    project("node all.mjs");
    cli.write("b.mjs", "export const value = 1;\n");
    cli.write(
      "all.mjs",
      'import { value } from "./b.mjs";\nprocess.stdout.write("value " + value);\nprocess.exitCode = value === 1 ? 0 : 1;\n',
    );
    server.say(CHANGES_B);
    const { code, out } = await chat("/code3 make it two in b.mjs");
    expect(out).toStartWith("Not applied: checks got worse");
    expect(out).toContain("npm test: red, was green before");
    expect(code).toBe(1);
  });

  withNode("has ports of its own, though the machine uses them", async () => {
    const taken = createServer().listen(0);
    const { port } = taken.address() as AddressInfo;
    project(`node -e "require('net').createServer().listen(${port}, () => process.exit(0))"`);
    server.say({ text: proposal("Code", "```js:b.mjs\nexport const b = 1;\n```") });
    const { out } = await chat("/code3 write b.mjs");
    taken.close();
    expect(out).toContain("the tests (npm test) do not notice when b.mjs is broken");
  });
});

describe("a draft that is open", () => {
  const slow = { text: proposal("Try", `${replace("a.txt", "one", "two")}\n\`\`\`bash\nexit 3\n\`\`\``) };

  test("does not overwrite what the user edits meanwhile", async () => {
    server.say(slow, { ...GOOD, text: proposal("Now", "```bash\ntrue\n```") });
    const child = start("/code3 change a.txt");
    await server.asked(2);
    cli.write("a.txt", "mine\n");
    const out = await new Response(child.stdout).text();
    // The conflict goes back to the coder with the texts; its next answer leaves the file as the user has it.
    expect(server.requests).toHaveLength(3);
    expect(JSON.stringify(server.requests.at(-1))).toContain("mine");
    expect([await child.exited, out.split("\n", 1)[0]]).toEqual([0, "No change"]);
    expect(cli.read("a.txt")).toBe("mine\n");
  });

  test.each(["while the coder thinks", "while its command runs"])(
    "leaves the workspace as it was when its process is killed %s, and is named at the next start",
    async (when) => {
      const inCommand = when.endsWith("runs");
      const sleeping = `\`\`\`bash\necho two > a.txt; sleep 60\n\`\`\``;
      server.say(
        inCommand ? { text: proposal("Sleep", sleeping) } : slow,
        fault({ kind: "hang-before-headers" }),
      );
      const child = start("/code3 change a.txt");
      await server.asked(inCommand ? 1 : 2);
      if (inCommand) await until(jobIsRunning, 290_000);
      child.kill("SIGKILL");
      await child.exited;
      expect(treeOf(cli.workspace)).toEqual({ "a.txt": "one\n" });
      expect(readFileSync("/proc/self/mounts", "utf8")).not.toContain(cli.folder);
      const jobs = cli.run(["jobs"]);
      expect(jobs.out).toMatch(/Interrupted|Stopped, nothing changed/);
      const [job] = /#\d+/.exec(jobs.out) ?? [""];
      const next = start("/jobs");
      expect(await new Response(next.stderr).text()).toContain(`${job} ended before it applied anything`);
      await next.exited;
    },
  );

  withNode(
    "leaves the workspace as it was when it is killed between the verdict and the landing",
    async () => {
      const mark = `6${process.pid}.75`;
      configure({ hooks: { before_landing: [`sleep ${mark}`] } });
      project("node -e 0");
      cli.write("b.mjs", "export const value = 1;\n");
      const before = treeOf(cli.workspace);
      const edit = replace("b.mjs", "export const value = 1;", "export const value = 2;");
      server.say({ text: proposal("Two", edit) });
      const child = start("/code3 make it two in b.mjs");
      const sleeps = () => Bun.spawnSync(["pgrep", "-f", `^sleep ${mark}`]).stdout.toString() !== "";
      await until(sleeps, 290_000);
      child.kill("SIGKILL");
      await child.exited;
      expect(treeOf(cli.workspace)).toEqual(before);
      configure({});
      server.say({ text: proposal("Two", edit) });
      const again = await chat("/code3 make it two in b.mjs");
      expect(again.code).toBe(0);
      expect(cli.read("b.mjs")).toBe("export const value = 2;\n");
      expect(sleeps()).toBe(false);
    },
  );

  function jobIsRunning(): boolean {
    return /Running/.test(cli.run(["jobs"]).out);
  }
});
