import { describe, expect, test } from "bun:test";
import {
  canReachRemote,
  cloneFailure,
  networkToClone,
} from "../../../src/application/containers/clone-repository.ts";
import {
  type EnvironmentManagerDeps,
  ExecutionEnvironmentManager,
  executionResult,
} from "../../../src/application/containers/execution-environment-manager.ts";
import {
  type PrepareDeps,
  prepareEnvironment,
} from "../../../src/application/containers/prepare-environment.ts";
import type { ExecRequest, ExecResult, SandboxManager } from "../../../src/application/ports/containers.ts";
import {
  checkoutCommand,
  cloneCalls,
  gitEnvironment,
  isRefName,
} from "../../../src/domain/containers/clone-plan.ts";
import type { PrepareEvent, PrepareFailure } from "../../../src/domain/containers/preparation.ts";
import { quoteWords } from "../../../src/domain/platform/paths.ts";

const ENDED: ExecResult = {
  outcome: "exited",
  exitCode: 0,
  signal: null,
  stdout: "",
  stderr: "",
  truncatedBytes: 0,
  durationMs: 1,
  background: [],
};

type Answer = (command: string, request: ExecRequest) => Partial<ExecResult> | undefined;

/** A sandbox that answers commands as given; everything else succeeds. */
function fakeParts(answer: Answer, config: Partial<PrepareDeps["config"]> = {}) {
  const ran: string[] = [];
  const where: string[] = [];
  const containers = new Set<string>();
  const sandboxes = {
    async startContainer({ name }: { name: string }) {
      containers.add(name);
      return { ok: true, id: name, name, from: "cold", createdAt: "2026-01-01T00:00:00Z" };
    },
    async stopContainer(name: string) {
      containers.delete(name);
      return { removed: true, leftovers: [] };
    },
    async exec(container: string, request: ExecRequest) {
      const command = String(request.command);
      ran.push(command);
      where.push(container);
      if (request.signal?.aborted) return { ...ENDED, outcome: "aborted", exitCode: null };
      return { ...ENDED, ...answer(command, request) };
    },
  } as unknown as SandboxManager;
  const deps: PrepareDeps = {
    sandboxes,
    addressesOf: async () => [],
    images: {
      sha256: () => "hash",
      npmRegistry: async () => null,
      recipes: { filesOf: () => null, certificates: () => [], project: () => "none" },
      images: {
        inspect: async () => ({ id: "id", labels: { "picoclaw.image-recipe": "x" } }),
        pull: async () => ({ ok: true }),
        build: async () => ({ ok: true }),
        tag: async () => {},
        importArchive: async () => ({ ok: true }),
      },
    },
    local: {
      look: async () => ({ ok: false, code: "missing", message: "no such folder" }),
      pack: async () => ({ ok: false, code: "failed", message: "" }),
    },
    config: {
      environments: { python: "p", node: "n", miniforge: "m" },
      defaultEnvironment: "python",
      baseImage: "base:latest",
      limits: { cpus: 1, memoryBytes: 1, pids: 1, diskBytes: 1 },
      network: { mode: "open", allowedHosts: [] },
      mountDockerSocket: false,
      cloneTimeoutMs: 5000,
      installTimeoutMs: 5000,
      autoInstall: true,
      insecureHosts: ["self.example"],
      indexes: {},
      ...config,
    },
    newId: () => "id",
    mask: (text) => text,
    clock: () => performance.now(),
  };
  return { parts: deps, ran, where, containers };
}

const REMOTE = {
  kind: "remote",
  url: "https://self.example/o/r.git",
  protocol: "https",
  host: "self.example",
} as const;

const prepare = (deps: PrepareDeps, more: object = {}) => {
  const events: PrepareEvent[] = [];
  const outcome = prepareEnvironment(deps, {
    taskUuid: "t",
    source: REMOTE,
    credential: { username: "u", password: "the-secret-word" },
    range: { depth: 1 },
    lease: "process",
    signal: new AbortController().signal,
    onEvent: (event) => events.push(event),
    ...more,
  });
  return { outcome, events };
};

const listing = (...files: readonly string[]) => ({ stdout: files.map((file) => `${file}\0`).join("") });

