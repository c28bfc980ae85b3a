import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readdir, writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { skipIfUnreachable } from '../support/npm-registry.ts'
import { makeArchive, outputOf, readExample } from '../support/readme-example.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'

const ROOT = new URL('../..', import.meta.url).pathname
const NODE = join(ROOT, 'node_modules/.bin/node')
const run = promisify(execFile)

test('the archive package works in an empty folder, without the rest of Godwit', async (t) => {
  const [packed, folder] = [temporaryDirectory(t), temporaryDirectory(t)]
  await run(join(ROOT, 'scripts/package-archive'), [packed])
  const [tarball = '', ...others] = await readdir(packed)
  assert.match(tarball, /^godwit-archive-\d+\.\d+\.\d+\.tgz$/)
  assert.deepEqual(others, [])

  await writeFile(join(folder, 'package.json'), '{ "private": true }')
  // Uses the npm cache, so that packages are not downloaded again.
  const PATH = [join(ROOT, 'node_modules/.bin'), process.env.PATH].join(delimiter)
  const env = { ...process.env, PATH, npm_config_prefer_offline: 'true' }
  try {
    await run('npm', ['install', '--no-audit', '--no-fund', join(packed, tarball)], {
      cwd: folder,
      env,
    })
  } catch (error) {
    return skipIfUnreachable(t, error)
  }

  await writeFile(join(folder, 'example.mjs'), readExample('archive').code)
  const archive = await makeArchive(t)
  assert.deepEqual(await outputOf(NODE, ['example.mjs', archive], { cwd: folder, env }), [
    'alice/site',
    'verified alice/site',
    'alice/site 0',
  ])

  await writeFile(
    join(folder, 'restore.mjs'),
    `import { archiveOpener, restoreArchive, temporaryGit } from '@godwit/archive'

    const [file, into] = process.argv.slice(2)
    await using temporary = await temporaryGit()
    const options = { git: temporary.git, open: await archiveOpener(file), into }
    const restored = restoreArchive(options, new AbortController().signal)
    for await (const { fullName, errors } of restored) console.log(fullName, errors.length)
`,
  )
  const restoring = ['restore.mjs', archive, join(folder, 'restored')]
  assert.deepEqual(await outputOf(NODE, restoring, { cwd: folder, env }), ['alice/site 0'])

  const installed = join(folder, 'node_modules/@godwit')
  assert.deepEqual(await readdir(installed), ['archive'])
  const bundled = await readdir(join(installed, 'archive/node_modules/@godwit'))
  assert.deepEqual(bundled.sort(), ['git', 'lib'])
  for (const name of ['server', 'hosts', 'git']) {
    const failed = run(NODE, ['--input-type=module', '--eval', `import '@godwit/${name}'`], {
      cwd: folder,
    })
    await assert.rejects(failed, { stderr: /ERR_MODULE_NOT_FOUND/ })
  }
})
