import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { CONTESTANTS, type Corpus, type Figures } from './contestants.ts'
import { CORPORA, type CorpusName, makeCorpus } from './corpus.ts'
import { shell } from './measure.ts'
import { report } from './report.ts'

const { values } = parseArgs({
  options: {
    corpus: { type: 'string' },
    shape: { type: 'string', default: 'projects' },
    rounds: { type: 'string', default: '3' },
  },
})

const rounds = Number(values.rounds)
const { shape } = values
if (!(rounds >= 1)) throw new Error('--rounds must be a number from 1 on')
if (!isShape(shape)) throw new Error(`--shape must be one of ${Object.keys(CORPORA).join(', ')}`)

const corpus = await corpusIn(values.corpus ?? (await makeCorpus(shape)))
const figures = await measureAll(corpus, rounds)
const text = await report(corpus, figures, { rounds, args: process.argv.slice(2) })
const results = shape === 'projects' ? 'results.md' : `results-${shape}.md`
await writeFile(new URL(results, import.meta.url), text)
console.log(text)

function isShape(name: string): name is CorpusName {
  return name in CORPORA
}

async function corpusIn(dir: string): Promise<Corpus> {
  const root = resolve(dir)
  const [owner, ...others] = await readdir(root)
  // A migration is of one account, and the peers are to do the same work.
  if (!owner || others.length > 0) throw new Error(`${root} must hold the directory of one owner`)
  const names = (await readdir(join(root, owner))).filter((name) => name.endsWith('.git'))
  return { root, owner, repositories: names.map((name) => name.slice(0, -'.git'.length)) }
}

/** Side by side: everyone once a round, in turns from either end, all with the corpus in the page cache. */
async function measureAll(corpus: Corpus, rounds: number): Promise<Figures[]> {
  await shell('find "$1" -type f -exec cat {} + >/dev/null', corpus.root)
  const all: Figures[] = []
  for (let round = 1; round <= rounds; round += 1) {
    const figures: Figures = {}
    for (const { run } of round % 2 === 1 ? CONTESTANTS : CONTESTANTS.toReversed()) {
      const out = await mkdtemp(join(tmpdir(), 'godwit-bench-'))
      try {
        await shell('sync')
        Object.assign(figures, await run(corpus, out))
      } finally {
        await rm(out, { recursive: true, force: true })
      }
    }
    console.error(`round ${round}`, figures)
    all.push(figures)
  }
  return all
}
