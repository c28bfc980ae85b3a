import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { clientCommandLine } from '../support/client-command-line.ts'
import { gitHost } from '../support/git-host.ts'
import { startSharedService } from '../support/start-shared-service.ts'

const TOUR = /<!-- client tour -->\n```console\n(.*?)```/s

/** Removes what differs between runs or zlib versions: times, sizes, and intermediate states. */
const withoutVariableParts = (text: string): string[] =>
  text
    .replaceAll(/-\d{4}-\d\d-\d\d\./g, '-DATE.')
    .replaceAll(/CREATED +ARCHIVE/g, 'CREATED ARCHIVE')
    .replaceAll(/(just now|\d+ \w+ ago) +/g, 'TIME ')
    .replaceAll(/[\d.]+ (kB|bytes)/g, 'SIZE')
    .split('\n')
    .filter((line) => line !== '' && !/is (pending|exporting)$/.test(line))
    .sort()

test('the tour of the client in COMMANDS.md shows the real output', async (t) => {
  const page = await readFile(new URL('../../docs/COMMANDS.md', import.meta.url), 'utf8')
  const steps = TOUR.exec(page)![1]!
    .split(/^\$ godwit migration /m)
    .slice(1)
  assert.ok(steps.length >= 5)

  await using host = await gitHost()
  await host.commit(await host.repository('alice/site'), { 'index.html': '<h1>Alice</h1>' })
  const config = { 'godwit.collaborator': 'alice:admin' }
  await host.commit(await host.repository('octo/tools', { config }), { 'tool.sh': 'echo tool' })
  const service = await startSharedService(t, { repositories: host.root })
  const token = await service.token('alice')
  const { godwit } = await clientCommandLine(t, { url: service.url, token })
  for (const step of steps) {
    const [line = '', ...shown] = step.split('\n')
    const { stdout, stderr } = await godwit(['migration', ...line.split(' ')])
    assert.deepEqual(
      withoutVariableParts(`${stdout}${stderr}`),
      withoutVariableParts(shown.join('\n')),
      line,
    )
  }
})
