import { Readable } from 'node:stream'
import { spec } from 'node:test/reporters'
import { FailedTests, type TestEvent as FailureEvent } from './failed-tests.ts'
import { Progress } from './progress.ts'

interface TestEvent extends FailureEvent {
  data: FailureEvent['data'] & { message?: string; skip?: string | boolean }
}

/**
 * The test runner's spec report, with the progress of a whole run, with a list of skipped tests and their reasons before its
 * summary, and a list of failed tests and their commands at the end.
 */
export default async function* report(events: AsyncIterable<TestEvent>): AsyncGenerator<string> {
  const failed = new FailedTests()
  for await (const text of Readable.from(withSkips(events, failed)).pipe(new spec()))
    yield String(text)
  yield String(failed)
}

async function* withSkips(
  events: AsyncIterable<TestEvent>,
  failed: FailedTests,
): AsyncGenerator<TestEvent> {
  const skipped = new Map<string, string[]>()
  const progress = new Progress()
  for await (const event of events) {
    failed.add(event)
    const { name = '', nesting, message = '', skip } = event.data
    const isEnd = event.type === 'test:pass' || event.type === 'test:fail'
    if (isEnd && skip !== undefined && skip !== false) {
      const why = typeof skip === 'string' && skip !== '' ? skip : 'no reason given'
      skipped.set(why, [...(skipped.get(why) ?? []), name])
    }
    // The first line of the summary.
    const isSummary =
      event.type === 'test:diagnostic' && nesting === 0 && /^tests \d+$/.test(message)
    if (isSummary) {
      yield* notes(skipped)
      const end = await progress.end()
      if (end !== undefined) yield note(end)
    }
    yield event
    const line = progress.add(event)
    if (line !== undefined) yield note(line)
  }
}

const note = (message: string) => ({ type: 'test:diagnostic', data: { nesting: 0, message } })

function* notes(skipped: ReadonlyMap<string, readonly string[]>): Generator<TestEvent> {
  for (const [why, names] of skipped) {
    yield note(`skipped, ${why}:`)
    for (const name of names) yield note(`  ${name}`)
  }
}
