/** Posts a message to any of a server's addresses until it is taken in. */
export async function insist(
  url: () => string,
  token: string,
  message: { readonly chat: string; readonly text: string; readonly event_id: string },
): Promise<void> {
  for (;;) {
    const sent = await fetch(`${url()}/api/v1/messages`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}` },
      body: JSON.stringify(message),
      signal: AbortSignal.timeout(5_000),
    }).catch(() => null);
    await sent?.arrayBuffer().catch(() => {});
    if (sent?.ok === true) return;
    await Bun.sleep(50);
  }
}
