export interface ServerEvent {
  name: string
  data: string
  id: string | undefined
}

/** Server-sent events, as they come. An event that was cut off is none. */
export async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder()
  let pending = ''
  for await (const bytes of body) {
    pending += decoder.decode(bytes, { stream: true })
    const blocks = pending.replaceAll('\r\n', '\n').split('\n\n')
    pending = blocks.pop()!
    for (const block of blocks) {
      const event = parse(block)
      if (event.data !== '') yield event
    }
  }
}

function parse(block: string): ServerEvent {
  const fields = block.split('\n').map((line) => /^(\w+): ?(.*)$/.exec(line)?.slice(1) ?? [])
  const all = (name: string) => fields.flatMap(([field, value]) => (field === name ? [value!] : []))
  return {
    name: all('event').at(-1) ?? 'message',
    data: all('data').join('\n'),
    id: all('id').at(-1),
  }
}
