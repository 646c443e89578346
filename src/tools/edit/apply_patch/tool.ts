import { createHash } from "node:crypto";
import { z } from "zod";
import { createSecureTool } from "../../create-secure-tool.ts";
import type { ResolvedPath } from "../../resolved-path.ts";
import type { RunProgram } from "../../tool-context.ts";
import { changeFile } from "../change-file.ts";
import { toInternalError } from "./error.ts";
import type { ApplyPatchDependencies, PatchTarget, Spawn } from "./types.ts";
import { applyPatch as applyPatchToFile, checkTarget } from "./usecase.ts";
import { applyPatchInput, validateApplyPatch } from "./validator.ts";

const GIT_TIMEOUT_MS = 30_000;

/** A unified diff, applied to one file. Name, description and parameters are public; a test pins them. */
export function createApplyPatch(dependencies: ApplyPatchDependencies = {}) {
  return createSecureTool({
    name: "apply_patch",
    title: "Apply a patch",
    description: "Applies a unified diff patch to a file. Best for making precise code changes.",
    input: applyPatchInput,
    // It returns no data; the job is reported separately.
    output: z.object({}),
    access: "write",
    destructive: true,
    paths: ["filePath"],
    refine: validateApplyPatch,
    async run(call): Promise<{ data?: never; notes: readonly string[] }> {
      const { context, signal } = call;
      const { patch } = call.args;
      const place = call.place("filePath");
      const { applyPatchBytes: limitBytes, applyPatchErrorChars: maxErrorChars } = context.limits;
      checkTarget(place.entry, place.given, limitBytes);
      const parts = {
        spawn: dependencies.spawn ?? spawnWith(context.runProgram, signal),
        hasher: dependencies.hasher ?? sha256,
        openScratch: context.openScratch,
        mask: place.workspace.mask,
        maxErrorChars,
      };
      try {
        const changed = await changeFile(call, place, {
          tool: "apply_patch",
          title: `apply_patch ${place.path}`,
          limitBytes,
          change(before, mode) {
            if (before === null) checkTarget({ kind: "missing" }, place.given, limitBytes);
            const target = { ...targetOf(place), bytes: before ?? new Uint8Array(), mode };
            return applyPatchToFile(parts, target, patch);
          },
        });
        if (changed.job !== undefined) return changed;
        return {
          notes: [`git apply changed nothing: the patch may name another path than ${place.asWritten}`],
        };
      } catch (error) {
        throw toInternalError(error);
      }
    },
  });
}

export const applyPatch = createApplyPatch();

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function spawnWith(runProgram: RunProgram, signal: AbortSignal): Spawn {
  return async (command, args, { cwd, env, input }) => {
    const { exitCode, stderr } = await runProgram({
      argv: [command, ...args],
      cwd,
      env,
      input: Buffer.from(input, "utf8"),
      timeoutMs: GIT_TIMEOUT_MS,
      signal,
    });
    return { exitCode: exitCode ?? -1, stderr: Buffer.from(stderr).toString("utf8") };
  };
}

function targetOf({
  workspace: { files },
  asWritten,
}: ResolvedPath): Pick<PatchTarget, "path" | "attributes"> {
  const folders = asWritten.split("/").slice(0, -1);
  const attributes = ["", ...folders.map((_, at) => `${folders.slice(0, at + 1).join("/")}/`)]
    .map((folder) => `${folder}.gitattributes`)
    .filter((path) => path !== asWritten && files.look(path).kind === "file")
    .map((path) => ({ path, bytes: files.read(path) }));
  return { path: asWritten, attributes };
}
