import { expect, test } from "bun:test";
import { resolveTarget } from "../../../src/application/platform/resolve-target.ts";
import type { Entry } from "../../../src/application/ports/platform-view.ts";

const WORKSPACE = "/ws";

/** Resolves in a workspace of folders alone, and counts how often it was looked at. */
function resolve(target: string): { readonly path: string; readonly looks: number } {
  let looks = 0;
  const look = (): Entry => {
    looks++;
    return { kind: "directory", mode: 0o755 };
  };
  const { path } = resolveTarget({ view: { look }, rootNames: [WORKSPACE] }, target, "parents");
  return { path, looks };
}

const deep = (parts: number, name = "d") => Array(parts).fill(name).join("/");

test("a path of as many parts as a project may have is resolved", () => {
  expect(resolve(deep(255))).toEqual({ path: deep(255), looks: 255 });
});

test.each([
  ["more parts than any project has", deep(3000)],
  ["more bytes than the system takes", deep(20, "ü".repeat(120))],
])("a path of %s is refused before anything is looked at", (_, target) => {
  for (const written of [target, `${WORKSPACE}/${target}`, `./x/../${target}`])
    expect(() => resolve(written)).toThrow("file name too long");
});
