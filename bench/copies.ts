import { copyFileSync, linkSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeCorpus, OWNER } from './corpus.ts'

/** File systems limit how many names a file can have, ext4 to 65,000. */
const ORIGINALS = 4

/**
 * Makes copies of a few small repositories. They share all files by hard links, except refs, which are copied. Files for dumb HTTP
 * servers and hooks (`info`) are omitted.
 */
export async function makeCopies(root: string, count: number, owner = OWNER): Promise<void> {
  const corpus = join(await makeCorpus('small'), OWNER)
  for (const [index, name] of namesOfCopies(count).entries()) {
    const original = join(corpus, `small-${1 + (index % ORIGINALS)}.git`)
    copy(original, join(root, owner, `${name}.git`), linkSync)
  }
}

export const namesOfCopies = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `copy-${index}`)

function copy(from: string, to: string, copyFile: typeof linkSync): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.name === 'info') continue
    if (entry.isDirectory()) copy(source, target, entry.name === 'refs' ? copyFileSync : copyFile)
    else copyFile(source, target)
  }
}
