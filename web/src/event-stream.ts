export interface ServerEvent {
  name: string
  id: string | undefined
  data: string
}

/** Server-sent events out of bytes. Comments, which only keep the line open, are left out; `onHeard` is called for them too. */
export async function* serverEvents(
  bytes: ReadableStream<Uint8Array<ArrayBuffer>>,
  onHeard: () => void,
): AsyncGenerator<ServerEvent> {
  let rest = ''
  for await (const text of bytes.pipeThrough(new TextDecoderStream())) {
    onHeard()
    const blocks = (rest + text).replaceAll('\r\n', '\n').split('\n\n')
    rest = blocks.pop() ?? ''
    for (const block of blocks) {
      const event = eventOf(block)
      if (event) yield event
    }
  }
}

function eventOf(block: string): ServerEvent | undefined {
  const fields = new Map(
    block
      .split('\n')
      .map((line) => /^(\w+): ?(.*)$/.exec(line))
      .filter((match) => match !== null)
      .map(([, field = '', value = '']) => [field, value]),
  )
  const data = fields.get('data')
  if (data === undefined) return undefined
  return { name: fields.get('event') ?? 'message', id: fields.get('id'), data }
}
