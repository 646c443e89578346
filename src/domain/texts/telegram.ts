export const telegramTexts = {
  working: "Working…",
  wholeText: "The whole text is in the file.",
};
