/** `/code plan …`: what is to be planned before anything is written; null for any other request. */
export function readPlanFirst(text: string): string | null {
  return /^(?:plan|プラン|計画)(?:[:：\s\u3000]+)(\S.*)$/isu.exec(text.trim())?.[1] ?? null;
}

/** `/code all …`: what every coder is to try, each by itself; null for any other request. */
export function readAllCoders(text: string): string | null {
  return /^(?:all|全員)(?:[:：\s\u3000]+)(\S.*)$/isu.exec(text.trim())?.[1] ?? null;
}

/** The word that has a plan carried out. */
export function isGo(text: string): boolean {
  return /^(?:go|go ahead|実行(?:して)?|進めて|やって)[.!。！]?$/iu.test(text.trim().normalize("NFKC"));
}
