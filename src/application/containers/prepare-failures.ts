import type { PrepareFailure } from "../../domain/containers/prepare-event.ts";
import type { Credential } from "../../domain/containers/clone-plan.ts";
import type { SandboxFailure } from "../ports/containers.ts";
import { isRefName } from "../../domain/containers/environments-clone-plan.ts";
import type { PrepareRequest } from "./prepare-request.ts";

/** What is wrong with a request before anything starts. */
export function badRequestFailure({ range, source }: PrepareRequest): PrepareFailure | null {
  for (const name of [range.ref, range.target])
    if (name !== undefined && !isRefName(name))
      return {
        ok: false,
        code: "bad-input",
        subject: name,
        detail: "not a branch name",
        remedy: "check-name",
      };
  if (source.kind === "remote" && (source.protocol === "ssh" || source.protocol === "git"))
    return {
      ok: false,
      code: "bad-input",
      subject: source.url,
      detail: `${source.protocol} cannot leave an environment`,
      remedy: "use-https",
    };
  return null;
}

/** A credential that came with an address is known to nobody else. */
export function maskCredential(
  mask: (text: string) => string,
  credential: Credential | null,
): (text: string) => string {
  if (credential === null || credential.password === "") return mask;
  const { password } = credential;
  return (text) => mask(text).replaceAll(password, "***").replaceAll(encodeURIComponent(password), "***");
}

export function abortedFailure({ taskUuid }: PrepareRequest): PrepareFailure {
  return { ok: false, code: "aborted", subject: taskUuid, detail: "" };
}

export function enginePrepareFailure(
  failure: SandboxFailure,
  mask: (text: string) => string,
): PrepareFailure {
  const { code, detail } = failure;
  if (code === "aborted") return { ok: false, code: "aborted", subject: "", detail: "" };
  const remedy = code === "engine-unreachable" ? ({ remedy: "start-docker" } as const) : {};
  return { ok: false, code: "engine", subject: code, detail: mask(detail), ...remedy };
}
