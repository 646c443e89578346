import { expect, test } from "bun:test";
import { wordFigures } from "../../../src/adapters/cli/stats.ts";
import { textWidth } from "../../../src/adapters/cli/terminal-text.ts";
import type { FigureRow } from "../../../src/application/ports/history-opened.ts";
import { historyMessagesFor } from "../../../src/domain/texts/history.ts";
import { LOCALES } from "../../../src/domain/texts/locale.ts";

test.each([...LOCALES])("the tables of stats fit a terminal of 80 columns (%s)", (locale) => {
  const row = (day: string): FigureRow => ({
    day,
    model: "claude/claude-sonnet-4-5",
    requests: 123,
    inputTokens: 2_000_000,
    outputTokens: 345_678,
    cachedTokens: 0,
    costUsd: 23.45,
    unpriced: 1,
    jobs: 12,
    checked: 11,
    firstTry: 10,
    undone: 3,
  });
  const days = [row("2026-03-09"), row("2026-03-10")];
  const text = wordFigures(historyMessagesFor(locale), { days, models: days, total: row(""), rows: days });
  const table = text.split("\n").slice(2);
  expect(Math.max(...table.map(textWidth))).toBeLessThanOrEqual(80);
  expect(table[1]).toMatch(/\d {2,}█+$/);
});
