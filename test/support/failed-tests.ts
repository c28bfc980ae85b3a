import { existsSync } from 'node:fs'
import { relative, resolve } from 'node:path'

/** An event of the test runner, with the fields that are used here. */
export interface TestEvent {
  type: string
  data: {
    name?: string
    nesting?: number
    /** The file that the test runner started. */
    entryFile?: string
    details?: { type?: string; error?: { failureType?: string } }
  }
}

interface FailedTest {
  file: string
  /** The names of the suites around the test, and its own name; none if the file itself failed. */
  names: string[]
}

/** Collects the tests that failed, with the command that runs each of them alone. */
export class FailedTests {
  /** The names of the tests that have started and not ended, by nesting. */
  #started: string[] = []
  #failed: FailedTest[] = []

  /** Takes each event, in the order of the report: a suite starts before its tests and ends after them. */
  add({ type, data }: TestEvent): void {
    const { name = '', nesting = 0, entryFile, details } = data
    if (type === 'test:start') this.#started.splice(nesting, Number.POSITIVE_INFINITY, name)
    if (type !== 'test:fail') return
    const failed = locate([...this.#started.slice(0, nesting), name], entryFile)
    // Its tests are listed.
    if (details?.type === 'suite' && details.error?.failureType === 'subtestsFailed') return
    // A test within a test does not run without it, and a suite whose setup fails cancels its tests.
    this.#failed = this.#failed.filter((each) => !isWithin(each, failed))
    this.#failed.push(failed)
  }

  /** Returns the end of the report: a line for each failed test. Empty if none failed. */
  toString(): string {
    const commands = new Set(this.#failed.map(commandFor))
    if (commands.size === 0) return ''
    return `\nfailed, and how to run each alone:\n${[...commands].map((each) => `  ${each}\n`).join('')}`
  }
}

/** Finds the test file. A group of test files is a suite for each file, named by its path. */
function locate(names: string[], entryFile: string | undefined): FailedTest {
  const [first = '', ...others] = names
  if (/\.[jt]s$/.test(first) && existsSync(first)) return { file: first, names: others }
  return { file: entryFile ?? first, names }
}

const isWithin = ({ file, names }: FailedTest, outer: FailedTest): boolean =>
  file === outer.file && outer.names.every((name, level) => name === names[level])

function commandFor({ file, names }: FailedTest): string {
  const path = relative('.', resolve(file))
  if (names.length === 0) return `npm test -- ${quote(path)}`
  const pattern = names.join(' ').replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&')
  return `npm test -- --test-name-pattern=${quote(`^${pattern}$`)} ${quote(path)}`
}

const quote = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
