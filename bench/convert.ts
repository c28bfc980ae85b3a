import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeDiscussions } from './discussions.ts'
import { inEmptyDirectory, median, run, seconds, shell } from './measure.ts'
import { memoryOf } from './process.ts'
import { atMost, round, type Section } from './section.ts'

const GODWIT = new URL('../bin/godwit', import.meta.url).pathname
const TARGETS = ['github-archive', 'gitea-dump', 'gitlab-export', 'html']
const FEW = 2000
const MANY = 50_000
const SECONDS_AIM = 3
const MEMORY_AIM = 250
const GROWTH_AIM = 2
const LOOK_EVERY_MS = 20

/** Measures how long it takes to convert an archive of issues to each format, and the memory needed. */
export async function benchConvert({ rounds }: { rounds: number }): Promise<Section> {
  return inEmptyDirectory(async (directory) => {
    const few = await makeDiscussions(directory, FEW)
    const many = await makeDiscussions(directory, MANY)
    const results: (Measured & { target: string })[] = []
    for (const target of TARGETS)
      results.push({
        target,
        ...(await measure(join(directory, target), target, { few, many, rounds })),
      })
    return {
      title: 'Conversions',
      notes: [
        `\`godwit convert\` of one repository with ${FEW} issues and ${2 * FEW} comments, from the start of the process to its end; medians of ${rounds}`,
        `the limit is \`cp -r\` of the result and \`sync -f\`; ${MANY} issues are converted once`,
      ],
      tables: [
        {
          head: ['', `${FEW} issues, s`, 'limit, s', 'MB', `${MANY} issues, s`, 'MB'],
          rows: results.map(({ target, time, copy, memory, large }) => [
            target,
            ...[time, copy].map(round),
            memory.toFixed(0),
            round(large.time),
            large.peak.toFixed(0),
          ]),
        },
      ],
      targets: results.flatMap(({ target, time, memory, large }) => [
        atMost(`${target}: ${FEW} issues`, time, SECONDS_AIM, 's'),
        atMost(`${target}: memory for ${MANY} issues`, large.peak, MEMORY_AIM, 'MB'),
        atMost(`${target}: memory relative to ${FEW} issues`, large.peak / memory, GROWTH_AIM),
      ]),
      plots: [],
    }
  })
}

interface Archives {
  few: string
  many: string
  rounds: number
}

type Measured = Awaited<ReturnType<typeof measure>>

async function measure(output: string, target: string, { few, many, rounds }: Archives) {
  const [times, copies, memory]: [number[], number[], number[]] = [[], [], []]
  for (let n = 1; n <= rounds; n += 1) {
    const { time, peak } = await convert(few, target, output)
    times.push(time)
    memory.push(peak)
    copies.push(
      await seconds(() => shell('cp -r "$1" "$2" && sync -f "$2"', output, `${output}-copy`)),
    )
    await run('rm', ['-rf', output, `${output}-copy`])
  }
  const large = await convert(many, target, output)
  await run('rm', ['-rf', output])
  return { time: median(times), copy: median(copies), memory: median(memory), large }
}

/** Samples the peak memory until the process has exited. */
async function convert(archive: string, target: string, output: string) {
  let peak = 0
  const time = await seconds(async () => {
    const args = ['convert', archive, '--to', target, '--output', output]
    const child = spawn(GODWIT, args, { stdio: 'ignore' })
    const ended = new Promise<number | null>((resolve) => child.once('exit', resolve))
    let isRunning = true
    void ended.then(() => {
      isRunning = false
    })
    while (isRunning) {
      peak = Math.max(peak, await memoryOf(child.pid!, 'VmHWM').catch(() => 0))
      await Promise.race([ended, sleep(LOOK_EVERY_MS)])
    }
    if ((await ended) !== 0) throw new Error(`${archive} could not be converted to ${target}`)
  })
  return { peak, time }
}
