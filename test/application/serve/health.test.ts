import { expect, test } from "bun:test";
import type { ModelFailure, ModelRole, Models } from "../../../src/application/ports/models.ts";
import { checkHealth, healthChecks } from "../../../src/application/serve/health.ts";

const without = (code: ModelFailure["code"]): Models => ({
  forRole: (role: ModelRole) => ({ code, message: role, retryable: false }) as ModelFailure,
});

const offOf = async (models: Models) => {
  const checks = healthChecks({
    askStore: async () => {},
    findGonePiece: () => null,
    models,
    defaultCoder: "coder2",
    pingDocker: null,
    channels: [],
  });
  const report = await checkHealth(checks, 1_000, (ms, callback) => {
    const timer = setTimeout(callback, ms);
    return () => clearTimeout(timer);
  });
  return report.checks.filter(({ off }) => off === true).map(({ name }) => name);
};

test("a coder that is not set up is off, unless it is the one that answers CODE", async () => {
  expect(await offOf(without("no-key"))).toEqual(["model coder1", "model coder3"]);
  expect(await offOf(without("not-configured"))).toEqual(["model coder1", "model coder3"]);
});

test("a coder that was set up and fails is not off", async () => {
  expect(await offOf(without("unauthorized"))).toEqual([]);
});

test("a program whose files are gone is not ready, and says that a restart helps", async () => {
  const checks = healthChecks({
    askStore: async () => {},
    findGonePiece: () => "/opt/picoclaw/dist/chunk-a.js",
    models: without("no-key"),
    defaultCoder: "coder2",
    pingDocker: null,
    channels: [],
  });
  const report = await checkHealth(checks, 60_000, () => () => {});
  expect(report.ready).toBe(false);
  expect(report.checks.find(({ name }) => name === "program")).toEqual({
    name: "program",
    required: true,
    ok: false,
    detail: "PicoClaw was replaced or moved while it ran: /opt/picoclaw/dist/chunk-a.js is gone",
    remedy: "restart PicoClaw",
  });
});
