import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** How long each test file took in a whole run, and how long the calibration took on the same machine. */
interface Measurement {
  calibration: number
  files: Record<string, number>
}

const pathOf = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url))
/** Set by scripts/test. */
const RUN = process.env.GODWIT_TEST_RUN ?? 'test'
export const IS_LONG = RUN === 'test:long'
export const COMMAND = IS_LONG ? 'npm run test:long' : 'npm test'
const NAME = RUN.replace(':', '-')
/** The folder of the groups of test files (scripts/test-groups.ts). */
export const GROUPS = `var/${NAME}-groups`
/** The last whole run in this checkout. */
const OWN = pathOf(`var/${NAME}-seconds.json`)
/** A whole run on two cores, for a checkout that has had none. A copy of the file above. */
const USUAL = pathOf(`test/support/usual-${IS_LONG ? 'long-' : ''}seconds.json`)

/** The calibration of the present run. */
const CALIBRATION = pathOf(join(GROUPS, 'calibration'))

/** The processes that the test runner runs at a time. scripts/test sets the variable for whole runs. */
const LANES = Number(process.env.GODWIT_TEST_LANES ?? 1)

const readMeasurement = (): Measurement =>
  JSON.parse(readFileSync(existsSync(OWN) ? OWN : USUAL, 'utf8'))

/** Returns a function that says how long a test file usually takes, in seconds. A new file is taken to be an average one. */
export function usualSeconds(): (file: string) => number {
  const { files } = readMeasurement()
  const all = Object.values(files)
  const average = all.reduce((sum, each) => sum + each, 0) / all.length
  return (file) => files[file] ?? average
}

/** Writes what the whole run took that has just ended. */
export function recordSeconds(files: Record<string, number>): void {
  const calibration = Number(readFileSync(CALIBRATION, 'utf8'))
  const measured: Measurement = { calibration, files }
  mkdirSync(dirname(OWN), { recursive: true })
  writeFileSync(`${OWN}.new`, `${JSON.stringify(measured, undefined, 2)}\n`)
  renameSync(`${OWN}.new`, OWN)
}

/** Estimates the seconds of a whole run from the files' usual times, and from the speed of this machine now. */
export async function estimateSeconds(files: readonly string[]): Promise<number> {
  const secondsOf = usualSeconds()
  const usual = files.reduce((sum, file) => sum + secondsOf(file), 0) / LANES
  const calibration = await calibrate()
  // At the end of the run the machine is still busy with it.
  writeFileSync(CALIBRATION, String(calibration))
  return (usual * calibration) / readMeasurement().calibration
}

const WORK = `
  const { createHash } = require('node:crypto')
  for (let n = 0; n < 3e5; n++) JSON.parse('[' + n + ']')
  createHash('sha256').update(Buffer.alloc(1 << 24)).digest()`

/** Returns how many seconds the same small work takes, in as many processes as tests run in. */
async function calibrate(): Promise<number> {
  const start = performance.now()
  const lanes = Array.from({ length: LANES }, () =>
    once(spawn(process.execPath, ['-e', WORK], { stdio: 'ignore' }), 'exit'),
  )
  await Promise.all(lanes)
  return (performance.now() - start) / 1000
}

/** For example `50 s` or `4 min 10 s`. */
export function formatSeconds(seconds: number): string {
  const [minutes, rest] = [Math.floor(seconds / 60), Math.round(seconds % 60)]
  return minutes === 0 ? `${rest} s` : `${minutes} min ${rest} s`
}
