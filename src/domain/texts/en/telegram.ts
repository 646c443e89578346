export const texts = {
  working: "Working…",
  wholeText: "The whole text is in the file.",
};
