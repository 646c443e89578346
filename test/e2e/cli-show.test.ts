import { afterEach, beforeEach, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { type Cli, createCli, shell } from "./cli-kit.ts";

let cli: Cli;
beforeEach(() => {
  cli = createCli();
});
afterEach(() => cli.remove());

const COPY = { PICOCLAW_WORKER_TRANSACTION: "copy", PICOCLAW_WORKER_CONFINE: "off" };

// Other file systems than those of Linux refuse such a name.
test.if(process.platform === "linux")(
  "a command that fails when its job is sealed is reported as failed, with the reason",
  () => {
    cli.write("a.txt", "one\n");
    writeFileSync(Buffer.concat([Buffer.from(`${cli.workspace}/bad`), Buffer.from([0xff])]), "");
    expect(cli.apply([shell("rm -rf -- *")], [], { env: COPY }).code).toBe(1);
    const { out } = cli.run(["show"]);
    expect(out).toMatch(/✗ \d+ms .*names that are not UTF-8 cannot be committed/);
    expect(out).not.toContain("✓");
  },
);

test("show says how much of an output and of a list of changes it left out; --all shows it", () => {
  cli.apply([shell("for i in $(seq 1 30); do echo line-$i; echo x > f$i.txt; done")], [], { env: COPY });
  const short = cli.run(["show"]).out;
  expect(short.match(/… 10 more lines \(show --all\)/g)).toHaveLength(2);
  expect(short).not.toContain("line-21\n");
  const all = cli.run(["show", "--all"]).out;
  expect(all).toContain("line-30\n");
  expect(all.match(/added f30\.txt/g)).toHaveLength(2);
  expect(all).not.toContain("more lines");
});

test("show says an error and an output once each", () => {
  cli.write("greet.js", "let one = 3;\n");
  const edit =
    "greet.js\n```\n<<<<<<< SEARCH\nlet one = 1;\n=======\nlet one = 2;\n>>>>>>> REPLACE\n```\n\n```bash\necho printed >&2; exit 3\n```\n";
  cli.write("change.md", edit);
  expect(cli.run(["apply", "change.md"], { env: COPY }).code).toBe(1);
  const { out } = cli.run(["show"]);
  const said = /expected lines are not in the file|The nearest lines:|exit status 3|^ +printed$/gm;
  expect(out.match(said)).toHaveLength(4);
  expect(out).not.toContain("(output:");
});
