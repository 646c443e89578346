export const texts = {
  wholeText: "The whole text is in the file.",
};
