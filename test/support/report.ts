import { Readable } from 'node:stream'
import { spec } from 'node:test/reporters'
import { FailedTests, type TestEvent as FailureEvent } from './failed-tests.ts'
import { followRun } from './progress.ts'

interface TestEvent extends FailureEvent {
  data: FailureEvent['data'] & { message?: string; skip?: string | boolean }
}

/**
 * The test runner's spec report, with a list of skipped tests and their reasons and the duration of a whole run before its summary,
 * and a list of failed tests and their commands at the end. The progress of a whole run is on standard error.
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
  const endRun = followRun()
  let hasPassed = true
  for await (const event of events) {
    failed.add(event)
    if (event.type === 'test:fail') hasPassed = false
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
      const duration = endRun(hasPassed)
      if (duration !== undefined) yield note(duration)
    }
    yield event
  }
}

const note = (message: string) => ({ type: 'test:diagnostic', data: { nesting: 0, message } })

function* notes(skipped: ReadonlyMap<string, readonly string[]>): Generator<TestEvent> {
  for (const [why, names] of skipped) {
    yield note(`skipped, ${why}:`)
    for (const name of names) yield note(`  ${name}`)
  }
}
