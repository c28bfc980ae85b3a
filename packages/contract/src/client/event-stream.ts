export type ServerEvent = { name: string; data: string; id: string | undefined }

/**
 * Parses a stream of server-sent events. Drops events without data, and an incomplete event at the end of the stream. `onChunk` is
 * called whenever bytes arrive, also for comments, which keep the connection open.
 */
export async function* readEvents(
  body: AsyncIterable<Uint8Array<ArrayBuffer>>,
  onChunk?: () => void,
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let pending = ''
  for await (const bytes of body) {
    onChunk?.()
    pending += decoder.decode(bytes, { stream: true })
    const blocks = pending.replaceAll('\r\n', '\n').split('\n\n')
    pending = blocks.pop()!
    for (const block of blocks) {
      const event = parseEvent(block)
      if (event.data !== '') yield event
    }
  }
}

function parseEvent(block: string): ServerEvent {
  const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line)?.slice(1) ?? [])
  const values = (name: string) =>
    fields.flatMap(([field, value]) => (field === name ? [value!] : []))
  return {
    name: values('event').at(-1) ?? 'message',
    data: values('data').join('\n'),
    id: values('id').at(-1),
  }
}
