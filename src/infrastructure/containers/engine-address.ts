import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { EngineAddress, EngineTls } from "../platform/connections.ts";

/**
 * `unix:///path`, `tcp://host:port`, `https://host:port`; undefined for anything else. With a folder of certificates
 * (DOCKER_CERT_PATH) tcp speaks TLS; what the folder lacks is left to the other side to refuse.
 */
export function parseEngineAddress(host: string, certificates?: string): EngineAddress | undefined {
  if (host.startsWith("unix://")) {
    const path = host.slice("unix://".length);
    return path.startsWith("/") ? { kind: "unix", path } : undefined;
  }
  if (!/^(?:tcp|https?):\/\//.test(host)) return undefined;
  const text = host.replace(/^tcp:/, "http:");
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const secure = url.protocol === "https:" || certificates !== undefined;
  const port = Number(url.port) || (secure ? 2376 : 2375);
  const name = url.hostname.replace(/^\[(.*)\]$/, "$1");
  return {
    kind: "tcp",
    host: name,
    port,
    ...(secure && { tls: certificates === undefined ? {} : readCertificates(certificates) }),
  };
}

function readCertificates(folder: string): EngineTls {
  const read = (name: string) => {
    try {
      return readFileSync(join(folder, name), "utf8");
    } catch {
      return undefined;
    }
  };
  const [ca, cert, key] = [read("ca.pem"), read("cert.pem"), read("key.pem")];
  return { ...(ca && { ca }), ...(cert && { cert }), ...(key && { key }) };
}
