import { resolve } from "node:path";
import { trustWorkspace } from "../../config/trust.ts";
import { messagesFor } from "../../domain/texts/jobs.ts";
import { type Flags, refuseWork, type Subcommand, succeed } from "./command.ts";
import type { CliProgram } from "./program.ts";

/** `trust`: the user has read this folder's `picoclaw.yaml`, commands and skills and lets them widen power, until they change. */
export const command: Subcommand = { name: "trust", usage: "trust", run: trust };

async function trust(program: CliProgram, { values }: Flags): Promise<number> {
  const messages = messagesFor(program.locale);
  const workspace = resolve(program.cwd, typeof values.workspace === "string" ? values.workspace : ".");
  const trusted = trustWorkspace({
    home: program.home,
    workspace,
    now: new Date(),
    hosts: await program.namedHosts(workspace),
  });
  if (!trusted.ok) {
    if (trusted.reason === "not-written") throw trusted.cause;
    return refuseWork(program, trusted.reason, messages.nothingToTrust);
  }
  const document = { success: true, workspace, files: trusted.files };
  return succeed(program, document, messages.workspaceTrusted(workspace, trusted.files));
}
