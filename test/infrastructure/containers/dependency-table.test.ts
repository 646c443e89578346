/** Each row of the table of dependencies, for real, through the proxy of a container. Only by night: it downloads. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import type { OpenEnvironments } from "../../../src/application/ports/containers-opened.ts";
import { requirePart } from "../../require.ts";
import { createEnvironmentKit, type EnvironmentKit, executor } from "./environment-kit.ts";
import { DOCKER_HOST, docker } from "./real-engine.ts";

const TOOLS = "picoclaw-test-many-tools:latest";
const DOCKERFILE = `FROM coding-agent-executor-python:latest
USER root
RUN apt-get update && apt-get install -y --no-install-recommends golang-go cargo-web bundler && rm -rf /var/lib/apt/lists/*
RUN python3 -m venv /opt/tools && /opt/tools/bin/pip install --no-cache-dir uv poetry pipenv \\
 && ln -s /opt/tools/bin/uv /opt/tools/bin/poetry /opt/tools/bin/pipenv /usr/local/bin/
USER agent
`;

const SIX = [
  "sha256:4721f391ed90541fddacab5acf947aa0d3dc7d27b2e1e8eda2be8970586c3274",
  "sha256:ff70335d468e7eb6ec65b95b99d3a2836546063f63acc5171de367e834932a81",
] as const;
const ISARRAY =
  "sha512-xHjhDr3cNBK0BzdUJSPXZntQUx/mwMS5Rw4A7lPJ90XGAO6ISP/ePDNuo0vhqOZU+UD5JoodwCAAoZQd3FeAKw==";
const PACKAGE = JSON.stringify({ name: "sample", version: "1.0.0", dependencies: { isarray: "2.0.5" } });
const USE_ISARRAY = `node -p "require('isarray')([])"`;
const USE_SIX = "python -c 'import six; print(six.__version__)'";

const UV_PROJECT =
  '[project]\nname = "sample"\nversion = "1.0.0"\nrequires-python = ">=3.9"\ndependencies = ["six==1.17.0"]\n';

const nightly = process.env.PICOCLAW_TEST_NIGHTLY === "1" || process.env.TEST_NIGHTLY === "1";
const canRun = nightly && requirePart("docker") && requirePart("environment-images");
if (canRun && docker("images", "-q", TOOLS) === "") build();
/** The tools' own output and files, for lock files that name an index. */
const inTools = (script: string) => (canRun ? docker("run", "--rm", TOOLS, "sh", "-c", script) : "");
const INDEX = inTools("python -c 'from pip._internal.models.index import PyPI; print(PyPI.simple_url)'");
const UV_LOCK = inTools(
  `mkdir /tmp/x && cd /tmp/x && printf %s '${UV_PROJECT}' >pyproject.toml && uv lock -q && cat uv.lock`,
);

