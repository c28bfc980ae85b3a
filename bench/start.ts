import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { makeCorpus, OWNER } from './corpus.ts'
import { median, seconds } from './measure.ts'
import { startService } from './service.ts'

/** How long a client waits for the answer to a start that names every repository of an owner with very many. */
const { values } = parseArgs({ options: { repositories: { type: 'string', default: '10000' } } })
const count = Number(values.repositories)
const place = await mkdtemp(join(tmpdir(), 'godwit-bench-'))
try {
  const names = await copies(join(place, 'repositories'))
  const data = join(place, 'data')
  const service = { repositories: join(place, 'repositories'), data, login: OWNER }
  const godwit = await startService(service, '--unfinished-migrations', '10')
  try {
    const waits = []
    for (let start = 0; start < 3; start += 1) waits.push(await seconds(() => godwit.start(names)))
    const each = (median(waits) / count) * 1000
    console.log(`${count} repositories: ${waits.map((wait) => wait.toFixed(2)).join(', ')} s`)
    console.log(`${each.toFixed(2)} ms a repository, ${(await godwit.peakMemory()).toFixed(0)} MB`)
  } finally {
    await godwit.stop()
  }
} finally {
  await rm(place, { recursive: true, force: true })
}

async function copies(root: string): Promise<string[]> {
  const one = join(await makeCorpus('small'), OWNER, 'small-1.git')
  await mkdir(join(root, OWNER), { recursive: true })
  const names = Array.from({ length: count }, (_, index) => `copy-${index}`)
  for (const name of names) await cp(one, join(root, OWNER, `${name}.git`), { recursive: true })
  return names
}