describe("preparing", () => {
  test("the credential is passed by standard input alone, and is gone before files are laid out", async () => {
    const inputs: unknown[] = [];
    const { parts: deps, ran } = fakeParts((command, { stdin, env }) => {
      inputs.push(stdin);
      expect(command + JSON.stringify(env ?? {})).not.toContain("the-secret-word");
      return command.includes("grep -rqF") ? { exitCode: 1 } : undefined;
    });
    const prepared = await prepare(deps, { environmentName: "python" }).outcome;
    expect(prepared).toMatchObject({ ok: true, notices: [{ code: "insecure-host", host: "self.example" }] });
    expect(inputs.filter((input) => String(input).includes("the-secret-word"))).toHaveLength(2);
    const at = (part: string) => ran.findIndex((command) => command.includes(part));
    expect(at("cat > /dev/shm")).toBeLessThan(at("git clone"));
    expect(at("rm -f /dev/shm/picoclaw-credential")).toBeLessThan(at("reset --quiet --hard"));
  });

  test("a clone that kept the credential is refused as an environment", async () => {
    const { parts: deps, containers } = fakeParts(() => undefined);
    expect(await prepare(deps, { environmentName: "python" }).outcome).toMatchObject({
      ok: false,
      code: "credential-kept",
    });
    expect([...containers]).toEqual([]);
  });

  test("files that call for another environment get a container of it, and the clone again", async () => {
    const {
      parts: deps,
      ran,
      containers,
    } = fakeParts((command) => (command.includes("ls-files") ? listing("package.json", "a.js") : undefined));
    const { outcome, events } = prepare(deps, { credential: null });
    expect(await outcome).toMatchObject({
      ok: true,
      container: { environment_name: "node" },
      installed: [{ file: "package.json", success: true }],
    });
    expect(ran.filter((command) => command.startsWith("git clone"))).toHaveLength(2);
    expect([...containers]).toEqual(["coding-agent-exec-t"]);
    expect(events).toContainEqual({
      type: "notice",
      notice: { code: "detected", environment: "node", because: "package.json" },
    });
  });

  test("without a network the clone is made by another container, which is gone afterwards", async () => {
    const {
      parts: deps,
      ran,
      where,
      containers,
    } = fakeParts(
      (command, { onBytes }) => {
        if (command.includes("wc -c")) return { stdout: "7" };
        if (command.startsWith("tail")) onBytes?.("stdout", Buffer.from("archive"));
        return command.includes("grep -rqF") ? { exitCode: 1 } : undefined;
      },
      { network: { mode: "none" } },
    );
    expect(await prepare(deps, { environmentName: "python" }).outcome).toMatchObject({ ok: true });
    const at = (part: string) => where[ran.findIndex((command) => command.includes(part))];
    expect([at("git clone"), at("cat > /dev/shm"), at("cat >> /workspace")]).toEqual([
      "coding-agent-exec-clone-id",
      "coding-agent-exec-clone-id",
      "coding-agent-exec-t",
    ]);
    expect([...containers]).toEqual(["coding-agent-exec-t"]);
  });

  test("a host that the list of domains allows is cloned from by the task itself, another one is not", () => {
    const list = { mode: "allow-list", allowedDomains: ["*.example"], allowedHosts: [] } as const;
    expect(canReachRemote(list, REMOTE)).toBe(true);
    expect(canReachRemote({ ...list, allowedDomains: ["other.example"] }, REMOTE)).toBe(false);
    expect(canReachRemote({ mode: "open", allowedHosts: [] }, REMOTE)).toBe(true);
    expect(networkToClone({ mode: "none" }, REMOTE)).toEqual({
      mode: "allow-list",
      allowedDomains: ["self.example"],
      allowedHosts: [],
    });
    const other = { ...REMOTE, host: "self.example:8443" };
    expect(networkToClone(list, other)).toMatchObject({ allowedDomains: ["self.example:*"] });
  });

  test("a failed installation is retried the other way and reported, and does not end the preparation", async () => {
    const { parts: deps, ran } = fakeParts((command) => {
      if (command.includes("ls-files")) return listing("package.json", "package-lock.json", "Gemfile");
      if (command.startsWith("npm")) return { exitCode: 1, stderr: "npm error the reason" };
      return command === "command -v bundle" ? { exitCode: 1 } : undefined;
    });
    const prepared = await prepare(deps, { environmentName: "node", credential: null }).outcome;
    expect(ran.filter((command) => command.startsWith("npm "))).toHaveLength(2);
    expect(prepared).toMatchObject({
      ok: true,
      installed: [{ success: false }, { success: false, file: "Gemfile" }],
    });
    if (prepared.ok)
      expect(prepared.notices.slice(1)).toMatchObject([
        { code: "install-failed", why: { kind: "exit", exitCode: 1 }, output: "npm error the reason" },
        { code: "program-missing", program: "bundle", file: "Gemfile" },
      ]);
  });

  test("one package that cannot be fetched does not keep the others from being installed", async () => {
    const manifest = JSON.stringify({
      devDependencies: { tape: "^5.0.0", alone: "git+ssh://git@github.com/nobody/alone.git", gone: "1.0.0" },
    });
    const { parts: deps, ran } = fakeParts((command) => {
      if (command.includes("ls-files")) return listing("package.json");
      if (command === "cat package.json") return { stdout: manifest };
      if (command.startsWith("npm "))
        return {
          exitCode: 1,
          stderr: "npm error command git ls-remote ssh://git@github.com/nobody/alone.git",
        };
      if (command.includes("alone gone && npm")) return undefined;
      if (command.includes("alone && npm"))
        return { exitCode: 1, stderr: "npm error 404 Not Found - GET https://registry.example.org/gone" };
      return undefined;
    });
    const prepared = await prepare(deps, { environmentName: "node", credential: null }).outcome;
    expect(prepared).toMatchObject({ installed: [{ success: false }] });
    expect(prepared.ok && prepared.notices.at(-1)).toMatchObject({ leftOut: ["alone", "gone"] });
    // The manifest is put back after each attempt.
    const after = ran.slice(ran.findIndex((command) => command.includes("&& npm")));
    expect(after.map((command) => (command.includes("mv ") ? "back" : "npm")).slice(0, 4)).toEqual([
      "npm",
      "back",
      "npm",
      "back",
    ]);
  });

  test("requirements are installed one by one where they cannot be installed together", async () => {
    const { parts: deps, ran } = fakeParts((command) => {
      if (command.includes("ls-files")) return listing("requirements.txt");
      if (command === "cat ./requirements.txt") return { stdout: "six==1.16.0\nnowhere>=9 # why\n-e .\n" };
      if (command.startsWith("pip")) return { exitCode: 1, stderr: "No matching distribution found" };
      return command.startsWith("for one in") ? { stdout: "…\npicoclaw: left out: nowhere>=9\n" } : undefined;
    });
    const prepared = await prepare(deps, { environmentName: "python", credential: null }).outcome;
    expect(ran.find((command) => command.startsWith("for one in"))).toContain("six==1.16.0 'nowhere>=9';");
    expect(prepared.ok && prepared.notices.at(-1)).toMatchObject({ leftOut: ["nowhere"] });
  });

  test("a default environment without an image of its own uses the base image", async () => {
    const { parts: deps } = fakeParts(() => undefined, { defaultEnvironment: "mine" });
    expect(await prepare(deps, { credential: null }).outcome).toMatchObject({
      ok: true,
      container: { environment_name: "mine" },
      image: "base:latest",
    });
  });

  test("an error inside leaves no container, even if it is a bug", async () => {
    const { parts: deps, containers } = fakeParts((command) => {
      if (command.includes("ls-files")) throw new Error("a bug");
      return undefined;
    });
    await expect(prepare(deps, { credential: null }).outcome).rejects.toThrow("a bug");
    expect([...containers]).toEqual([]);
  });

  test("a missing folder, a bad branch and a protocol that cannot be reached are reported before anything starts", async () => {
    const { parts: deps, ran } = fakeParts(() => undefined);
    const local = { source: { kind: "local", path: "/x" }, credential: null };
    expect(await prepare(deps, local).outcome).toMatchObject({ code: "repository-missing" });
    expect(await prepare(deps, { range: { depth: 1, ref: "-x" } }).outcome).toMatchObject({
      code: "bad-input",
    });
    const ssh = { source: { ...REMOTE, protocol: "ssh" } };
    expect(await prepare(deps, ssh).outcome).toMatchObject({ code: "bad-input", remedy: "use-https" });
    expect(ran).toEqual([]);
  });
});

