/** `<channel>:<chatId>`: a channel's name has no colon, so two chats never share a key. */
export function chatKeyOf(channel: string, chatId: string): string {
  return `${channel}:${chatId}`;
}

/** `YYYYMMDD-<channel>-<chatId>`; the second session of a day ends in `.2`. */
export function sessionIdOf(day: string, channel: string, chatId: string, ordinal = 1): string {
  return `${day}-${channel}-${chatId}${ordinal === 1 ? "" : `.${ordinal}`}`;
}
