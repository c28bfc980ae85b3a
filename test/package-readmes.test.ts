import assert from 'node:assert/strict'
import { globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { after, describe, type TestContext, test } from 'node:test'
import { makeArchive, makeHost, outputOf, readExample } from './support/readme-example.ts'
import { temporaryDirectory } from './support/sample-repositories.ts'
import { startSharedService } from './support/start-shared-service.ts'

const ROOT = new URL('..', import.meta.url).pathname

interface Example {
  /** Returns the arguments of the example. */
  args(t: TestContext): Promise<readonly string[]>
  prints: readonly string[]
}

const EXAMPLES: Readonly<Record<string, Example>> = {
  lib: {
    args: async () => [],
    prints: ['1.6 MB 2 repositories', 'a title with \\u{1b}[31mcolors', '1 4 9'],
  },
  git: {
    args: async (t) => [join(makeHost(t), 'alice/site.git')],
    prints: [
      '5a3a8e9fc27d44bdf4dfdac6650938bafebafe5c refs/heads/main',
      '8 files; every object below 1 commit is there',
    ],
  },
  archive: {
    args: async (t) => [await makeArchive(t)],
    prints: ['alice/site', 'verified alice/site', 'alice/site 0'],
  },
  hosts: {
    args: async (t) => [makeHost(t)],
    prints: ['alice/site (main): The site of Alice'],
  },
  contract: {
    async args(t) {
      const service = await startSharedService(t, { repositories: makeHost(t) })
      return [service.url, await service.token('alice')]
    },
    prints: ['exported', 'alice/site', 'application/x-gzip'],
  },
  server: {
    args: async (t) => [(await startSharedService(t, { repositories: makeHost(t) })).data],
    prints: ['alice: User'],
  },
  dashboard: { args: async () => [], prints: ['Godwit', 'API · Godwit'] },
  cli: {
    args: async (t) => [makeHost(t)],
    prints: [
      'verified: alice/site',
      'site.tar.gz is intact: 1 repository verified',
      'restored: alice/site',
      'Begin',
    ],
  },
}

describe('the example in the README of each package prints what it should', () => {
  // Inside the checkout, so that it finds the packages as their users do.
  mkdirSync(join(ROOT, 'var'), { recursive: true })
  const modules = mkdtempSync(join(ROOT, 'var/readme-examples-'))
  after(() => rmSync(modules, { recursive: true }))
  const programs = [join(ROOT, 'node_modules/.bin'), join(ROOT, 'bin')]
  const PATH = [...programs, process.env.PATH].join(delimiter)

  for (const name of globSync('packages/*', { cwd: ROOT }).map((folder) => basename(folder)))
    test(name, async (t) => {
      const { args, prints } = EXAMPLES[name]!
      const { language, code } = readExample(name)
      const module = join(modules, `${name}.mjs`)
      writeFileSync(module, code)
      const program = language === 'js' ? ['node', module] : ['sh', '-ec', code, 'example']
      const [file = '', ...options] = [...program, ...(await args(t))]
      const place = { cwd: temporaryDirectory(t), env: { ...process.env, PATH } }
      assert.deepEqual(await outputOf(file, options, place), prints)
    })
})
