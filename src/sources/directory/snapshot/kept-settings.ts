import type { Git } from '../../../git/git.ts'
import { flag, readSettings, type Settings, setting } from '../facts/repository-settings.ts'
import { readText } from './examine-text.ts'
import { Unsupported } from './snapshot-errors.ts'

/**
 * What a repository says besides its refs and objects, and that harms nobody where it is written again: neither names a
 * program or a place. Attributes may name filters and drivers, but what those run is said in a config, and that is ours.
 */
export interface KeptSettings {
  /** What it refuses of pushes, as settings of `receive`, such as `denyDeletes`. */
  denials: [name: string, value: string][]
  /** `info/attributes` as a byte string (latin1). */
  attributes: string | undefined
  /** Why the attributes that are there are not kept. */
  attributesProblem: string | undefined
}

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
