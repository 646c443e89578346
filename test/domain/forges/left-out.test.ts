import { expect, test } from "bun:test";
import {
  findLeftOut,
  isLinkOut,
  isWorkflowPath,
  refusedEdit,
} from "../../../src/domain/forges/publishable-change.ts";

const pathsOf = (changed: readonly string[], base: readonly string[] = [], allowCi = false) =>
  findLeftOut({ changed, base, linksOut: [], allowCi }).map(({ path }) => path);

test("what tools made stays out, unless the project tracks that folder", () => {
  const made = [
    "node_modules/x/index.js",
    "web/node_modules/x.js",
    "src/__pycache__/a.pyc",
    "a.pyc",
    ".venv/bin/python",
    "my env/pyvenv.cfg",
    "my env/bin/x",
    "calc.egg-info/PKG-INFO",
    ".coverage",
  ];
  expect(pathsOf([...made, "src/a.ts"])).toEqual(made);
  expect(pathsOf(["node_modules/x/index.js"], ["node_modules/y.js"])).toEqual([]);
  expect(pathsOf(["web/node_modules/x.js"], ["node_modules/y.js"])).toEqual(["web/node_modules/x.js"]);
  expect(pathsOf(["a.pyc"], ["a.pyc"])).toEqual([]);
});

test("a folder of an honest name stays out only beside the manifest of its tool", () => {
  expect(pathsOf(["src/target/a.ts", "target/a.md", "vendor/b.ts", "build/c.ts"])).toEqual([]);
  expect(pathsOf(["target/debug/x", "src/target/a.rs"], ["Cargo.toml"])).toEqual(["target/debug/x"]);
  expect(pathsOf(["vendor/x/y.go"], ["go.mod"])).toEqual(["vendor/x/y.go"]);
  expect(pathsOf(["vendor/x/y.go"], ["go.mod", "vendor/modules.txt"])).toEqual([]);
});

test("a link out of the tree needs the same consent", () => {
  const out: [string, string][] = [
    ["a", "/etc/passwd"],
    ["a", "../x"],
    ["dir/a", "../../x"],
    ["dir/a", "b/../../../x"],
    ["a", "C:\\x"],
  ];
  for (const [path, target] of out)
    expect([path, target, isLinkOut(path, target)]).toEqual([path, target, true]);
  for (const [path, target] of [
    ["a", "b"],
    ["dir/a", "../b"],
    ["a/b/c", "../../d"],
    ["a", "./b/../c"],
  ] as const)
    expect([path, target, isLinkOut(path, target)]).toEqual([path, target, false]);
  const paths = { changed: ["a", "b"], base: [], linksOut: ["b"] };
  expect(findLeftOut({ ...paths, allowCi: false })).toEqual([{ path: "b", why: "ci" }]);
  expect(findLeftOut({ ...paths, allowCi: true })).toEqual([]);
});

test("files that the forge's machines run stay out, of every kind, unless allowed", () => {
  const ci = [
    "action.yml",
    "actions/build/action.yaml",
    "ci/build.gitlab-ci.yml",
    "templates/x.gitlab-ci.yaml",
    ".azuredevops/pipeline.yml",
    ".azuredevops",
    ".github/workflows/x.yml",
    ".gitlab-ci.yml",
    ".travis.yml",
    ".gitea/workflows/x.yaml",
    ".forgejo/workflows/x.yaml",
    "appveyor.yml",
    ".appveyor.yml",
    ".cirrus.yml",
    ".semaphore/semaphore.yml",
    "Jenkinsfile",
    "deploy/Jenkinsfile",
    ".builds/x.yml",
    ".build.yml",
    "wercker.yml",
    "cloudbuild.yaml",
  ];
  expect(pathsOf([...ci, "a.txt"])).toEqual(ci);
  expect(pathsOf(ci, [], true)).toEqual([]);
  for (const path of ["travis.md", "src/.travis.yml", ".giteax", "docs/appveyor.yml.md"])
    expect(isWorkflowPath(path)).toBe(false);
});

test("an edit of such a file is refused with the key that allows it; looking at it is not", () => {
  for (const path of [".github/workflows/x.yml", "./.travis.yml", "/workspace/project/a/../.gitlab-ci.yml"])
    expect(refusedEdit("text_editor", { command: "create", path })).toContain("tasks.allow_ci_files");
  expect(refusedEdit("text_editor", { command: "view", path: ".travis.yml" })).toBeNull();
  expect(refusedEdit("text_editor", { command: "create", path: "a.yml" })).toBeNull();
});
