import { attemptOr } from "../platform/error-text.ts";
/** Where models are sold; a host below one of these is one of these. */
import CLOUD_HOSTS from "./cloud-hosts.json" with { type: "json" };
/**
 * Whether what a model is sent stays with the user. A misconfiguration must not send it to a cloud either.
 * A `scripted` model sends nothing. Ollama is judged by its address. Any other server is local only when its
 * provider says `local: true`, and never at an address of a cloud.
 */
export type Locality = { readonly local: true } | { readonly local: false; readonly why: RemoteReason };

export type RemoteReason = "not-declared" | "cloud-host" | "public-host" | "cloud-model";

export interface Placement {
  readonly type: string;
  /** Null: the provider's own address. */
  readonly baseUrl: string | null;
  readonly model: string;
  /** The value in the configuration. */
  readonly declared: boolean;
}

export function localityOf({ type, baseUrl, model, declared }: Placement): Locality {
  if (type === "scripted") return { local: true };
  if (baseUrl === null) return { local: false, why: declared ? "cloud-host" : "not-declared" };
  const host = hostOf(baseUrl);
  if (CLOUD_HOSTS.some((cloud) => host === cloud || host.endsWith(`.${cloud}`)))
    return { local: false, why: "cloud-host" };
  if (type !== "ollama" && !declared) return { local: false, why: "not-declared" };
  // Ollama's OpenAI-compatible door leads to the same models.
  // Ollama passes models such as `gpt-oss:120b-cloud` on to its own cloud.
  if (/[:-]cloud$/i.test(model)) return { local: false, why: "cloud-model" };
  if (type !== "ollama") return { local: true };
  return declared || isPrivateHost(host) ? { local: true } : { local: false, why: "public-host" };
}

/** At that point URL has converted every spelling of an IPv4 address to the dotted one. */
function hostOf(url: string): string {
  return attemptOr("", () => new URL(url).hostname.toLowerCase().replace(/\.$/, ""));
}

const PRIVATE_NAMES = /(^|\.)(localhost|local|lan|home|internal|intranet|home\.arpa)$/;

function isPrivateHost(host: string): boolean {
  if (host === "") return false;
  if (host.startsWith("[")) return isPrivateV6(host.slice(1, -1));
  const v4 = /^(\d+)\.(\d+)\.\d+\.\d+$/.exec(host);
  if (v4 !== null) return isPrivateV4(Number(v4[1]), Number(v4[2]));
  return !host.includes(".") || PRIVATE_NAMES.test(host);
}

function isPrivateV4(first: number, second: number): boolean {
  if (first === 10 || first === 127 || first === 0) return true;
  if (first === 192) return second === 168;
  if (first === 172) return second >= 16 && second < 32;
  if (first === 169) return second === 254;
  return first === 100 && second >= 64 && second < 128;
}

function isPrivateV6(host: string): boolean {
  if (host === "::1" || host === "::") return true;
  const mapped = /^::ffff:([0-9a-f]+):[0-9a-f]+$/.exec(host);
  if (mapped !== null) {
    const high = Number.parseInt(mapped[1] ?? "0", 16);
    return isPrivateV4(high >> 8, high & 255);
  }
  return /^(f[cd]|fe[89ab])/.test(host);
}

/** `base/path`, whether or not the base ends in a slash. */
export function joinUrl(base: string, path: string): string {
  return `${base.replace(/\/+$/, "")}/${path}`;
}
