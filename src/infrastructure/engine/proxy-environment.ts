/**
 * What programs must be told to go through a proxy, each in its own way. Their own loopback is theirs: in a sandbox
 * or a container nobody else is there.
 */
export function proxyEnvironment(url: string): Record<string, string> {
  const env: Record<string, string> = { NODE_USE_ENV_PROXY: "1" };
  for (const name of ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"])
    for (const spelled of [name, name.toLowerCase()]) env[spelled] = url;
  for (const name of ["NO_PROXY", "no_proxy"]) env[name] = "localhost,127.0.0.1,::1";
  return env;
}
