import { readFile, realpath, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'

/**
 * The `.gitolite` that rules over a directory of repositories: beside it, or in the home of whom it belongs to where that is
 * where their gitolite has its repositories. It must belong to the same user, or to root.
 */
export async function findGitolite(root: string): Promise<string | undefined> {
  const owner = (await stat(root).catch(() => undefined))?.uid
  if (owner === undefined) return undefined
  const real = await realpath(root)
  const homes = [dirname(resolve(root)), dirname(real)]
  const home = await homeOf(owner)
  if (home !== undefined && (await repositoriesOf(home)) === real) homes.push(home)
  for (const each of homes) {
    const folder = join(each, '.gitolite')
    const there = await stat(folder).catch(() => undefined)
    if (there?.isDirectory() && [owner, 0].includes(there.uid)) return folder
  }
  return undefined
}

async function homeOf(uid: number): Promise<string | undefined> {
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const fields = users.split('\n').map((line) => line.split(':'))
  return fields.find((field) => field[2] === String(uid))?.[5] || undefined
}

/** Where gitolite has its repositories unless its settings name another place. */
async function repositoriesOf(home: string): Promise<string | undefined> {
  const rc = await readRc(home)
  const [, stated] = /^\s*\$?(?:rc\{)?GL_REPO_BASE\}?\s*=>?\s*["']([^"']+)["']/m.exec(rc) ?? []
  const place = stated?.replace(/^\$ENV\{HOME\}/, home) ?? join(home, 'repositories')
  return realpath(place).catch(() => undefined)
}

/** Gitolite's settings. They are Perl, of which only what is said plainly can be read. */
export async function readRc(home: string): Promise<string> {
  const text = await readFile(join(home, '.gitolite.rc'), 'utf8').catch(() => '')
  return text.replace(/^\s*#.*$/gm, '')
}
