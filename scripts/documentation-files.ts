import { globSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

/** `node scripts/documentation-files.ts` prints the files of the documentation that the packages for npm and Debian contain. */
const ROOT = new URL('..', import.meta.url).pathname

/** Returns their paths in the checkout: `files` in package.json without the program, and what npm always adds. */
export function documentationFiles(): string[] {
  const { files } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const patterns = (files as string[]).filter((each) => each !== 'lib')
  const found = [...patterns, 'README.md', 'LICENSE'].flatMap((pattern) =>
    globSync([pattern, `${pattern}/**`], { cwd: ROOT }),
  )
  return [...new Set(found)].filter((each) => statSync(join(ROOT, each)).isFile()).sort()
}

if (import.meta.main) console.log(documentationFiles().join('\n'))
