import { copyFileSync, linkSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { makeCorpus, OWNER } from './corpus.ts'

/** Makes copies of one small repository. They share pack files by hard links; all other files are copied. */
export async function makeCopies(root: string, count: number, owner = OWNER): Promise<void> {
  const one = join(await makeCorpus('small'), OWNER, 'small-1.git')
  for (const name of namesOfCopies(count)) copy(one, join(root, owner, `${name}.git`))
}

export const namesOfCopies = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `copy-${index}`)

function copy(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const entry of readdirSync(from, { withFileTypes: true })) {
    const [source, target] = [join(from, entry.name), join(to, entry.name)]
    if (entry.isDirectory()) copy(source, target)
    else if (entry.name.startsWith('pack-')) linkSync(source, target)
    else copyFileSync(source, target)
  }
}
