import type { Config } from '../../settings/config.ts'
import { exposedFile } from '../../settings/config-file.ts'
import { type CheckResult, failure, passed, warning } from './check-result.ts'

/** The file of settings: that this user may read it, and nobody who should not. */
export async function* checkConfig({ file }: Config): AsyncGenerator<CheckResult> {
  if (!file) return
  const { path, isDenied } = file
  const found = exposedFile(file)
  if (isDenied) {
    const advice = 'run doctor as root, or as the user that runs Godwit'
    yield failure('config', `this user may not read ${path}: its settings are missing`, advice)
  } else if (found !== undefined) yield warning('config', found, `run \`chmod o-r ${path}\``)
  else yield passed('config', path)
}
