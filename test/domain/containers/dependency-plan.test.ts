import { describe, expect, test } from "bun:test";
import { planDependencies } from "../../../src/domain/containers/dependency-plan.ts";

const NPM_INSTALL = "npm install --no-audit --no-fund --no-progress";

describe("dependencies are installed by lock file", () => {
  const cases: readonly [files: readonly string[], commands: readonly string[]][] = [
    [[], []],
    [["README.md"], []],
    [["package.json"], [NPM_INSTALL]],
    [["package.json", "package-lock.json"], ["npm ci --no-audit --no-fund --no-progress"]],
    [["package.json", "npm-shrinkwrap.json"], ["npm ci --no-audit --no-fund --no-progress"]],
    [["package.json", "pnpm-lock.yaml"], ["pnpm install --frozen-lockfile --reporter=append-only"]],
    [["package.json", "yarn.lock"], ["yarn install --frozen-lockfile --non-interactive"]],
    [["package.json", "yarn.lock", ".yarnrc.yml"], ["yarn install --immutable"]],
    [["requirements.txt"], ["pip install --no-input -r requirements.txt"]],
    [
      ["requirements.txt", "requirements-dev.txt", "pyproject.toml"],
      ["pip install --no-input -r requirements.txt -r requirements-dev.txt"],
    ],
    [["pyproject.toml"], ["pip install --no-input -e ."]],
    [["setup.py"], ["pip install --no-input -e ."]],
    [["pyproject.toml", "uv.lock"], ["uv sync --frozen"]],
    [["pyproject.toml", "poetry.lock"], ["poetry install --no-interaction --no-ansi"]],
    [["Pipfile", "Pipfile.lock"], ["pipenv sync --dev"]],
    [["condaenv.yaml"], ["mamba env create --yes --file condaenv.yaml"]],
    [["environment.yml", "requirements.txt"], ["mamba env create --yes --file environment.yml"]],
    [["Gemfile", "Gemfile.lock"], ["bundle install --jobs=4 --retry=2"]],
    [["composer.json"], ["composer install --no-interaction --no-progress"]],
    [["go.mod"], ["go mod download"]],
    [["Cargo.toml", "Cargo.lock"], ["cargo fetch --locked"]],
    [["Cargo.toml"], ["cargo fetch"]],
    [
      ["package.json", "package-lock.json", "requirements.txt"],
      ["npm ci --no-audit --no-fund --no-progress", "pip install --no-input -r requirements.txt"],
    ],
    // Only the root counts; a manifest of a fixture is not a dependency.
    [["test/fixtures/package.json", "docs/requirements.txt"], []],
  ];
  for (const [files, commands] of cases)
    test(`${files.join(" ") || "nothing"}: ${commands.join(" ; ") || "nothing to install"}`, () => {
      expect(planDependencies(files).map(({ command }) => command)).toEqual([...commands]);
    });

  test("a lock file that is out of step falls back to a plain installation", () => {
    expect(planDependencies(["package.json", "package-lock.json"])[0]).toEqual({
      ecosystem: "npm",
      file: "package-lock.json",
      program: "npm",
      command: "npm ci --no-audit --no-fund --no-progress",
      otherwise: NPM_INSTALL,
    });
  });

  test("conda creates the environment, else updates it", () => {
    const [step] = planDependencies(["environment.yml"]);
    expect([step?.command, step?.otherwise]).toEqual([
      "mamba env create --yes --file environment.yml",
      "mamba env update --file environment.yml",
    ]);
  });
});
