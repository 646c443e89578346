import { expect, test } from "bun:test";
import { findCaches } from "../../../src/domain/policy/protection.ts";

test("caches are recognised by their uppermost folder, and a folder with an ordinary name only by a report in it", () => {
  const found = findCaches([
    "src/__pycache__/a.cpython-311.pyc",
    ".pytest_cache/v/cache/lastfailed",
    "tsconfig.tsbuildinfo",
    ".nyc_output/x.json",
    "coverage/lcov.info",
    "coverage/lcov-report/index.html",
    "src/coverage/report.ts",
    "src/sum.py",
  ]);
  expect([...found]).toEqual([
    ["src/__pycache__/a.cpython-311.pyc", "src/__pycache__"],
    [".pytest_cache/v/cache/lastfailed", ".pytest_cache"],
    ["tsconfig.tsbuildinfo", "tsconfig.tsbuildinfo"],
    [".nyc_output/x.json", ".nyc_output"],
    ["coverage/lcov.info", "coverage"],
    ["coverage/lcov-report/index.html", "coverage"],
  ]);
});
