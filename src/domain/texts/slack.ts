export const slackTexts = {
  working: "Working…",
  accepted: "Got it. The result comes here.",
  wholeText: "The whole text is in the file.",
  usage: "Usage: /picoclaw MESSAGE (for example: /picoclaw /undo)",
};
