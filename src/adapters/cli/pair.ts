import type { Role } from "../../application/ports/serve.ts";
import { createPairingCodes } from "../../application/serve/access.ts";
import { CHANNEL_NAMES } from "../channels/registry.ts";
import { type Flags, printable, printJson, refuseInput, type Subcommand, succeed } from "./command.ts";
import { closing } from "./flags.ts";
import { type CliProgram, EXIT, type OpenServer } from "./program.ts";
import { openServer } from "./serve.ts";

/** `pair [CODE | list | add CHANNEL:USER | remove CHANNEL:USER]`: who may speak to PicoClaw from a channel. */
export const command: Subcommand = {
  name: "pair",
  usage: "pair [CODE]",
  flags: "--role= --name=",
  words: 2,
  run: pair,
};

async function pair(program: CliProgram, flags: Flags): Promise<number> {
  const opened = await openServer(program, flags.values);
  await using _ = closing(opened);
  const words = opened.words();
  const [verb = "list", given] = flags.words;
  const bad = (code: string, text: string) => refuseInput(program, code, text);
  const role = (flags.values.role ?? "user") as Role;
  if (role !== "operator" && role !== "user") return bad("usage", words.badRole(String(role)));
  const name = typeof flags.values.name === "string" ? flags.values.name : null;
  const at = new Date();
  if (verb === "list") return await list(program, opened);
  if (verb === "add" || verb === "remove") {
    const [channel = "", ...rest] = (given ?? "").split(":");
    const userId = rest.join(":");
    if (!CHANNEL_NAMES.includes(channel) || userId === "")
      return bad("usage", words.pairUsage(CHANNEL_NAMES));
    if (verb === "add")
      await opened.access.savePerson({ channel, userId, name: name ?? "", role, addedAt: at.toISOString() });
    else if (!(await opened.access.removePerson(channel, userId)))
      return bad("unknown-person", words.personUnknown(given ?? ""));
    const text =
      verb === "add" ? words.personAdded(`${channel}:${userId}`, role) : words.personRemoved(given ?? "");
    return succeed(program, { success: true, channel, user: userId }, text);
  }
  const pairing = createPairingCodes({
    access: opened.access,
    messages: opened.words,
    random: (bytes) => crypto.getRandomValues(new Uint8Array(bytes)),
    now: () => new Date(),
  });
  const person = await pairing.confirm(verb, role, name);
  if (person === null) return bad("unknown-code", words.codeUnknown(verb));
  const { channel, userId } = person;
  const text = words.personAdded(`${channel}:${userId}`, role);
  return succeed(program, { success: true, channel, user: userId, role }, text);
}

async function list(program: CliProgram, opened: OpenServer): Promise<number> {
  const people = await opened.access.people();
  const waiting = await opened.access.pairings(new Date().toISOString());
  if (program.json) return printJson(program, { people, waiting });
  const words = opened.words();
  for (const { channel, userId, name, role } of people)
    program.out(printable(`${channel}:${userId}  ${role}${name === "" ? "" : `  ${name}`}\n`));
  for (const { code, channel, userId } of waiting)
    program.out(printable(`${code}  ${channel}:${userId}  ${words.pairWaiting}\n`));
  if (people.length + waiting.length === 0) program.out(`${words.nobodyPaired}\n`);
  return EXIT.done;
}