/** Where the tools download from, as they say themselves. A mirror of this network is private, and needs an exact entry. */
const SOURCES = [
  INDEX,
  ...(UV_LOCK.match(/https:\/\/[^/"]+/g) ?? []),
  ...inTools("go env GOPROXY").split(","),
  ...(canRun ? ["npm", "yarn"] : []).map((tool) =>
    docker("run", "--rm", "coding-agent-executor-node:latest", tool, "config", "get", "registry"),
  ),
  "https://index.crates.io",
  "https://static.crates.io",
];
const allowedHosts = [
  ...new Set(SOURCES.filter((url) => URL.canParse(url)).map((url) => `${new URL(url).host}:443`)),
];

interface Row {
  readonly environment: "node" | "python" | "tools";
  readonly files: Readonly<Record<string, string>>;
  readonly runs: string;
  readonly use: string;
  readonly says: string;
}

const ROWS: Readonly<Record<string, Row>> = {
  npm: {
    environment: "node",
    files: {
      "package.json": PACKAGE,
      "package-lock.json": JSON.stringify({
        name: "sample",
        version: "1.0.0",
        lockfileVersion: 3,
        requires: true,
        packages: {
          "": { name: "sample", version: "1.0.0", dependencies: { isarray: "2.0.5" } },
          "node_modules/isarray": { version: "2.0.5", integrity: ISARRAY },
        },
      }),
    },
    runs: "npm ci",
    use: USE_ISARRAY,
    says: "true",
  },
  pnpm: {
    environment: "node",
    files: {
      "package.json": PACKAGE,
      "pnpm-lock.yaml": `lockfileVersion: '9.0'
settings:
  autoInstallPeers: true
  excludeLinksFromLockfile: false
importers:
  .:
    dependencies:
      isarray:
        specifier: 2.0.5
        version: 2.0.5
packages:
  isarray@2.0.5:
    resolution: {integrity: ${ISARRAY}}
snapshots:
  isarray@2.0.5: {}
`,
    },
    runs: "pnpm install --frozen-lockfile",
    use: USE_ISARRAY,
    says: "true",
  },
  yarn: {
    environment: "node",
    files: {
      "package.json": PACKAGE,
      "yarn.lock": `# yarn lockfile v1\n\n\nisarray@2.0.5:\n  version "2.0.5"\n  integrity ${ISARRAY}\n`,
    },
    runs: "yarn install --frozen-lockfile",
    use: USE_ISARRAY,
    says: "true",
  },
  pip: {
    environment: "python",
    files: { "requirements.txt": "six==1.17.0\n" },
    runs: "pip install",
    use: USE_SIX,
    says: "1.17.0",
  },
  uv: {
    environment: "tools",
    files: {
      "pyproject.toml": UV_PROJECT,
      "uv.lock": UV_LOCK,
    },
    runs: "uv sync --frozen",
    use: "uv run --frozen python -c 'import six; print(six.__version__)'",
    says: "1.17.0",
  },
  poetry: {
    environment: "tools",
    files: {
      "pyproject.toml": `[tool.poetry]
name = "sample"
version = "1.0.0"
description = ""
authors = []
package-mode = false

[tool.poetry.dependencies]
python = ">=3.9"
six = "1.17.0"

[[tool.poetry.source]]
name = "simple"
url = "${INDEX}/"
priority = "primary"
`,
      "poetry.lock": `[[package]]
name = "six"
version = "1.17.0"
description = "Python 2 and 3 compatibility utilities"
optional = false
python-versions = ">=2.7, !=3.0.*, !=3.1.*, !=3.2.*"
groups = ["main"]
files = [
    {file = "six-1.17.0-py2.py3-none-any.whl", hash = "${SIX[0]}"},
    {file = "six-1.17.0.tar.gz", hash = "${SIX[1]}"},
]

[package.source]
type = "legacy"
url = "${INDEX}"
reference = "simple"

[metadata]
lock-version = "2.1"
python-versions = ">=3.9"
content-hash = "100e3cf5c691f66052c8f142f69667783339492ef65eb67bada1532bcd32c329"
`,
    },
    runs: "poetry install",
    use: "poetry run python -c 'import six; print(six.__version__)'",
    says: "1.17.0",
  },
  pipenv: {
    environment: "tools",
    files: {
      Pipfile: `[[source]]\nurl = "${INDEX}"\nverify_ssl = true\nname = "pypi"\n\n[packages]\nsix = "==1.17.0"\n`,
      "Pipfile.lock": JSON.stringify({
        _meta: {
          hash: { sha256: "84c2e21771457e7e60048cd7d81874d5f8210db4c93d03494250d6e942ed338c" },
          "pipfile-spec": 6,
          requires: {},
          sources: [{ name: "pypi", url: INDEX, verify_ssl: true }],
        },
        default: { six: { hashes: SIX, index: "pypi", version: "==1.17.0" } },
        develop: {},
      }),
    },
    runs: "pipenv sync",
    use: "pipenv run python -c 'import six; print(six.__version__)'",
    says: "1.17.0",
  },
  go: {
    environment: "tools",
    files: {
      "go.mod": "module sample\n\ngo 1.19\n\nrequire github.com/google/uuid v1.6.0\n",
      "go.sum":
        "github.com/google/uuid v1.6.0 h1:NIvaJDMOsjHA8n1jAhLSgzrAzy1Hgr+hNrb57e+94F0=\ngithub.com/google/uuid v1.6.0/go.mod h1:TIyPZe4MgqvfeYDBFedMoGGpEw/LqOeaOT+nhxU+yHo=\n",
      "main.go":
        'package main\n\nimport (\n\t"fmt"\n\n\t"github.com/google/uuid"\n)\n\nfunc main() { fmt.Println(len(uuid.NewString())) }\n',
    },
    runs: "go mod download",
    use: "GOPROXY=off go run .",
    says: "36",
  },
  cargo: {
    environment: "tools",
    files: {
      "Cargo.toml":
        '[package]\nname = "sample"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\nitoa = "=1.0.11"\n',
      "src/main.rs": 'fn main() { println!("{}", itoa::Buffer::new().format(36)); }\n',
    },
    runs: "cargo fetch",
    use: "cargo run --offline --quiet",
    says: "36",
  },
  // No index of gems can be counted on: a gem beside the project replaces one.
  bundle: {
    environment: "tools",
    files: {
      Gemfile: 'gem "sample", path: "gem"\n',
      "gem/sample.gemspec":
        'Gem::Specification.new { |s| s.name = "sample"; s.version = "1.0.0"; s.summary = "x"; s.authors = ["x"]; s.files = ["lib/sample.rb"] }\n',
      "gem/lib/sample.rb": "SAMPLE = 36\n",
    },
    runs: "bundle install",
    use: "bundle exec ruby -e 'require \"sample\"; puts SAMPLE'",
    says: "36",
  },
};

describe.if(canRun)("the table of dependencies", () => {
  let kit: EnvironmentKit;
  let environments: OpenEnvironments;
  beforeAll(async () => {
    kit = createEnvironmentKit();
    environments = await kit.open(
      executor({ environments: { tools: TOOLS }, docker: { network: { allowed_hosts: allowedHosts } } }),
    );
  }, 900_000);
  afterAll(() => kit?.end());
  afterEach(() => kit.clear());

  for (const [name, { environment, files, runs, use, says }] of Object.entries(ROWS))
    test(`${name}: ${runs}`, async () => {
      const uuid = randomUUID();
      const { manager } = environments;
      const prepared = await manager.tryPrepare({ uuid, repository: kit.repository(files) }, environment);
      if (!prepared.ok) throw new Error(JSON.stringify(prepared));
      const { installed, notices, container } = prepared;
      const ran = await manager.executeIn(container, use, null, { byHand: true });
      await manager.cleanup(uuid);
      expect({ notices, installed }).toMatchObject({
        installed: [{ success: true, command: expect.stringContaining(runs) }],
      });
      expect(ran).toMatchObject({ exit_code: 0, stdout: expect.stringContaining(says) });
    }, 300_000);
});

function build(): void {
  const { status, stderr } = spawnSync("docker", ["build", "-q", "-t", TOOLS, "-"], {
    input: DOCKERFILE,
    encoding: "utf8",
    env: { PATH: process.env.PATH ?? "", HOME: process.env.HOME ?? "/", DOCKER_HOST },
    timeout: 900_000,
  });
  if (status !== 0) throw new Error(stderr);
}
