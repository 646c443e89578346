/** Asks a Docker engine for its version; rejects when it does not answer. `unix:///path` or `tcp://host:port`. */
export async function pingDocker(host: string, signal: AbortSignal): Promise<string> {
  const unix = /^unix:\/\/(.+)$/.exec(host)?.[1];
  const base = unix === undefined ? host.replace(/^tcp:/, "http:") : "http://docker";
  const response = await fetch(`${base}/version`, { signal, ...(unix !== undefined && { unix }) });
  const { Version } = (await response.json()) as { Version?: string };
  return Version ?? "?";
}
