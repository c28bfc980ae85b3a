import { join } from 'node:path'
import type { Git } from '../../../git/git.ts'
import type { KeptSettings } from '../../snapshot.ts'
import { readText } from '../files/read-text.ts'
import { Unsupported } from '../files/repository-errors.ts'
import { flag, readSettings, type Settings, setting } from '../files/repository-settings.ts'
import { lstatIfThere } from '../files/sync-fs.ts'

export async function readKeptSettings(
  at: { dir: string; name: string },
  git: Git,
  signal: AbortSignal,
): Promise<KeptSettings> {
  // Most configs deny nothing, and need not be understood.
  const mayDeny = /deny/i.test((await readText(at, 'config')) ?? '')
  const denials = mayDeny ? denialsOf(await readSettings(git, at.dir, signal)) : []
  return { denials, ...(await readAttributes(at)) }
}

const ATTRIBUTES = 'info/attributes'

/** A link is not followed, and neither that nor an absurd size is a reason to export nothing at all. */
async function readAttributes(at: { dir: string; name: string }) {
  const folder = await lstatIfThere(join(at.dir, 'info'))
  if (folder?.isSymbolicLink())
    return { attributes: undefined, attributesProblem: 'info is not a directory of its own' }
  try {
    return { attributes: await readText(at, ATTRIBUTES), attributesProblem: undefined }
  } catch (error) {
    if (!(error instanceof Unsupported)) throw error
    const attributesProblem = error.message.replace(`${at.name}: `, '')
    return { attributes: undefined, attributesProblem }
  }
}

const DENIALS = ['denyNonFastForwards', 'denyDeletes', 'denyDeleteCurrent', 'denyCurrentBranch']

/** Only values that git gives a meaning to in a bare repository: `updateInstead` is none of them. */
function denialsOf(settings: Settings): KeptSettings['denials'] {
  return DENIALS.flatMap((name): KeptSettings['denials'] => {
    const key = `receive.${name.toLowerCase()}`
    const isFlag = typeof flag(settings, key) === 'boolean'
    const value = isFlag ? String(flag(settings, key)) : (setting(settings, key) ?? '')
    return isFlag || /^(?:refuse|warn|ignore)$/i.test(value) ? [[name, value.toLowerCase()]] : []
  })
}
