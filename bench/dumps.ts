import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeDiscussions } from './discussions.ts'
import { inEmptyDirectory, median, run, seconds, shell, spread } from './measure.ts'
import { memoryOf } from './process.ts'
import { atMost, round, type Section } from './section.ts'

const GODWIT = new URL('../bin/godwit', import.meta.url).pathname
const FEW = 2000
const MANY = 50_000
const SECONDS_AIM = 3
const MEMORY_AIM = 250
const GROWTH_AIM = 2
const LOOK_EVERY_MS = 20

/** Measures how long it takes to convert an archive of issues to a Gitea dump, and the memory needed. */
export async function benchDumps({ rounds }: { rounds: number }): Promise<Section> {
  return inEmptyDirectory(async (directory) => {
    const few = await makeDiscussions(directory, FEW)
    const many = await makeDiscussions(directory, MANY)
    const [times, copies, memory]: [number[], number[], number[]] = [[], [], []]
    for (let n = 1; n <= rounds; n += 1) {
      const into = join(directory, `few-${n}`)
      memory.push((await dump(few, into, times)).peak)
      copies.push(
        await seconds(() => shell('cp -r "$1" "$2" && sync -f "$2"', into, `${into}-copy`)),
      )
      await run('rm', ['-rf', into, `${into}-copy`])
    }
    const large = await dump(many, join(directory, 'many'), [])
    const mb = (value: number) => value.toFixed(0)
    return {
      title: 'Dumps for Gitea',
      notes: [
        `\`godwit convert --to gitea-dump\` of one repository with ${FEW} issues and ${2 * FEW} comments, from the start of the process to its end; medians of ${rounds}`,
        `the limit is \`cp -r\` of the dump and \`sync -f\`; ${MANY} issues are dumped once`,
      ],
      tables: [
        {
          head: ['', 'median', 'min – max'],
          rows: [
            [`${FEW} issues, s`, round(median(times)), spread(times, round)],
            ['copying the dump, s', round(median(copies)), spread(copies, round)],
            [`${FEW} issues, MB`, mb(median(memory)), spread(memory, mb)],
            [`${MANY} issues, s`, round(large.time), '–'],
            [`${MANY} issues, MB`, mb(large.peak), '–'],
          ],
        },
      ],
      targets: [
        atMost(`${FEW} issues`, median(times), SECONDS_AIM, 's'),
        atMost(`memory for ${MANY} issues`, large.peak, MEMORY_AIM, 'MB'),
        atMost(`memory relative to ${FEW} issues`, large.peak / median(memory), GROWTH_AIM),
      ],
      plots: [],
    }
  })
}

/** Samples the peak memory until the process has exited. */
async function dump(archive: string, into: string, times: number[]) {
  let peak = 0
  const time = await seconds(async () => {
    const args = ['convert', archive, '--to', 'gitea-dump', '--output', into]
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
    if ((await ended) !== 0) throw new Error(`${archive} could not be dumped`)
  })
  times.push(time)
  return { peak, time }
}
