import { describe, expect, test } from "bun:test";
import {
  type BuildImageDeps,
  buildImage,
  ensureImage,
} from "../../../src/application/containers/ensure-image.ts";
import type { ContextFile, ImageFacts, ImageOutcome } from "../../../src/application/ports/containers.ts";
import { recipeNamed, withTag } from "../../../src/domain/containers/environments.ts";

const file = (path: string, text: string): ContextFile => ({
  path,
  bytes: Buffer.from(text),
  executable: false,
});
const NOT_FOUND: ImageOutcome = { ok: false, reason: "not-found", message: "not found" };

/** An engine's images in memory; `registry` can be pulled. */
function fakeImages(
  present: readonly string[],
  registry: readonly string[] = [],
  failBuild = false,
  npmRegistry: string | null = "https://packages.example/",
) {
  const images = new Map<string, ImageFacts>(present.map((name) => [name, { id: `id-${name}`, labels: {} }]));
  const calls: string[] = [];
  const folders: Record<string, readonly ContextFile[]> = {
    base: [file("Dockerfile", "base")],
    python: [file("Dockerfile", "python")],
    node: [file("Dockerfile", "FROM base\nARG NPM_REGISTRY\n")],
    derived: [file("Dockerfile", "derived")],
    worker: [file("Dockerfile", "worker")],
  };
  const deps: BuildImageDeps = {
    sha256: (bytes) => new Bun.CryptoHasher("sha256").update(bytes).digest("hex"),
    npmRegistry: async () => npmRegistry,
    recipes: {
      filesOf: (folder) => folders[folder] ?? null,
      certificates: () => [file("own.crt", "x")],
      project: (path) => (path === "ok/Dockerfile" ? [file("Dockerfile", "mine")] : `no such file: ${path}`),
    },
    images: {
      inspect: async (name) => images.get(name) ?? null,
      async pull(name) {
        calls.push(`pull ${name}`);
        if (!registry.includes(name)) return NOT_FOUND;
        images.set(name, { id: `id-${name}`, labels: {} });
        return { ok: true };
      },
      async build({ name, labels, args, files }) {
        const from = args.NPM_REGISTRY === undefined ? "" : ` from ${args.NPM_REGISTRY}`;
        calls.push(`build ${name} ${args.BASE ?? "-"} ${files.map(({ path }) => path).join(" ")}${from}`);
        if (failBuild) return { ok: false, reason: "failed", message: "step 3 failed" };
        images.set(name, { id: `built-${name}-${calls.length}`, labels });
        return { ok: true };
      },
      async tag(name, further) {
        calls.push(`tag ${name} ${further}`);
        images.set(further, images.get(name) as ImageFacts);
      },
      importArchive: async () => ({ ok: true }),
    },
  };
  return { parts: deps, calls, folders };
}

describe("an image for an environment", () => {
  test("is taken as it is when it is there and ours", async () => {
    const { parts: deps, calls } = fakeImages(["coding-agent-executor-python:latest"]);
    expect(await ensureImage(deps, { image: "coding-agent-executor-python" })).toEqual({
      ok: true,
      name: "coding-agent-executor-python:latest",
    });
    expect(calls).toEqual([]);
  });

  test("is pulled under its bare name, then under its published one, and gets the bare one", async () => {
    const elsewhere = "ghcr.io/biwakonbu/agent-runner-codex:latest";
    const { parts: deps, calls } = fakeImages([], [elsewhere]);
    const ensured = await ensureImage(deps, { image: "agent-runner-codex:latest" });
    expect(ensured.ok).toBe(true);
    expect(calls.slice(0, 3)).toEqual([
      "pull agent-runner-codex:latest",
      `pull ${elsewhere}`,
      `tag ${elsewhere} agent-runner-codex:latest`,
    ]);
  });

  test("of ours is built with its base image if it cannot be pulled", async () => {
    const { parts: deps, calls } = fakeImages(["debian:x"]);
    const steps: string[] = [];
    const ensured = await ensureImage(deps, {
      image: "coding-agent-executor-python:latest",
      root: "debian:x",
      onStep: (step, name) => steps.push(`${step} ${name}`),
    });
    expect(ensured).toEqual({ ok: true, name: "coding-agent-executor-python:latest" });
    expect(calls).toEqual([
      "pull coding-agent-executor-python:latest",
      "build coding-agent-executor:latest debian:x Dockerfile certificates/.keep certificates/own.crt",
      "build coding-agent-executor-python:latest coding-agent-executor:latest Dockerfile",
    ]);
    expect(steps).toEqual([
      "pulling coding-agent-executor-python:latest",
      "building coding-agent-executor-python:latest",
    ]);
  });

  test("that does not exist anywhere is reported with every attempt, and whether it can be built", async () => {
    const missing = fakeImages([]);
    expect(await ensureImage(missing.parts, { image: "ruby:3.3" })).toEqual({
      ok: false,
      code: "image-missing",
      image: "ruby:3.3",
      attempts: ["ruby:3.3: not found"],
      buildable: false,
    });
    const broken = fakeImages([], [], true);
    expect(await ensureImage(broken.parts, { image: "coding-agent-executor-python" })).toMatchObject({
      ok: false,
      code: "image-missing",
      buildable: true,
      attempts: [expect.any(String), "coding-agent-executor:latest: step 3 failed"],
    });
  });

  test("of another owner is prepared once, under its id", async () => {
    const { parts: deps, calls } = fakeImages(["ruby:3.3"]);
    const first = await ensureImage(deps, { image: "ruby:3.3" });
    expect(first).toEqual({ ok: true, name: "picoclaw-derived:id-ruby:3.3" });
    expect(await ensureImage(deps, { image: "ruby:3.3" })).toEqual(first);
    expect(calls).toEqual(["build picoclaw-derived:id-ruby:3.3 ruby:3.3 Dockerfile"]);
  });

  test("of a project's own Dockerfile is built by its content", async () => {
    const { parts: deps, calls } = fakeImages([]);
    const first = await ensureImage(deps, { image: { dockerfile: "ok/Dockerfile" } });
    expect(first.ok).toBe(true);
    expect(calls[0]).toStartWith("build picoclaw-project:");
    await ensureImage(deps, { image: { dockerfile: "ok/Dockerfile" } });
    expect(calls.filter((call) => call.includes("picoclaw-project"))).toHaveLength(2);
    expect(await ensureImage(deps, { image: { dockerfile: "none" } })).toMatchObject({
      ok: false,
      code: "dockerfile",
      attempts: ["no such file: none"],
    });
  });
});

