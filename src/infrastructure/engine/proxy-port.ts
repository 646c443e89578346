/** Where programs in a sandbox find the proxy. The loopback is the sandbox's own, so the port is free. */
export const PROXY_PORT = 3128;
