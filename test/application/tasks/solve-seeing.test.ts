import { afterEach, describe, expect, test } from "bun:test";
import { createSolveKit, DONE, FIX, PLAIN_TEST, PLAN, shell } from "./solve-kit.ts";

let kit: Awaited<ReturnType<typeof createSolveKit>>;
afterEach(() => kit.stop());

const FILES = {
  "calc.sh": "add() { echo $((a - b)); }\n",
  "test.sh": ". ./calc.sh; test $(a=1 b=2 add) = 3\n",
  "package.json": JSON.stringify({ scripts: { test: "sh test.sh" } }),
};
const python = PLAN.replace("null", '"python"');
const worked = [shell(FIX), DONE];

describe("what a coder sees", () => {
  test("the planner is shown the project's files", async () => {
    kit = await createSolveKit(FILES, PLAIN_TEST);
    const { model } = await kit.solve([PLAN, ...worked]);
    expect(model.asked[0]?.messages.at(-1)?.text).toContain("# Files of the project\ncalc.sh\npackage.json");
  });

  test("a planner that the files contradict is not believed; one that they bear out is", async () => {
    const asked: (string | null)[] = [];
    const solve = async (files: Record<string, string>) => {
      kit = await createSolveKit(files, PLAIN_TEST);
      const { prepare } = kit.environments;
      kit.environments.prepare = (request) => {
        asked.push(request.environment);
        return prepare(request);
      };
      await kit.solve([python, ...worked]);
    };
    await solve(FILES);
    kit.stop();
    await solve({ ...FILES, "requirements.txt": "" });
    expect(asked).toEqual([null, "python"]);
  });

  test("a planner that answers with a list in prose is understood, one that makes no plan is asked once more and done without", async () => {
    kit = await createSolveKit(FILES, PLAIN_TEST);
    const listed = await kit.solve([
      "I would:\n1. Read `calc.sh`\n2) Mend the sign\n\nThat is all.",
      ...worked,
    ]);
    expect(listed.task).toMatchObject({
      state: "done",
      plan: { steps: ["Read `calc.sh`", "Mend the sign"] },
    });
    kit.stop();
    kit = await createSolveKit(FILES, PLAIN_TEST);
    const without = await kit.solve(["no", "still no", ...worked]);
    expect(without.task).toMatchObject({ state: "done", plan: null });
    expect(without.model.asked[1]?.messages.at(-1)?.text).toContain("That answer cannot be used");
    expect(without.model.asked[2]?.messages.at(-1)?.text).not.toContain("# Plan");
  });

  test("a forge that does not list files does not end the task", async () => {
    kit = await createSolveKit(FILES, PLAIN_TEST);
    kit.world.faults.push({
      method: "GET",
      path: /git\/trees/,
      times: 9,
      answer: () => Response.json({ message: "no" }, { status: 403 }),
    });
    expect((await kit.solve([PLAN, ...worked])).task.state).toBe("done");
  });

  test("plan, rules, checks and a failed installation reach the coder before its first step", async () => {
    kit = await createSolveKit({
      ...FILES,
      "AGENTS.md": "Write in POSIX sh.\n",
      "picoclaw.yaml":
        'tasks: { rules: ["Keep functions short."] }\nchecks: { command: "sh test.sh && echo OWN" }\nworker: { confine: off }\n',
    });
    kit.environments.failedInstalls = [
      {
        command: "npm ci",
        output: "ERESOLVE could not resolve",
        refused: [{ host: "registry.example.org:443", key: "allowed_domains" }],
        leftOut: ["left-alone"],
      },
    ];
    const { task, model } = await kit.solve([PLAN, ...worked]);
    const shown = model.asked[1]?.messages.at(1)?.text ?? "";
    for (const part of [
      "2. fix the sum",
      "Write in POSIX sh.",
      "- Keep functions short.",
      "`sh test.sh && echo OWN`",
      "$ npm ci\nERESOLVE could not resolve",
      "may not reach registry.example.org:443 (the user can allow it: command_executor.docker.network.allowed_domains)",
    ])
      expect(shown).toContain(part);
    expect(model.asked[1]?.messages.at(2)?.text).toContain('<file path="package.json"');
    // And it is the project's own command that judges.
    expect(task.checks).toMatchObject([{ command: "sh test.sh && echo OWN", exitCode: 0 }]);
  });

  test("after a failed installation the coder learns which programs and packages are missing", async () => {
    const scripts = { test: "sh test.sh", lint: "NODE_ENV=test no-such-linter . && sh -n calc.sh" };
    const devDependencies = { "@no/such-linter": "1.0.0", there: "1.0.0" };
    kit = await createSolveKit({
      ...FILES,
      "package.json": JSON.stringify({ scripts, devDependencies }),
      "node_modules/there/index.js": "",
    });
    const of = async () => (await kit.solve([PLAN, ...worked])).model.asked[1]?.messages.at(1)?.text ?? "";
    expect(await of()).not.toContain("no-such-linter`");
    kit.environments.failedInstalls = [
      { command: "npm ci", output: "E404", refused: [], leftOut: ["@no/such-linter"] },
    ];
    kit.issue.body = "once more";
    const shown = await of();
    expect(shown).toContain("installed the rest, without: @no/such-linter.");
    expect(shown).toContain("start, and that do not exist: `no-such-linter`.");
    expect(shown).toContain("not installed: `@no/such-linter`.");
  });

  test("settings that cannot be read count as absent", async () => {
    kit = await createSolveKit({ ...FILES, "picoclaw.yaml": "tasks: [1\n" });
    const { task } = await kit.solve([PLAN, ...worked]);
    expect(task.checks).toMatchObject([{ command: "npm test", exitCode: 0 }]);
  });

  test("the coder is shown the files that the issue's words point to before its first step", async () => {
    const noise = Object.fromEntries(
      Array.from({ length: 60 }, (_, i) => [
        `src/part${i}.sh`,
        `# part ${i}\n${"other() { true; }\n".repeat(60)}`,
      ]),
    );
    kit = await createSolveKit(
      {
        ...noise,
        ...FILES,
        "lib/totals.sh": `${"skip() { true; }\n".repeat(50)}grand_total() { echo ROUNDED; }\n`,
        "logo.bin": "grand_total\0",
      },
      PLAIN_TEST,
    );
    kit.issue.body = "`grand_total` rounds too early";
    const { task, model } = await kit.solve([PLAN, ...worked]);
    expect(task.state).toBe("done");
    const shown = model.asked[1]?.messages.at(-1)?.text ?? "";
    expect(shown).toStartWith("# Files that the task seems to be about");
    expect(shown).toContain('<file path="lib/totals.sh"');
    expect(shown).toContain("ROUNDED");
    expect(shown).not.toContain('<file path="logo.bin"');
    // A map as in a chat.
    expect(shown).toContain("Files of the workspace:\n./ calc.sh");
    expect(shown.length).toBeLessThan(16_000);
  });

  test("a small project is shown whole, and our secrets are masked", async () => {
    kit = await createSolveKit({ ...FILES, "notes.txt": "the key is hunter2-hunter2" }, PLAIN_TEST);
    const mask = (text: string) => text.replaceAll("hunter2-hunter2", "***");
    const { model } = await kit.solve([PLAN, ...worked], { deps: { mask } });
    const shown = model.asked[1]?.messages.at(-1)?.text ?? "";
    expect(shown).toContain("add() { echo $((a - b)); }");
    expect(shown).toContain("the key is ***");
  });

  test("files that do not fit into the model's window are left out first", async () => {
    kit = await createSolveKit(
      {
        ...FILES,
        "calc.sh": `${FILES["calc.sh"]}${"# a line of calc.sh\n".repeat(800)}`,
      },
      PLAIN_TEST,
    );
    const { task } = await kit.solve((turn, { messages }) => {
      if (turn === 0) return PLAN;
      if (messages.some(({ text }) => text.includes("a line of calc.sh")))
        return { code: "context-too-long", message: "", retryable: false };
      return messages.some(({ role }) => role === "tool") ? DONE : shell(FIX);
    });
    expect(task.state).toBe("done");
  });
});