describe("building", () => {
  const python = recipeNamed("python");
  if (python === undefined) throw new Error("no recipe");

  test("leaves unchanged layers, and rebuilds above a changed one", async () => {
    const { parts: deps, calls, folders } = fakeImages([]);
    expect(await buildImage(deps, { recipe: python })).toMatchObject({
      ok: true,
      built: ["coding-agent-executor:latest", "coding-agent-executor-python:latest"],
    });
    expect(await buildImage(deps, { recipe: python })).toMatchObject({ ok: true, built: [] });
    folders.base = [file("Dockerfile", "base, changed")];
    expect(await buildImage(deps, { recipe: python })).toMatchObject({
      built: ["coding-agent-executor:latest", "coding-agent-executor-python:latest"],
    });
    expect(await buildImage(deps, { recipe: python, again: true })).toMatchObject({
      built: [expect.any(String), expect.any(String)],
    });
    expect(calls).toHaveLength(6);
  });

  test("takes npm's packages from npm's own registry, and says so if it is unknown", async () => {
    const node = recipeNamed("node");
    if (node === undefined) throw new Error("no recipe");
    const { parts: deps, calls } = fakeImages([]);
    expect(await buildImage(deps, { recipe: node })).toMatchObject({ ok: true });
    expect(calls).toEqual([
      "build coding-agent-executor:latest - Dockerfile certificates/.keep certificates/own.crt",
      "build coding-agent-executor-node:latest coding-agent-executor:latest Dockerfile from https://packages.example/",
    ]);
    expect(await buildImage(fakeImages([], [], false, null).parts, { recipe: node })).toMatchObject({
      ok: false,
      code: "build-failed",
      message: expect.stringContaining("command_executor.install.npm_registry"),
    });
  });

  test("on an existing base works without a registry, and names the setting if there is none", async () => {
    const { parts: deps, calls, folders } = fakeImages(["debian:own"]);
    const offline: BuildImageDeps = {
      ...deps,
      images: {
        ...deps.images,
        build: async (build) =>
          build.name === "coding-agent-executor:latest" && build.args.BASE === undefined
            ? { ok: false, reason: "unreachable", message: "dial tcp: no such host" }
            : deps.images.build(build),
      },
    };
    expect(await buildImage(offline, { recipe: python })).toMatchObject({ ok: false, code: "no-root" });
    expect(await buildImage(offline, { recipe: python, root: "debian:own" })).toMatchObject({ ok: true });
    // The root that was named once is remembered.
    folders.base = [file("Dockerfile", "base, changed")];
    expect(await buildImage(offline, { recipe: python })).toMatchObject({ ok: true });
    expect(calls.filter((call) => call.includes("debian:own"))).toHaveLength(2);
    // A base of an older version does not know its root: it stays.
    const old = fakeImages(["coding-agent-executor:latest"]);
    const said: string[] = [];
    const kept = await buildImage(
      {
        ...old.parts,
        images: {
          ...old.parts.images,
          build: async (build) =>
            build.args.BASE === undefined
              ? { ok: false, reason: "unreachable", message: "" }
              : old.parts.images.build(build),
        },
      },
      { recipe: python, onImage: (name, what) => said.push(`${what} ${name}`) },
    );
    expect(kept).toMatchObject({ ok: true, built: ["coding-agent-executor-python:latest"] });
    expect(said).toContain("kept coding-agent-executor:latest");
  });

  test("says which recipe is missing", async () => {
    const { parts: deps, folders } = fakeImages([]);
    delete folders.python;
    expect(await buildImage(deps, { recipe: python })).toMatchObject({
      ok: false,
      code: "recipe-missing",
      name: "coding-agent-executor-python:latest",
    });
  });

  test("a name without a tag means the latest; a digest stays", () => {
    expect(["a", "a:1", "host:5000/a", "host:5000/a:1", "a@sha256:0"].map(withTag)).toEqual([
      "a:latest",
      "a:1",
      "host:5000/a:latest",
      "host:5000/a:1",
      "a@sha256:0",
    ]);
  });
});

test("a worker CLI is laid over the environment's image, once for each pair", async () => {
  const present = ["coding-agent-executor-python:latest", "coding-agent-executor-node:latest"];
  const { parts: deps, calls } = fakeImages([...present, "agent-runner-codex:latest"]);
  const ensure = (image: string) => ensureImage(deps, { image, worker: "agent-runner-codex" });
  const python = await ensure("coding-agent-executor-python");
  expect(await ensure("coding-agent-executor-python")).toEqual(python);
  await ensure("coding-agent-executor-node");
  expect(calls.map((call) => call.replace(/ picoclaw-worker:\S+/, ""))).toEqual([
    "build coding-agent-executor-python:latest Dockerfile",
    "build coding-agent-executor-node:latest Dockerfile",
  ]);
  expect(python).toMatchObject({ ok: true, name: expect.stringMatching(/^picoclaw-worker:/) });
});
