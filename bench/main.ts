import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { loadavg } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { endProcess } from '../test/support/process-end.ts'
import { benchClones } from './clones.ts'
import { benchCluster } from './cluster.ts'
import type { Corpus } from './contestants.ts'
import { benchConvert } from './convert.ts'
import { CORPORA, type CorpusName, makeCorpus } from './corpus.ts'
import { benchDashboard } from './dashboard.ts'
import { benchDownloads } from './downloads.ts'
import { benchExports } from './export.ts'
import { benchGreedy } from './greedy.ts'
import { benchGrowth } from './growth.ts'
import { run } from './measure.ts'
import { benchMemory } from './memory.ts'
import { benchReads } from './reads.ts'
import { replaceSection } from './report.ts'
import { type Section, sectionText } from './section.ts'
import { benchStarts } from './starts.ts'
import { benchSync } from './sync.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    corpus: { type: 'string' },
    shape: { type: 'string', default: 'projects' },
    rounds: { type: 'string', default: '3' },
    'max-repositories': { type: 'string', default: '10000' },
  },
})

const rounds = Number(values.rounds)
const { shape } = values
if (!(rounds >= 1)) throw new Error('--rounds must be a number from 1 on')
if (!isShape(shape)) throw new Error(`--shape must be one of ${Object.keys(CORPORA).join(', ')}`)

/** The sections in the order of the results. A section returns undefined where its tools are not installed. */
const SECTIONS: Record<string, () => Promise<Section | undefined>> = {
  reads: () => benchReads({ rounds }),
  starts: () => benchStarts({ rounds }),
  exports: async () => benchExports(await corpora(), { rounds }),
  downloads: async () => benchDownloads(await corpus(), { rounds }),
  clones: async () => benchClones(await makeCorpus('hundred'), { rounds }),
  growth: () => benchGrowth({ rounds, max: Number(values['max-repositories']) }),
  sync: () => benchSync({ rounds }),
  memory: () => benchMemory({ rounds }),
  greedy: () => benchGreedy(),
  cluster: () => benchCluster({ rounds }),
  dashboard: () => benchDashboard({ rounds }),
  convert: () => benchConvert({ rounds }),
}

const wanted = values.only?.flatMap((names) => names.split(',')) ?? Object.keys(SECTIONS)
for (const name of wanted) {
  if (!(name in SECTIONS)) throw new Error(`--only takes ${Object.keys(SECTIONS).join(', ')}`)
}

await run(new URL('install-peers', import.meta.url).pathname, [])
for (const name of wanted) {
  console.error(`\n${name}`)
  try {
    const section = await SECTIONS[name]!()
    if (section !== undefined) await keep(name, section)
  } catch (error) {
    // One failing section does not stop the others.
    console.error(error)
    process.exitCode = 1
  }
}
await endProcess()

async function keep(name: string, section: Section): Promise<void> {
  const text = await withPlots(section)
  const conditions = `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, load average of the last 15 minutes ${loadavg()[2]!.toFixed(1)}`
  const file = new URL('results.md', import.meta.url).pathname
  const before = await readFile(file, 'utf8').catch(() => '')
  const order = Object.keys(SECTIONS)
  await writeFile(file, await replaceSection(before, { name, order, text, conditions }))
  console.log(text)
}

async function withPlots(section: Section): Promise<string> {
  const plots = new URL('plots', import.meta.url).pathname
  await mkdir(plots, { recursive: true })
  for (const { file, svg } of section.plots) await writeFile(join(plots, file), svg)
  return sectionText(section)
}

function isShape(name: string): name is CorpusName {
  return name in CORPORA
}

/** Exports are measured with two different corpora, unless one was chosen. */
async function corpora(): Promise<Corpus[]> {
  if (values.corpus || shape !== 'projects') return [await corpus()]
  return [await corpus(), await corpusAt(await makeCorpus('lively'), 'lively')]
}

async function corpus(): Promise<Corpus> {
  return values.corpus
    ? corpusAt(resolve(values.corpus), basename(values.corpus))
    : corpusAt(await makeCorpus(shape as CorpusName), shape)
}

async function corpusAt(root: string, name: string): Promise<Corpus> {
  const [owner, ...others] = await readdir(root)
  // A migration belongs to one account, and all tools must do the same work.
  if (!owner || others.length > 0) throw new Error(`${root} must hold the directory of one owner`)
  const names = (await readdir(join(root, owner))).filter((name) => name.endsWith('.git'))
  return { name, root, owner, repositories: names.map((name) => name.slice(0, -'.git'.length)) }
}
