import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { clientCommandLine } from '../support/client-command-line.ts'
import { fakeServer, sendJson } from '../support/fake-server.ts'
import { temporaryDirectory } from '../support/sample-repositories.ts'
import { atTerminal, needsTerminal } from '../support/terminal.ts'

const GODWIT = new URL('../../bin/godwit', import.meta.url).pathname
const TOKEN = 'gwt_watching0123456789'
const REDRAWN = '\r\x1b[K'

const MIGRATION = {
  id: 7,
  state: 'exporting',
  owner: { login: 'alice' },
  created_at: '2026-11-15T10:00:00Z',
}
const TOTALS = {
  repositories: 205,
  exported: 42,
  reused: 0,
  skipped: 0,
  failed: 0,
  remaining: 163,
  phase: 'packing',
  percent: 57,
  bytes_done: 128_000_000,
  bytes_expected: 131_000_000,
  bytes_per_second: 26_000_000,
  seconds_left: 754,
  records_done: 0,
  records_expected: 0,
  waiting_until: null,
}
const PACKING = { full_name: 'alice/atlas', state: 'exporting', phase: 'packing', bytes_done: 1 }
const REASON = `objects/pack/pack-${'a'.repeat(40)}.pack: pack checksum mismatch\nfatal: bad tree`
const BROKEN = { full_name: 'alice/site', state: 'failed', bytes_done: 0, reason: REASON }

type Event = [name: string, data: object]

/** Starts a server whose event stream for migration 7 has these events. */
async function serverWith(t: TestContext, events: Event[]): Promise<string> {
  const { url } = await fakeServer(t, ({ path }, response) => {
    if (/\/(summary|report)$/.test(path)) return sendJson(response, 404, { message: 'Not Found' })
    if (!path.endsWith('/progress')) return sendJson(response, 200, MIGRATION)
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(
      events.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join(''),
    )
  })
  return url
}

const FAILED: Event[] = [
  ['repository', BROKEN],
  ['progress', { ...TOTALS, failed: 1, remaining: 0, under_way: [] }],
  ['end', { state: 'failed', reason: `alice/site: ${REASON}` }],
]

test('a watch prints short reasons once, and those of git on demand', async (t) => {
  const url = await serverWith(t, FAILED)
  const { migration } = await clientCommandLine(t, { url, token: TOKEN })
  const { out, err } = await migration(1, 'watch', '7')
  assert.equal(out, '')
  assert.equal(
    err,
    [
      'migration 7 is exporting',
      'failed: alice/site: pack is damaged',
      'migration 7 failed',
      'godwit: migration 7 failed: 1 of 205 repositories could not be exported; `godwit migration report 7` shows more (Godwit only)',
      '',
    ].join('\n'),
  )
  const verbose = (await migration(1, 'watch', '7', '--verbose')).err
  assert.match(
    verbose,
    /^failed: alice\/site: objects\/pack\/.*: pack checksum mismatch fatal: bad tree$/m,
  )
})

test('a watch with --json prints the events as lines', async (t) => {
  const { migration } = await clientCommandLine(t, {
    url: await serverWith(t, FAILED),
    token: TOKEN,
  })
  const { out, err } = await migration(1, 'watch', '7', '--json')
  assert.match(err, /^godwit: migration 7 failed: .*\n$/)
  assert.deepEqual(
    out.split('\n').map((line) => JSON.parse(line)),
    [
      { id: 7, event: 'state', state: 'exporting' },
      { id: 7, event: 'repository', ...BROKEN },
      { id: 7, event: 'progress', ...FAILED[1]![1] },
      { id: 7, event: 'end', ...FAILED[2]![1] },
    ],
  )
})

test('a reason without repositories is on one line', async (t) => {
  const url = await serverWith(t, [['end', { state: 'failed', reason: 'first\nsecond' }]])
  const { migration } = await clientCommandLine(t, { url, token: TOKEN })
  assert.match(
    (await migration(1, 'watch', '7')).err,
    /^godwit: migration 7 failed: first second; /m,
  )
})

/** Returns the progress lines of a watch at a terminal, and the text that stays. */
async function watched(t: TestContext, columns: number, updates: object[]) {
  const totals = updates.map(
    (each): Event => ['progress', { ...TOTALS, under_way: [PACKING], ...each }],
  )
  const url = await serverWith(t, [...totals, ['end', { state: 'exported', reason: null }]])
  const { code, shown } = await atTerminal(`${GODWIT} migration watch 7`, {
    cwd: temporaryDirectory(t),
    env: { GODWIT_URL: url, GODWIT_TOKEN: TOKEN, NO_COLOR: '1' },
    columns,
  })
  assert.equal(code, 0, shown)
  const drawn = shown.split(REDRAWN).map((text) => text.replaceAll('\r\n', '\n'))
  return {
    bars: drawn.filter((text) => text.startsWith('[')),
    kept: drawn.filter((text) => text.endsWith('\n')).join(''),
  }
}

const READING = { ...PACKING, full_name: 'alice/birds', phase: 'records' }
/** Two days, five hours and a half ago: minutes are not shown. */
const STALLED_SINCE = new Date(Date.now() - 53.5 * 3_600_000).toISOString()
const NO_ESTIMATE = { seconds_left: null, bytes_per_second: null }
const UPDATES = [
  {},
  { bytes_per_second: 1_200_000, seconds_left: 12 },
  {
    ...NO_ESTIMATE,
    phase: 'records',
    records_done: 12,
    records_expected: 400,
    under_way: [{ ...PACKING, phase: 'queued' }, READING],
  },
  { seconds_left: null, stalled_since: STALLED_SINCE, waiting_for: 'a worker' },
  { ...NO_ESTIMATE, phase: 'sealing', remaining: 0, percent: 99, under_way: [] },
]

test('one line of 40 columns has the progress and the time left', needsTerminal, async (t) => {
  const { bars } = await watched(t, 40, UPDATES)
  assert.deepEqual(bars, [
    '[######....] 42/205, 13 min left',
    '[######....] 42/205, 12 s left',
    '[######....] 42/205, 12/400 records',
    '[######....] 42/205, stalled 2 d 5 h',
    '[##########] 205/205, sealing archive',
  ])
})

test(
  'a line of 80 columns also has the rate and what happens now, and then come the next steps',
  needsTerminal,
  async (t) => {
    const { bars, kept } = await watched(t, 80, UPDATES)
    assert.deepEqual(bars, [
      '[###########.........] 42/205, 13 min left, 26 MB/s, packing alice/atlas',
      '[###########.........] 42/205, 12 s left, 1.2 MB/s, packing alice/atlas',
      '[###########.........] 42/205, 12/400 records, reading records of alice/birds',
      '[###########.........] 42/205, stalled 2 d 5 h, waiting for a worker',
      '[####################] 205/205 repositories, sealing archive, 128 MB of 131 MB',
    ])
    assert.equal(
      kept,
      [
        'migration 7 is exporting',
        'migration 7 is exported: 42 of 205 repositories',
        'next:',
        '  godwit migration download 7',
        '  godwit verify migration-7-alice-2026-11-15.tar.gz',
        '  godwit restore migration-7-alice-2026-11-15.tar.gz --into DIR',
        '  godwit convert migration-7-alice-2026-11-15.tar.gz --to html --output site',
        '',
      ].join('\n'),
    )
  },
)
