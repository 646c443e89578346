import { classifyAddress, createNetworkPolicy, mayDial } from "../policy/network.ts";
import type { EnvironmentNotice } from "./environments.ts";

/** How containers fail, and who can do something about it. */
export const SANDBOX_FAILURES = {
  "engine-unreachable": "operator",
  "engine-forbidden": "operator",
  "engine-timeout": "operator",
  "engine-error": "operator",
  "bad-host": "user",
  "image-missing": "user",
  "name-taken": "user",
  "container-missing": "user",
  "container-stopped": "user",
  "no-resources": "operator",
  "no-proxy": "operator",
  "not-allowed": "user",
  "bad-spec": "user",
  outside: "model",
  "cwd-missing": "model",
  "program-missing": "model",
  disconnected: "operator",
  aborted: "user",
} as const;

/** The events of the preparation of an environment, as they happen. */
export type PrepareEvent =
  | { readonly type: "step"; readonly step: PrepareStep; readonly subject: string }
  /** Output of a running step; masked, whole lines. */
  | { readonly type: "output"; readonly text: string }
  | { readonly type: "notice"; readonly notice: PrepareNotice };

export type PrepareStep =
  | "choosing"
  | "pulling-image"
  | "building-image"
  | "deriving-image"
  | "removing-existing"
  | "creating"
  | "cloning"
  | "checking-out"
  | "fetching"
  | "installing"
  | "ready";

/** A deviation from the plan, though the environment exists. */
export type PrepareNotice =
  | EnvironmentNotice
  | { readonly code: "detected"; readonly environment: string; readonly because: string }
  | { readonly code: "uncommitted"; readonly count: number }
  | { readonly code: "no-common-commit"; readonly target: string }
  | { readonly code: "insecure-host"; readonly host: string }
  | {
      readonly code: "install-failed";
      readonly command: string;
      readonly why: InstallTrouble;
      readonly output: string;
      /** The rest was installed without these; null where nothing was. */
      readonly leftOut: readonly string[] | null;
    }
  | { readonly code: "program-missing"; readonly program: string; readonly file: string };

export type InstallTrouble =
  | { readonly kind: "exit"; readonly exitCode: number }
  | { readonly kind: "timeout"; readonly seconds: number }
  /** By our own rules, not by the program's own word. */
  | { readonly kind: "refused"; readonly hosts: readonly RefusedHost[] }
  | { readonly kind: "other"; readonly detail: string };

/** Why no environment was made. All its parts were removed. */
export interface PrepareFailure {
  readonly ok: false;
  readonly code:
    | "aborted"
    | "engine"
    | "image-missing"
    | "image-failed"
    | "repository-missing"
    | "repository-denied"
    | "ref-missing"
    | "not-a-repository"
    | "host-unreachable"
    | "clone-timeout"
    | "clone-failed"
    | "disk-full"
    | "credential-kept"
    | "bad-input";
  /** The part that failed, for the sentence. */
  readonly subject: string;
  /** The tool's own words, without secrets. */
  readonly detail: string;
  readonly remedy?:
    | undefined
    | "images-build"
    | "check-image"
    | "start-docker"
    | "check-token"
    | "allow-host"
    | "check-name"
    | "use-https"
    | "raise-limit";
}

export function badInputFailure(
  subject: string,
  detail: string,
  remedy: PrepareFailure["remedy"] = "check-name",
): PrepareFailure {
  return { ok: false, code: "bad-input", subject, detail, remedy };
}

const MOST_REFUSED = 5;
const MOST_NAMED = 10;

/** The addresses of a name, as the machine knows them; none where it knows none, or not soon. */
export type AddressesOf = (host: string) => Promise<readonly string[]>;

/** A host that the network's rules keep a command from, and the setting that would let it through. */
export interface RefusedHost {
  /** `host:port`. */
  readonly host: string;
  readonly key: "external_access" | "allowed_domains" | "allowed_hosts";
}

export function networkSettingKey({ key }: RefusedHost): string {
  return `command_executor.docker.network.${key}`;
}

/** Added to a command's output, which programs and models read, so in English only. */
export function refusedText(refused: readonly RefusedHost[]): string {
  const hosts = refused.map((one) => `${one.host} (the user can allow it: ${networkSettingKey(one)})`);
  return `picoclaw: this environment may not reach ${hosts.join(", ")}; the refusal is not the server's`;
}

/** How programs report that something between them and a host refused; npm calls our proxy's refusal its registry's 403. */
const NETWORK_TROUBLE =
  /\b403\b|forbidden|refused by picoclaw|tunnel|proxy|ENOTFOUND|EAI_AGAIN|ECONNREFUSED|could not resolve|name resolution|not reach/i;
const HOSTS =
  /\bhttps?:\/\/(?:[^\s/@'"]+@)?([a-z0-9.-]+\.[a-z0-9-]+|\[[0-9a-f:]+\])(?::(\d+))?|\bhost='([^']+)', port=(\d+)|\brefused by picoclaw: ([a-z0-9.-]+):(\d+)|(?:\bENOTFOUND|\bEAI_AGAIN|\bcould not resolve host:) ([a-z0-9.-]+\.[a-z0-9-]+)/gi;

/** Hosts that a failed command names and our rules refuse: it looks like the server's refusal. `allowed` is null without a network. */
export async function refusedHosts(
  failed: { readonly command: string; readonly output: string },
  allowed: readonly string[] | null,
  addressesOf: AddressesOf,
): Promise<readonly RefusedHost[]> {
  const { command, output } = failed;
  // `curl -s` says nothing at all.
  if (output.trim() !== "" && !NETWORK_TROUBLE.test(output)) return [];
  const { judgeHost } = createNetworkPolicy({ allowed: allowed ?? [], denied: [] });
  // curl names no host where its tunnel is refused: the command does.
  const named = [...hostsIn(`${output}\n${command}`)].slice(0, MOST_NAMED);
  const judged = await Promise.all(
    named.map(async ([name, { host, port }]): Promise<readonly RefusedHost[]> => {
      if (allowed === null) return [{ host: name, key: "external_access" }];
      const verdict = judgeHost({ host, port });
      if (!verdict.ok) return [{ host: name, key: isPrivate(host) ? "allowed_hosts" : "allowed_domains" }];
      // A name that is allowed may still lead to an address that is not.
      const addresses = await addressesOf(host);
      const isShut = addresses.length > 0 && !addresses.some((one) => mayDial(one, verdict.opens));
      return isShut ? [{ host: name, key: "allowed_hosts" }] : [];
    }),
  );
  return judged.flat().slice(0, MOST_REFUSED);
}

function isPrivate(host: string): boolean {
  const kind = classifyAddress(host);
  return kind !== undefined && kind !== "public";
}

function hostsIn(output: string): ReadonlyMap<string, { readonly host: string; readonly port: number }> {
  const found = new Map<string, { host: string; port: number }>();
  for (const [text, urlHost, urlPort, pipHost, pipPort, ourHost, ourPort, bare] of output.matchAll(HOSTS)) {
    const host = urlHost ?? pipHost ?? ourHost ?? bare ?? "";
    const port = Number(urlPort ?? pipPort ?? ourPort ?? (/^http:/i.test(text) ? 80 : 443));
    // The environment's own loopback is never refused.
    if (!/^(?:127\.|0\.0\.0\.0$|\[::1?\]$)/.test(host))
      found.set(`${host.toLowerCase()}:${port}`, { host, port });
  }
  return found;
}
