import { afterEach, type TestContext } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'

/** The failed test. */
interface FailedTest {
  /** A name for a file, without a suffix: the names of the test and its suites, and a number for each of what is shown. */
  fileName: string
  /** When the test before it ended, in milliseconds. */
  startedAt: number
}

type Show = (test: FailedTest) => string | Promise<string>

/** What is open at the moment: services, forges, pages. */
const shown = new Set<{ title: string; show: Show }>()
const MAX_LINES = 100
/** A service writes its log every 100 ms. */
const FLUSH_MS = 200
const MAX_NAME_LENGTH = 120
let lastTestEndedAt = Date.now()

/** Adds something to the output of every test that fails, such as the log of a service, until the returned function is called. */
export function showOnFailure(title: string, show: Show): () => void {
  const added = { title, show }
  shown.add(added)
  return () => void shown.delete(added)
}

/** Adds what a service logs during the test, as JSON lines. */
export const showLogOnFailure = (who: string, log: () => string): (() => void) =>
  showOnFailure(`the log of ${who}`, async ({ startedAt }) => {
    await pause(FLUSH_MS)
    return linesSince(log(), startedAt)
  })

/** Returns the last lines of those written since then, without the files of the dashboard. */
function linesSince(log: string, startedAt: number): string {
  const lines = log.trimEnd().split('\n')
  // A line without a time, such as a stack trace, belongs to the one before it.
  const first = lines.findIndex(
    (line) => Date.parse(/"time":"([^"]+)"/.exec(line)?.[1] ?? '') >= startedAt,
  )
  const since = first < 0 ? [] : lines.slice(first)
  return lastLines(since.filter((line) => !line.includes('"path":"/assets/')))
}

/** Returns the last lines of a log. */
export function lastLines(lines: readonly string[]): string {
  const omitted = lines.length - MAX_LINES
  return [...(omitted > 0 ? [`(${omitted} lines before)`] : []), ...lines.slice(-MAX_LINES)].join(
    '\n',
  )
}

async function showAll(t: TestContext): Promise<void> {
  const name = t.fullName.replaceAll(/[^\w.-]+/g, '-').slice(-MAX_NAME_LENGTH)
  for (const [index, { title, show }] of [...shown].entries()) {
    const fileName = `${name}-${index + 1}`
    const text = await Promise.resolve({ fileName, startedAt: lastTestEndedAt })
      .then(show)
      .catch((error: unknown) => `cannot be shown: ${error}`)
    t.diagnostic(`${title}:\n${text || '(nothing)'}`)
  }
}

// Hooks of the whole process: test-group.ts imports this file before the test files. The processes that tests start have no tests.
if (process.argv[1]?.endsWith('.test.ts'))
  afterEach(async (t) => {
    if ('error' in t && t.error) await showAll(t as TestContext)
    lastTestEndedAt = Date.now()
  })
