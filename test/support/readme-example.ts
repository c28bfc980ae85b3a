import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import type { TestContext } from 'node:test'
import { promisify } from 'node:util'
import { commandLine } from './command-line.ts'
import { commit, initBare, temporaryDirectory } from './sample-repositories.ts'

const run = promisify(execFile)

/** Returns the first example in the README of a package: a module, or commands of a shell. */
export function readExample(name: string): { language: string; code: string } {
  const file = new URL(`../../packages/${name}/README.md`, import.meta.url)
  const [, language, code] = /^```(js|sh)\n(.*?)^```$/ms.exec(readFileSync(file, 'utf8')) ?? []
  if (!language || !code) throw new Error(`packages/${name}/README.md has no example`)
  return { language, code }
}

/** Runs a program to its end, and returns its output, by lines. A module must not write to standard error. */
export async function outputOf(
  program: string,
  args: readonly string[],
  options: { cwd: string; env?: NodeJS.ProcessEnv },
): Promise<string[]> {
  const { stdout, stderr } = await run(program, args, options)
  if (basename(program) === 'node') assert.equal(stderr, '')
  return stdout.trimEnd().split('\n')
}

/** Makes a host with one repository, `alice/site`, and returns its directory. */
export function makeHost(t: Pick<TestContext, 'after'>): string {
  const root = temporaryDirectory(t)
  const dir = join(root, 'alice/site.git')
  initBare(dir)
  writeFileSync(join(dir, 'description'), 'The site of Alice\n')
  commit(dir, 'refs/heads/main', 'Begin')
  return root
}

/** Exports `alice/site` of that host, and returns the archive. */
export async function makeArchive(t: Pick<TestContext, 'after'>): Promise<string> {
  const { folder, godwit } = await commandLine(t)
  const from = ['--repositories', makeHost(t)]
  const { code, output } = await godwit(['export', 'alice/site', ...from, '--output', 'a.tar.gz'])
  assert.equal(code, 0, output)
  return join(folder, 'a.tar.gz')
}
