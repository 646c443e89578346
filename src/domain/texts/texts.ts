import { texts as en } from "./en/index.ts";
import { texts as ja } from "./ja/index.ts";
import type { Locale } from "./locale.ts";

/** What PicoClaw says to people, by column. English is the type: another language that lacks a text does not compile. */
export type Texts = typeof en;

const TEXTS: Readonly<Record<Locale, Texts>> = { ja, en };

/** Everything but `at-start.ts`, which every command loads. */
export function textsFor(locale: Locale): Texts {
  return TEXTS[locale];
}

/** Everything the conversation says to a person in its own name. */
export type ChatMessages = Texts["chat"];
/** What people read of the checks over a draft. */
export type ChecksMessages = Texts["checks"];
export type CommandMessages = Texts["commands"];
/** Every word of the web console. */
export type ConsoleMessages = Texts["console"];
/** What `doctor` says of the Docker engine. Nothing here ends in a newline. */
export type DockerMessages = Texts["docker"];
/** What people read of environments and their images. */
export type EnvironmentMessages = Texts["environments"];
/** What is said of the machines that share a store. */
export type FleetMessages = Texts["fleet"];
/** What `--help` and the manual page say. */
export type HelpMessages = Texts["help"];
/** What only LINE says. */
export type LineMessages = Texts["line"];
/** What operators manage in the console. */
export type ManageMessages = Texts["manage"];
/** Texts about decisions, sessions and usage. */
export type MemoryMessages = Texts["memory"];
/** Texts about models: their failures and what helps. */
export type ModelMessages = Texts["models"];
/** What `serve` says to people: in chats, on the terminal. */
export type ServeMessages = Texts["serve"];
/** What `init` says, and the comments of the file it writes. */
export type SetupMessages = Texts["setup"];
/** What only Slack says. */
export type SlackMessages = Texts["slack"];
/** Everything a task from a forge says to people: on the issue, in the PR/MR, in the terminal. */
export type SolveMessages = Texts["solve"];
export type TaskMessages = Texts["tasks"];
/** What only Telegram says. */
export type TelegramMessages = Texts["telegram"];

export const chatMessagesFor = (locale: Locale): ChatMessages => textsFor(locale).chat;
export const checksMessagesFor = (locale: Locale): ChecksMessages => textsFor(locale).checks;
export const commandMessages = (locale: Locale): CommandMessages => textsFor(locale).commands;
export const consoleMessagesFor = (locale: Locale): ConsoleMessages => textsFor(locale).console;
export const dockerMessages = (locale: Locale): DockerMessages => textsFor(locale).docker;
export const environmentMessages = (locale: Locale): EnvironmentMessages => textsFor(locale).environments;
export const fleetMessagesFor = (locale: Locale): FleetMessages => textsFor(locale).fleet;
export const helpMessagesFor = (locale: Locale): HelpMessages => textsFor(locale).help;
export const lineMessagesFor = (locale: Locale): LineMessages => textsFor(locale).line;
export const manageMessagesFor = (locale: Locale): ManageMessages => textsFor(locale).manage;
export const memoryMessagesFor = (locale: Locale): MemoryMessages => textsFor(locale).memory;
export const modelMessagesFor = (locale: Locale): ModelMessages => textsFor(locale).models;
export const serveMessagesFor = (locale: Locale): ServeMessages => textsFor(locale).serve;
export const setupMessagesFor = (locale: Locale): SetupMessages => textsFor(locale).setup;
export const slackMessagesFor = (locale: Locale): SlackMessages => textsFor(locale).slack;
export const solveMessagesFor = (locale: Locale): SolveMessages => textsFor(locale).solve;
export const telegramMessagesFor = (locale: Locale): TelegramMessages => textsFor(locale).telegram;
export const taskMessagesFor = (locale: Locale): TaskMessages => textsFor(locale).tasks;