describe("what git says", () => {
  const cases: readonly [said: string, code: string][] = [
    ["fatal: repository 'https://h/x/' not found", "repository-missing"],
    ["remote: Repository not found.", "repository-missing"],
    ["fatal: Authentication failed for 'https://h/x/'", "repository-denied"],
    ["fatal: could not read Username for 'https://h': terminal prompts disabled", "repository-denied"],
    ["The requested URL returned error: 403", "repository-denied"],
    [
      "warning: Could not find remote branch x\nfatal: Remote branch x not found in upstream origin",
      "ref-missing",
    ],
    ["fatal: couldn't find remote ref refs/pull/9/head", "ref-missing"],
    ["fatal: unable to access: Could not resolve host: h", "host-unreachable"],
    ["CONNECT tunnel failed, response 403", "host-unreachable"],
    [
      "remote: picoclaw: h:443 is not allowed\nfatal: The requested URL returned error: 403",
      "host-unreachable",
    ],
    ["error: file write error: No space left on device", "disk-full"],
    ["fatal: something new", "clone-failed"],
  ];
  test.each(cases)("%j is %s", (stderr, code) => {
    const result = { ...ENDED, exitCode: 128, stderr };
    expect(cloneFailure({ mask: (text) => text, timeoutMs: 1000 }, result, REMOTE).code).toBe(code as never);
  });

  test("and what the engine says", () => {
    const of = (part: Partial<ExecResult>) =>
      cloneFailure({ mask: (text) => text, timeoutMs: 2000 }, { ...ENDED, exitCode: null, ...part }, REMOTE);
    expect(of({ outcome: "timed-out" })).toMatchObject({ code: "clone-timeout", detail: "2 s" });
    expect(of({ outcome: "aborted" }).code).toBe("aborted");
    expect(of({ outcome: "disconnected" }).code).toBe("engine");
    expect(of({ limit: { kind: "disk", limitBytes: 1 } }).code).toBe("disk-full");
  });
});

