export const serveTexts = {
  /** `undo`: the message that undoes it, where that is possible. */
  interrupted: (jobIds: readonly string[], undo: string | null) =>
    `PicoClaw was stopped while it was working on this message. What it had done by then stays applied and is not repeated: ${jobIds.join(", ")}. ${undo === null ? "Send" : `Undo it with ${undo}, or send`} the message again.`,
  senderRemoved:
    "This message was not carried out: access was removed from its sender, or the token it was sent with, while it waited.",
  gaveUp: (attempts: number) =>
    `PicoClaw ended ${attempts} times while it was working on this message, so it gave up. Send the message again to try once more.`,
  tooLong: (limitChars: number) => `The message is too long (at most ${limitChars} characters).`,
  tooMany: "Too many messages at once. Try again in a minute.",
  attachment: (name: string, sizeBytes: number) =>
    `[attachment: ${name}, ${sizeBytes} bytes, not read: it is not text, or too long]`,
  machineAway: (name: string) =>
    `${name}, the machine that holds this workspace, is away. Your message is kept and will be answered when the machine is back.`,
  machineBack: (name: string) => `${name} is back and continues with the messages that waited.`,
  machineTaken: (name: string, home: string) =>
    `Another machine (${name}) runs with the same machine id. Was its PicoClaw home copied? Give each machine a home of its own, or delete ${home}/machine-id here.`,
  machineReplaced: "Another machine has taken over this machine's id, so PicoClaw stops on this machine.",
  schemaAdded: (names: string) =>
    `A later version of PicoClaw has added to the database (${names}). This process keeps running; start the later version here when convenient.`,
  schemaBroken: (names: string) =>
    `A later version of PicoClaw has changed the database (${names}), and this version cannot use it any more: it finishes what is running and ends. Start the later version here.`,
  handEnded: (why: "silent" | "busy" | "memory" | "ended", pid: number) =>
    `A process that answers messages (pid ${pid}) ${
      {
        silent: "gave no sign of life for 15 seconds and was ended",
        busy: "computed for 10 seconds without a sign of life and was ended",
        memory: "took more memory than serve.hand_memory and was ended",
        ended: "ended by itself",
      }[why]
    }. Its messages are begun again.`,
  // On the terminal.
  listening: (url: string) => `PicoClaw is listening on ${url}`,
  loginLink: (url: string) => `Open the console: ${url}`,
  loginLinkNote: "The link works once, within ten minutes. Another one: picoclaw serve link",
  nothingListens: (address: string) =>
    `Nothing is listening on ${address} yet. Start the server within ten minutes: picoclaw serve`,
  storeGone: (file: string) =>
    `The server of this home has lost its database: ${file} was deleted, replaced, emptied or truncated while the server runs. The server would never see what is stored now, so PicoClaw stores nothing.\nStop the server, restore a backup (picoclaw restore FOLDER; without one it begins with an empty database), and start it again: picoclaw serve`,
  demoLinkNote: "The link works once, within ten minutes; start the demo again for another.",
  demo: [
    "This is a demo: a scripted model, which knows only a few sentences, and a throw-away workspace.",
    "Try: Fix the failing test, then: oops: rm -rf .git node_modules src, and Undo.",
    "Connect your model: picoclaw init, then picoclaw serve.",
  ],
  stopping:
    "Stopping: nothing new is accepted, and what is running is finished (at most 25 seconds; press again to quit now).",
  stoppingHard: "Stopped. What was not finished continues at the next start.",
  reloaded: "The configuration was reloaded.",
  workspaceMoved: (root: string) =>
    `The workspace would change to ${root}. Stop this server and start it there.`,
  reloadRefused: (why: string) =>
    `The new configuration is not valid, so the old one stays in effect:\n${why}`,
  portTaken: (address: string, why: string) => `cannot listen on ${address}: ${why}`,
  exposed: (host: string) =>
    `${host} is reachable from other machines. Put TLS in front of it and set serve.public_url.`,
  usage: "Usage: picoclaw serve [link | token create NAME | token list | token remove ID]",
  tokenCreated: (token: string) => `${token}\nThis is shown only once; only its hash is kept.`,
  pairing: (code: string) =>
    `You are not registered yet. Ask an operator to run this (valid for an hour), then write again: picoclaw pair ${code}`,
  pairUsage: (channels: readonly string[]) =>
    `Usage: picoclaw pair [CODE | list | add ${channels.join("|")}:USER | remove ${channels.join("|")}:USER] [--role operator|user]`,
  pairWaiting: "waiting",
  nobodyPaired: "No one is registered yet. Anyone who writes from a chat service receives a code.",
  personAdded: (who: string, role: string) => `Registered: ${who} (${role})`,
  personRemoved: (who: string) => `No longer registered: ${who}`,
  personUnknown: (who: string) => `Not registered: ${who}`,
  codeUnknown: (code: string) => `There is no such code, or it has expired: ${code}`,
  tokenRemoved: (id: string) => `removed: ${id}`,
  tokenUnknown: (id: string) => `no such token: ${id}`,
  noTokens: "No tokens yet: picoclaw serve token create NAME",
  badScope: (scope: string, known: string) => `unknown scope: ${scope} (known: ${known})`,
  badUser: (user: string) => `--user ${user}: use a-z, 0-9, _ and -; "operator" is the operator`,
  badRole: (role: string) => `unknown role: ${role} (operator or user)`,
  scheduleUnknownChannel: (name: string, channel: string) =>
    `schedule ${name}: there is no channel "${channel}" (chat is written channel:chat)`,
};
