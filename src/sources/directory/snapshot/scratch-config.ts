import type { Found } from './examine.ts'

/**
 * The config of a snapshot, as `git clone --mirror` leaves it and github.com writes it: there are importers that give
 * `origin` another address, and fail where there is none. Every value is ours, or was chosen from a short list.
 */
export function scratchConfig({ objectFormat, origin, kept }: Found): string {
  const isSha1 = objectFormat === 'sha1'
  return [
    section('core', [
      ['repositoryformatversion', isSha1 ? '0' : '1'],
      ['filemode', 'true'],
      ['bare', 'true'],
    ]),
    isSha1 ? '' : section('extensions', [['objectFormat', objectFormat]]),
    origin === undefined
      ? ''
      : section('remote "origin"', [
          ['url', quotedIfNeeded(origin)],
          ['fetch', '+refs/*:refs/*'],
          ['mirror', 'true'],
        ]),
    kept.denials.length === 0 ? '' : section('receive', kept.denials),
  ].join('')
}

function section(name: string, settings: readonly (readonly [string, string])[]): string {
  return `[${name}]\n${settings.map(([key, value]) => `\t${key} = ${value}\n`).join('')}`
}

/** A comment would begin within a value that has no quotes. */
function quotedIfNeeded(value: string): string {
  return /[#;"\\]/.test(value) ? `"${value.replace(/["\\]/g, '\\$&')}"` : value
}
