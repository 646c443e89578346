export const lineTexts = {
  /** Before the reply token runs out, with a button that brings a fresh one. */
  stillWorking: "Still working. In a while, the button below brings the result.",
  collect: "Show result",
  cutHere: "… (cut because of its length)",
  seeConsole: (url: string) => `All of it: ${url}`,
  quotaSpent: (quota: number) =>
    `This month's ${quota} push messages are used up. The result comes as the reply to your next message.`,
};

export const slackTexts = {
  working: "Working…",
  accepted: "Got it. The result comes here.",
  wholeText: "The whole text is in the file.",
  usage: "Usage: /picoclaw MESSAGE (for example: /picoclaw /undo)",
  filesRight: "the Slack app needs the right files:read",
};

export const telegramTexts = {
  working: "Working…",
  wholeText: "The whole text is in the file.",
  pollsElsewhere:
    "another process polls with the same TELEGRAM_BOT_TOKEN: end it, or give this one a bot of its own",
};
