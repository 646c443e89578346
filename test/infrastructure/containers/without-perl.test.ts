import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { type EnsuredImage, ensureImage } from "../../../src/application/containers/ensure-image.ts";
import { openEngine } from "../../../src/infrastructure/containers/docker-engine.ts";
import { createDockerImages, createRecipes } from "../../../src/infrastructure/containers/docker-images.ts";
import { hashHex } from "../../../src/infrastructure/platform/hash.ts";
import { requirePart } from "../../require.ts";
import { DOCKER_HOST, docker, openRealEngine, type RealEngine, specOf } from "./real-engine.ts";

const IMAGE = "picoclaw-test-without-perl:2";

/**
 * The programs of PicoClaw inside are in Perl. The image represents any without Perl: its package manager restores the
 * removed files, and its git does nothing.
 */
const MAKE = `
mv /usr/bin/perl /opt/perl
printf '#!/bin/sh\\nexit 0\\n' >/usr/bin/git
printf '#!/bin/sh\\ncase "$*" in *install*\\\\ perl*) cp /opt/perl /usr/bin/perl ;; esac\\n' >/usr/bin/apt-get
chmod 755 /usr/bin/git /usr/bin/apt-get`;

describe.if(requirePart("docker"))("an image without Perl", () => {
  let engine: RealEngine;

  beforeAll(() => {
    engine = openRealEngine();
    if (docker("images", "-q", IMAGE) !== "") return;
    const made = docker("create", engine.image, "sh", "-ec", MAKE);
    docker("start", "-a", made);
    docker("commit", "-c", 'CMD ["sh"]', made, IMAGE);
    docker("rm", "-f", made);
  }, 300_000);
  afterAll(() => engine?.end());

  test("is not started as it is, says why, and leaves nothing", async () => {
    const spec = specOf(IMAGE);
    expect(await engine.sandbox.startContainer(spec)).toMatchObject({
      ok: false,
      code: "bad-spec",
      detail: expect.stringContaining("has no perl"),
    });
    expect(docker("ps", "-aq", "--filter", `name=${spec.name}`)).toBe("");
  });

  test("is made fit under its own id, once, and works", async () => {
    const client = openEngine({ api_timeout: 60, host: DOCKER_HOST } as never, {});
    if ("ok" in client) throw new Error(client.detail);
    const parts = {
      images: createDockerImages(client),
      recipes: createRecipes({
        images: join(import.meta.dir, "../../../images"),
        certificates: "/none",
        workspace: "/",
      }),
      sha256: (bytes: Uint8Array) => hashHex("sha256", bytes),
      npmRegistry: async () => null,
    };
    const lines: string[] = [];
    const ensure = async (): Promise<Extract<EnsuredImage, { ok: true }>> => {
      const ensured = await ensureImage(parts, { image: IMAGE, onLine: (line) => lines.push(line) });
      if (!ensured.ok) throw new Error(ensured.attempts.join("\n"));
      return ensured;
    };
    const { name } = await ensure();
    const told = lines.length;
    expect([(await ensure()).name, lines.length]).toEqual([name, told]);
    const { id } = await engine.start({ image: name });
    expect(await engine.run(id, "pwd; id -u")).toMatchObject({ stdout: "/workspace/project\n10001\n" });
  }, 300_000);
});
