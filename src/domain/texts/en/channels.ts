export const channelTexts = {
  working: "Working…",
  wholeText: "The full text is in the file.",
  /** LINE: before the reply token runs out, with a button that yields a fresh one. */
  stillWorking: "Still working. The button below brings the result when it is ready.",
  collect: "Show result",
  cutHere: "… (shortened)",
  seeConsole: (url: string) => `Full text: ${url}`,
  quotaSpent: (quota: number) =>
    `This month's ${quota} push messages are used up. The result will be sent as the reply to your next message.`,
  /** Slack's answer to a command. */
  accepted: "Got it. The result will be posted here.",
  usage: "Usage: /picoclaw MESSAGE (for example: /picoclaw /undo)",
  filesRight: "the Slack app needs the permission files:read",
  pollsElsewhere:
    "another process receives with the same TELEGRAM_BOT_TOKEN: stop it, or give this server a bot of its own",
};
