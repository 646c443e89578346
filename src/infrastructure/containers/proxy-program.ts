import type { SandboxFailure } from "../../application/ports/containers.ts";
import { hashHex } from "../platform/hash.ts";
import { findInstallation } from "../platform/runtime-installation.ts";
import { readProxyFiles } from "../platform/installation.ts";
import { sandboxFailure } from "./failures.ts";
import type { ProxyProgram } from "./proxy-image.ts";

/** This installation's network proxy for a sidecar, read at the first question. */
export function createProxyProgram(): () => Promise<ProxyProgram | SandboxFailure> {
  return once(proxyProgram);
}

/** Asked again only after a failure. */
function once<T extends object>(make: () => Promise<T | SandboxFailure>): () => Promise<T | SandboxFailure> {
  const state: { made?: Promise<T | SandboxFailure> } = {};
  return async () => {
    state.made ??= make();
    const made = await state.made;
    if ("ok" in made) delete state.made;
    return made;
  };
}

async function proxyProgram(): Promise<ProxyProgram | SandboxFailure> {
  if (process.platform !== "linux")
    return sandboxFailure(
      "no-proxy",
      "the network proxy runs on this machine's own runtime, which is not for Linux",
    );
  const { folder, runtime, executor } = findInstallation();
  try {
    const files = await readProxyFiles({ folder, runtime, bundled: executor.startsWith("dist/") });
    const version = hashHex("sha256", `${process.versions.bun} ${process.arch}\n`, files.script).slice(0, 16);
    return {
      version,
      script: files.script,
      runtime: { size: files.runtimeSize, content: files.runtime },
    };
  } catch (error) {
    return sandboxFailure(
      "no-proxy",
      `the network proxy could not be made: ${(error as Error).message}`,
      error,
    );
  }
}
