import { Readable } from 'node:stream'
import { spec } from 'node:test/reporters'

interface TestEvent {
  type: string
  data: { name?: string; nesting?: number; message?: string; skip?: string | boolean }
}

/** The test runner's spec report, with a list of skipped tests and their reasons before its summary. */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  for await (const text of Readable.from(withSkips(events)).pipe(new spec())) yield String(text)
}

async function* withSkips(events: AsyncIterable<TestEvent>): AsyncGenerator<TestEvent> {
  const skipped = new Map<string, string[]>()
  for await (const event of events) {
    const { name = '', nesting, message = '', skip } = event.data
    const isEnd = event.type === 'test:pass' || event.type === 'test:fail'
    if (isEnd && skip !== undefined && skip !== false) {
      const why = typeof skip === 'string' && skip !== '' ? skip : 'no reason given'
      skipped.set(why, [...(skipped.get(why) ?? []), name])
    }
    // The first line of the summary.
    const isSummary =
      event.type === 'test:diagnostic' && nesting === 0 && /^tests \d+$/.test(message)
    if (isSummary) yield* notes(skipped)
    yield event
  }
}

function* notes(skipped: ReadonlyMap<string, readonly string[]>): Generator<TestEvent> {
  const note = (message: string) => ({ type: 'test:diagnostic', data: { nesting: 0, message } })
  for (const [why, names] of skipped) {
    yield note(`skipped, ${why}:`)
    for (const name of names) yield note(`  ${name}`)
  }
}
