/** What a licence lets people do, what it asks of them and what it leaves out, in the words that GitHub's API has for it. */
export interface LicenseRules {
  permissions: string[]
  conditions: string[]
  limitations: string[]
  featured: boolean
}

const USE = ['commercial-use', 'modifications', 'distribution', 'private-use']
const USE_AND_PATENTS = [...USE, 'patent-use']
const NO_WARRANTY = ['liability', 'warranty']
const COPYLEFT = ['include-copyright', 'document-changes', 'disclose-source']

const rules = (
  permissions: string[],
  conditions: string[],
  limitations = NO_WARRANTY,
  { featured = false } = {},
): LicenseRules => ({ permissions, conditions, limitations, featured })

const FEATURED = { featured: true }

/** Those that are commonly used: what a list of licences has. */
export const COMMON_LICENSES: Readonly<Record<string, LicenseRules>> = {
  'AGPL-3.0': rules(USE_AND_PATENTS, [...COPYLEFT, 'network-use-disclose', 'same-license']),
  'Apache-2.0': rules(
    USE_AND_PATENTS,
    ['include-copyright', 'document-changes'],
    ['trademark-use', ...NO_WARRANTY],
    FEATURED,
  ),
  'BSD-2-Clause': rules(USE, ['include-copyright']),
  'BSD-3-Clause': rules(USE, ['include-copyright']),
  'BSL-1.0': rules(USE, ['include-copyright--source']),
  'CC0-1.0': rules(USE, [], ['patent-use', 'trademark-use', ...NO_WARRANTY]),
  'EPL-2.0': rules(USE_AND_PATENTS, ['disclose-source', 'include-copyright', 'same-license']),
  'GPL-2.0': rules(USE, [...COPYLEFT, 'same-license']),
  'GPL-3.0': rules(USE_AND_PATENTS, [...COPYLEFT, 'same-license'], NO_WARRANTY, FEATURED),
  'LGPL-2.1': rules(USE, [...COPYLEFT, 'same-license--library']),
  MIT: rules(USE, ['include-copyright'], NO_WARRANTY, FEATURED),
  'MPL-2.0': rules(
    USE_AND_PATENTS,
    ['disclose-source', 'include-copyright', 'same-license--file'],
    ['trademark-use', ...NO_WARRANTY],
  ),
  Unlicense: rules(USE, []),
}
