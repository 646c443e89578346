import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../../src/config/load.ts";
import { createEnvironments } from "../../src/wiring/environments.ts";
import { createServices } from "../../src/wiring/services.ts";

async function open(yaml: string) {
  const home = mkdtempSync(join(tmpdir(), "picoclaw-commands-"));
  try {
    writeFileSync(join(home, "config.yaml"), yaml);
    const loaded = await loadConfig({ env: {}, cwd: home, home });
    if (!loaded.ok) throw new Error(JSON.stringify(loaded.errors));
    const environments = createEnvironments(createServices({}, { cwd: home }, loaded));
    if ("ok" in environments) throw new Error(environments.detail);
    const { promptFragment } = await environments.modelSide();
    return { images: environments.manager.getAvailableEnvironments(), promptFragment };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** The last line of the list, where it is the environment's own. */
function ownLine(fragment: string): string | undefined {
  return /^This Environment: (.*)$/m.exec(fragment)?.[1];
}

test("a model gets the purpose of an image of ours, as one further line", async () => {
  const { promptFragment } = await open("locale: en\n");
  expect(ownLine(promptFragment("node"))).toStartWith("node, npx, ");
  expect(ownLine(promptFragment("python"))).not.toContain("npx");
  expect(ownLine(promptFragment("no-such-environment"))).toBeUndefined();
});

test("a user's own environment names its commands, and excluded ones stay out", async () => {
  const { images, promptFragment } = await open(`command_executor:
  allowed_commands: { exclude: [npx] }
  environments:
    node: { commands: [node, npx, deno] }
    go: { image: "golang:1.24", commands: [go, gofmt] }
    own: { dockerfile: ci/Dockerfile, commands: [zig] }
    plain: "debian:12"
`);
  expect(images).toMatchObject({ node: "coding-agent-executor-node:latest", go: "golang:1.24" });
  expect(["node", "go", "own", "plain"].map((name) => ownLine(promptFragment(name)))).toEqual([
    "node, deno",
    "go, gofmt",
    "zig",
    undefined,
  ]);
});