test("git is called with quoted words, bound settings and no option from outside", () => {
  expect(quoteWords(["a b", "it's", "$x", "plain/1.0"])).toBe("'a b' 'it'\\''s' '$x' plain/1.0");
  const range = { depth: 1, ref: "feature/x", target: "main" };
  const calls = cloneCalls(REMOTE.url, "/workspace/project", range, "--progress");
  expect(calls.map((words) => quoteWords(["git", ...words]))).toEqual([
    "git clone --quiet --progress --no-checkout --depth=1 --single-branch --branch feature/x -- https://self.example/o/r.git /workspace/project",
    "git -C /workspace/project fetch --quiet --progress --depth=1 origin +refs/heads/main:refs/remotes/origin/main",
  ]);
  expect(checkoutCommand({ depth: 1, ref: "refs/pull/5/head" })).toBe(
    "git -C /workspace/project checkout --quiet -B pull/5/head refs/picoclaw/source",
  );
  const env = gitEnvironment(REMOTE, { credential: true, insecure: false });
  expect(Object.values(env)).toContain("credential.https://self.example.helper");
  expect(Object.values(env).some((value) => value.includes("sslVerify"))).toBe(false);
  for (const name of ["main", "feature/x", "refs/pull/5/head", "v1.0", "日本"])
    expect([name, isRefName(name)]).toEqual([name, true]);
  for (const name of ["", "-x", "a..b", "a b", "a~1", "x.lock", "/a", "a/", "a@{1}", ".a", "a\\b"])
    expect([name, isRefName(name)]).toEqual([name, false]);
});

test("results have the public shape and words", () => {
  const of = (part: Partial<ExecResult>) => executionResult({ ...ENDED, ...part }, 30);
  expect(of({ stdout: "o", durationMs: 12.6 })).toEqual({
    exit_code: 0,
    stdout: "o",
    stderr: "",
    duration_ms: 13,
  });
  expect(of({ outcome: "timed-out", exitCode: null, stderr: "so far" })).toMatchObject({
    exit_code: -1,
    stderr: "so far\nCommand timeout after 30 seconds",
  });
  const failure = {
    ok: false,
    code: "container-missing",
    actor: "user",
    retryable: false,
    detail: "gone",
  } as const;
  expect(of({ outcome: "disconnected", exitCode: null, failure })).toMatchObject({
    exit_code: -1,
    stderr: "Command execution error: gone",
  });
  expect(of({ outcome: "aborted", exitCode: null }).stderr).toBe("Command execution error: aborted");
  const limits = [
    { kind: "memory", limitBytes: 4 * 1024 ** 3 },
    { kind: "disk", limitBytes: 1.5 * 1024 ** 3 },
    { kind: "processes", limit: 512 },
  ] as const;
  expect(limits.map((limit) => of({ outcome: "signaled", exitCode: 137, limit }).stderr)).toEqual([
    "out of memory (limit 4g)",
    "out of disk space (limit 1.5g)",
    "too many processes (limit 512)",
  ]);
});

test("an option of a program that is undefined is one that is absent", async () => {
  const asked: object[] = [];
  const failed: PrepareFailure = { ok: false, code: "engine", subject: "", detail: "" };
  const manager = new ExecutionEnvironmentManager({
    config: { shallow: false },
    defaultEnvironment: "base",
    credentialFor: () => null,
    records: { read: () => null, save: () => {}, remove: () => {}, list: () => [] },
    openPreparation: async () => async (request: object) => {
      asked.push(request);
      return failed;
    },
  } as unknown as EnvironmentManagerDeps);
  const options = { signal: undefined, lease: undefined } as object;
  await manager.tryPrepare({ uuid: "a", repository: "/a" }, null, options);
  expect(asked).toMatchObject([{ lease: "process", signal: { aborted: false } }]);
});
