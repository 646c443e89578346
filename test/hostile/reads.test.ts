import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findHomeSecrets } from "../../src/infrastructure/sandbox/home-lists.ts";
import { userHomes } from "../../src/infrastructure/sandbox/homes-inside.ts";
import { create } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { backwards, CONFINE_OFF, createTarget, type Target } from "./hostile-kit.ts";

const SECRET = "do-not-read-me-7f3a";

/** Paths below the home. */
const HOME_SECRETS = [
  ".ssh/id_ed25519",
  ".aws/credentials",
  ".config/gh/hosts.yml",
  ".config/gcloud/credentials.db",
  ".config/google-chrome/Default/Cookies",
  ".mozilla/firefox/x/logins.json",
  ".gnupg/private-keys-v1.d/k.key",
  ".docker/config.json",
  ".kube/config",
  ".netrc",
  ".git-credentials",
  ".pypirc",
  ".bash_history",
  ".local/share/keyrings/login.keyring",
  ".cargo/credentials.toml",
  ".claude/.credentials.json",
] as const;

let target: Target;
let elsewhere: string;

describe.if(process.platform === "linux" && requirePart("bwrap"))("a job's command does not read", () => {
  const read = (path: string, env = {}) => target.try(`rev < '${path}'; true`, { env }).said;
  const inTheClear = { ...CONFINE_OFF };

  beforeAll(() => {
    target = createTarget();
    elsewhere = mkdtempSync(join(tmpdir(), "picoclaw-elsewhere-"));
    writeFileSync(join(elsewhere, "file"), `${SECRET}\n`);
    for (const path of HOME_SECRETS) target.put(join(target.user, path), `${SECRET}\n`);
    target.put(join(target.user, ".npmrc"), `//registry/:_authToken=${SECRET}\n`);
    target.put(join(target.user, ".gitconfig"), "[user]\n\tname = me\n");
    target.put(join(target.user, "dotfiles/ssh/id"), `${SECRET}\n`);
    target.put(join(target.home, "config.yaml"), `log: { level: info }\n# ${SECRET}\n`);
  });
  afterAll(() => {
    target.remove();
    rmSync(elsewhere, { recursive: true });
  });

  test("secrets of the home, while settings of tools stay readable", () => {
    const lines = HOME_SECRETS.map((path) => `rev < ~/${path}`);
    for (const { success, said } of target.attempt(lines)) {
      expect(success).toBe(false);
      expect(said).not.toContain(backwards(SECRET));
    }
    expect(target.try("rev < ~/.npmrc; true").said).not.toContain(backwards(SECRET));
    expect(target.try("cat ~/.gitconfig").said).toContain("name = me");
    const open = target.attempt(lines, { env: inTheClear });
    expect(open.filter(({ said }) => said.includes(backwards(SECRET)))).toHaveLength(lines.length);
  });

  test("a secret that came after the first job, or that a link leads to", () => {
    target.put(join(target.user, ".azure/token"), `${SECRET}\n`);
    expect(read(join(target.user, ".azure/token"))).not.toContain(backwards(SECRET));
    target.put(join(target.user, "dotfiles/kube/config"), `${SECRET}\n`);
    Bun.spawnSync(["ln", "-s", "dotfiles/kube", join(target.user, ".oci")]);
    for (const path of [".oci/config", "dotfiles/kube/config"])
      expect(read(join(target.user, path))).not.toContain(backwards(SECRET));
  });

  test("secrets of the user's real home when HOME names another folder", () => {
    const accounts = `other:x:7:7::${target.folder}:/bin/sh\nme:x:8:8::${target.user}:/bin/sh\n`;
    expect(userHomes(target.outside, 8, accounts)).toEqual([target.outside, target.user]);
    expect(userHomes(target.user, 8, accounts)).toEqual([target.user]);
    expect(userHomes("/", 9, accounts)).toEqual([]);
    expect(findHomeSecrets(target.user)).toContain(join(target.user, ".ssh"));
  });

  test("PicoClaw's home, and what other jobs have staged", () => {
    const staged = target.apply([create("secret.txt", `${SECRET}\n`)], ["--preview"]);
    expect(staged.code).toBe(0);
    const look = `find ${target.home} ${target.folder} -type f ! -path '${target.user}/*' 2>/dev/null | xargs rev`;
    expect(target.try(look).said).not.toContain(backwards(SECRET));
    expect(target.try(look, { env: inTheClear }).said).toContain(backwards(SECRET));
  });

  test("temporary files of the host", () => {
    expect(read(join(elsewhere, "file"))).not.toContain(backwards(SECRET));
    expect(read(join(elsewhere, "file"), inTheClear)).toContain(backwards(SECRET));
    expect(target.try("ls -A /run /var/tmp").said).not.toContain("docker.sock");
  });

  test("variables that look like secrets, unless the user names them", () => {
    const env = { DEPLOY_TOKEN: SECRET, GITHUB_PERSONAL_ACCESS_TOKEN: SECRET, SSH_AUTH_SOCK: "/x/agent" };
    const all = "{ env; cat /proc/*/environ; } 2>/dev/null | tr '\\0' '\\n' | rev";
    const said = target.try(all, { env }).said;
    expect(said).not.toContain(backwards(SECRET));
    expect(said).not.toContain(backwards("SSH_AUTH_SOCK"));
    expect(said).not.toContain(backwards("PICOCLAW_HOME"));
    const named = { ...env, PICOCLAW_WORKER_ENV_PASS: "DEPLOY_TOKEN" };
    expect(target.try("printenv DEPLOY_TOKEN | rev", { env: named }).said).toContain(backwards(SECRET));
  });

  test("secrets of a home that lies in the workspace, and keeps them through apply and undo", () => {
    const env = { HOME: join(target.workspace, "me") };
    target.write("me/.ssh/id", `${SECRET}\n`);
    target.write("me/.netrc", `${SECRET}\n`);
    // The runtime of the program itself keeps a cache in the home.
    const tree = () =>
      Object.fromEntries(Object.entries(target.tree()).filter(([path]) => !path.startsWith("me/.bun/")));
    const before = tree();
    const { said } = target.try("rev < ~/.ssh/id; rev < ~/.netrc; echo x > made; true", { env });
    expect(said).not.toContain(backwards(SECRET));
    expect(tree()).toEqual({ ...before, made: "x\n" });
    expect(target.run(["undo"], { env }).code).toBe(0);
    expect(tree()).toEqual(before);
  });
});
