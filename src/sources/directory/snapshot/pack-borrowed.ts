import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { A_DAY, type Git } from '../../../git/git.ts'
import type { Found, ObjectFile } from '../../snapshot.ts'
import { readRefs, tipsOf } from '../files/read-refs.ts'
import { readText } from '../files/read-text.ts'
import { ChangedDuringRead, faultByName } from '../files/repository-errors.ts'
import { refuseSpecialObjects } from '../files/special-files.ts'
import { mayBeHiddenByLinks } from './examine-objects.ts'

/**
 * A wrong bitmap or commit-graph of the lender must not decide what is packed. Several threads would find other deltas each
 * time, and the same repository is to give the same bytes.
 */
const PACKING = {
  'core.commitGraph': 'false',
  'core.multiPackIndex': 'false',
  'pack.readReverseIndex': 'false',
  'pack.threads': '1',
  'pack.useBitmaps': 'false',
  'pack.writeReverseIndex': 'false',
}

/**
 * Packs into `dir` what the refs reach, and nothing else: the lender's other objects belong to somebody else. git runs
 * in our repository and borrows from the source just for this, so the source's config has no say.
 */
export async function packBorrowed(
  found: Found,
  dir: string,
  git: Git,
  signal: AbortSignal,
): Promise<ObjectFile[]> {
  const tips = tipsOf(found)
  if (tips.length === 0) return []
  const packs = join(dir, 'objects/pack')
  const alternates = join(dir, 'objects/info/alternates')
  await refuseSpecialObjects(found)
  await writeFile(alternates, await lenders(found))
  await git
    .run(['pack-objects', '--revs', '--delta-base-offset', '--quiet', join(packs, 'pack')], {
      dir,
      input: `${tips.join('\n')}\n`,
      config: PACKING,
      // It would go on with whatever the index led it to.
      mustNotSay: /bad packed object CRC/,
      timeoutMs: A_DAY,
      signal,
    })
    .catch(async (error) => {
      signal.throwIfAborted()
      // A ref deleted since may have taken its objects along; that is no damage.
      const now = tipsOf(await readRefs(found))
      if (now.join() !== tips.join()) throw new ChangedDuringRead('refs changed', { cause: error })
      throw faultByName(found.name, error, dir)
    })
  await rm(alternates)
  return listPacks(packs)
}

/** The source itself and whom it borrows from; older gits heed relative paths only at the first step. */
async function lenders(found: Found): Promise<string> {
  const objects = resolve(found.dir, 'objects')
  const text = (await readText(found, 'objects/info/alternates')) ?? ''
  if (text === '' && !(await mayBeHiddenByLinks(found, found.objectFiles)))
    throw new ChangedDuringRead('it no longer borrows')
  const lines = Buffer.from(text, 'latin1')
    .toString()
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
  // A quoted path is an absolute one or git's to unquote.
  const paths = lines.map((line) => (line.startsWith('"') ? line : resolve(objects, line)))
  return `${[objects, ...paths].join('\n')}\n`
}

async function listPacks(folder: string): Promise<ObjectFile[]> {
  const names = (await readdir(folder)).filter((name) => /\.(pack|idx)$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => {
      const from = join(folder, name)
      return { path: `objects/pack/${name}`, size: (await stat(from)).size, from }
    }),
  )
}
