import { jobOrder, many } from "../format-text.ts";

export const terminalTexts = {
  // Above the conversation
  title: (version: string, folder: string) => `picoclaw ${version}  ${folder}`,
  who: (talks: string | null, codes: string | null) =>
    talks !== null && talks === codes
      ? `talks and codes: ${talks}`
      : `talks: ${talks ?? (codes === null ? "not set up yet (picoclaw init)" : "no local model (/cloud on: the coder's model)")} · codes: ${codes ?? "not set up yet (picoclaw init)"}`,
  newChat: (name: string) => `a new chat${name === "" ? "" : ` (${name})`}`,
  resumed: (name: string, messages: number, at: string, last: string) =>
    `resumed the chat${name === "" ? "" : ` ${name}`}: ${many(messages, "message")}, the last ${at}${last === "" ? "" : ` “${last}”`} · /new starts a new one`,

  // The line
  placeholder: "Say what to change, or ask.  / commands  @ files",
  placeholderBusy: "say more: ↵ joins the next round, ⇥ waits for its end",
  normalMode: "NORMAL",
  keysHint: "? keys",
  starting: "starting …",
  leaveHint: "ctrl-c again to quit",
  rewindHint: "esc again to go back to an earlier message",
  clearedHint: "cleared; ↑ brings it back",
  history: (wanted: string) => `history ${wanted}`,
  historyKeys: "↵ takes it · ctrl-r older · esc",
  historyNone: "no matching input",
  indexing: "reading file names …",
  noFiles: "no matching file",

  // While it works
  escStops: "esc stops",
  working: "working",
  stopping: "stopping …",
  earlierSteps: (count: number) => `${count} earlier ${count === 1 ? "step" : "steps"}`,
  steps: (count: number) => many(count, "step"),
  seconds: (seconds: number) =>
    seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`,
  tokens: (count: number) => `${count < 1000 ? count : `${(count / 1000).toFixed(1)}k`} tokens`,
  round: (attempt: number, of: number) => `try ${attempt} of ${of}`,
  doing: { asking: "asking the model", running: "running it", checking: "checking" },
  joins: "joins the next round",
  waits: "after this one",
  editsQueued: "↑ edits",
  joined: "the coder has it",
  stopped: (seconds: string, changed: boolean) =>
    `Stopped after ${seconds}${changed ? "" : " · nothing was changed"}`,
  summary: (seconds: string) => `done after ${seconds}`,

  // Cards
  moreLines: (count: number) => `… ${count} more lines: ⇥ d`,
  moreInShow: (count: number, label: string) =>
    `… ${count} more lines: ${jobOrder("terminal", "diff", label)}`,
  diffBinary: (bytes: number) => `binary file, ${many(bytes, "byte")}`,
  diffTooLong: (bytes: number) => `too long to show, ${bytes} bytes`,
  folder: (folder: string, count: number, kind: "added" | "deleted") =>
    `${folder}/ · ${count === 0 ? "folder" : many(count, "file")} ${kind}`,
  modeChanged: (path: string) => `${path} · permissions changed`,
  diffLink: "symbolic link",
  gitFiles: (count: number) => `.git/ · ${many(count, "file")} changed`,
  diffUnknown: "changed again since; no longer known",
  cardKeys: {
    undo: "[u] undo",
    redo: "[r] redo",
    diff: "[d] whole diff",
    open: "[o] open",
    apply: "[p] apply",
  },
  cardHint: "⇥",
  focusKeys: "↑↓ esc",
  restored: (count: number, names: string) =>
    `${count === 0 ? "" : `${many(count, "file")} `}as before: ${names}`,
  broughtIn: (count: number, names: string) =>
    `${count === 0 ? "" : `${many(count, "file")} `}again: ${names}`,
  takenBackLater: (label: string) => `${label} undone`,
  again: (label: string) => `${label} applied again`,
  noCard: "No job yet in this conversation.",
  notWhileWorking: "Not while it is working: press esc to stop it first.",
  draftsWait: (count: number) => many(count, "preview waits", "previews wait"),

  // The pager
  pagerKeys: "↑↓ space b · n p file · g G · q back",
  allSteps: "All steps",
  noSteps: "No steps yet.",

  // Commands and pickers
  pickKeys: "↑↓ ↵ · type to search · esc",
  picks: {
    jobs: "Jobs",
    rewind: "Back to which message?",
    resume: "Conversations",
    model: "Who answers",
    effort: "How much a coder thinks",
    cost: "Tokens and cost",
    context: "What the models see",
    status: "Current status",
    diff: "Which change?",
  },
  noneSuch: "no match",
  noEditor: "No editor: set VISUAL or EDITOR.",
  noPastedImage: {
    "no-image": "No image in the clipboard.",
    "no-program": "Reading the clipboard needs wl-paste, xclip or pngpaste.",
  },
  shellUsage: "! and a command: it runs as a job that /undo can undo",
  keys: [
    ["↵", "send; while it works: join the coder's next round"],
    ["⇥", "focus the last card; in the line: complete; while it works: send afterwards"],
    ["u r d o p", "on a card: undo, redo, whole diff, open the file, apply a preview"],
    ["alt-u alt-r", "undo, redo the last job"],
    ["esc", "stop the work; close a menu"],
    ["esc esc", "go back to an earlier message"],
    ["ctrl-c", "clear the line; stop the work; twice: quit"],
    ["ctrl-d", "quit (on an empty line)"],
    ["↑ ↓", "earlier input; queued text returns to the line"],
    ["ctrl-r", "search earlier input, in all conversations"],
    ["shift-↵ alt-↵ ctrl-j \\↵", "a new line"],
    ["@", "a file of the project"],
    ["/", "commands"],
    ["!", "run a shell command as a job that can be undone"],
    ["ctrl-g", "write in your own editor"],
    ["ctrl-v", "attach an image from the clipboard"],
    ["ctrl-o", "all steps of the last message"],
    ["ctrl-l", "redraw"],
    ["ctrl-z", "suspend to the shell; fg resumes"],
    ["ctrl-a e k u w y _  alt-b f d", "as in a shell"],
  ] as readonly (readonly [string, string])[],

  // Leaving
  goodbye: (command: string) => `To continue: ${command}`,
  // Without a screen
  plainPrompt: "> ",
  plainWelcome: "Plain mode: one line is one message. /help lists the commands, Ctrl-D quits.",
  plainOk: "ok",
  askOffer: (label: string) => `${label}? y/n`,
  retryHint: "↵ on an empty line tries again · /model chooses another model",
};
