import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { type TestContext, test } from 'node:test'
import { commandLine } from '../support/command-line.ts'
import { fakeServer, sendJson } from '../support/fake-server.ts'
import { GITLAB_2019, needsGitLab } from '../support/gitlab-exports.ts'
import {
  dropDownload,
  etagOf,
  gitlabServer,
  makeExport,
  sendArchive,
} from '../support/gitlab-server.ts'
import { until } from '../support/wait-until.ts'

const TOKEN = 'glpat-C4n4ryOfTheMine01'

interface SceneOptions {
  projects?: readonly string[]
  states?: readonly string[]
  pageSize?: number
  archive?: Buffer
}

interface Result {
  exports: { project: string; state: string; file?: string; bytes?: number; reason?: string }[]
  conversion?: { converted: string[]; failed: unknown[] }
}

async function scene(t: TestContext, options: SceneOptions = {}) {
  const archive = options.archive ?? (await makeExport())
  const server = await gitlabServer(t, {
    projects: ['group/tool'],
    ...options,
    ...{ token: TOKEN, archive },
  })
  const { folder, godwit, start, leftovers } = await commandLine(t)
  await writeFile(join(folder, 'token'), `${TOKEN}\n`)
  const argsOf = (...args: string[]) => {
    const options = ['--url', server.url, '--token-file', 'token', '--output', 'out']
    return ['gitlab', 'export', ...options, ...args]
  }
  const file = (name: string) => join(folder, 'out', name)
  const files = async () =>
    existsSync(file(''))
      ? (await readdir(file(''), { recursive: true, withFileTypes: true }))
          .filter((each) => each.isFile())
          .map(({ parentPath, name }) => relative(file(''), join(parentPath, name)))
          .sort()
      : []
  /** Runs the command, and asserts its exit code and that it prints no secret and leaves no temporary files. */
  const run = async (code: number, ...args: string[]) => {
    const ended = await godwit(argsOf(...args))
    assert.equal(ended.code, code, ended.output)
    assert.ok(!ended.output.includes(TOKEN), 'the token is printed')
    assert.deepEqual(await leftovers(), [])
    for (const name of await files())
      assert.ok(!(await readFile(file(name))).includes(TOKEN), `the token is in ${name}`)
    return { ...ended, out: ended.stdout.toString() }
  }
  const runJson = async (code: number, ...args: string[]): Promise<Result> =>
    JSON.parse((await run(code, '--json', ...args)).out)
  const countOf = (call: string) => server.calls().filter((each) => each === call).length
  return { archive, server, folder, argsOf, start, run, runJson, file, files, countOf }
}

const START = 'POST /projects/1/export'
const STATUS = 'GET /projects/1/export'
const DOWNLOAD = 'GET /projects/1/export/download'
const PART = 'group/tool_export.tar.gz.part'
const isDownload = /export\/download$/

test('a project is exported when the server has finished, and a second run skips it', async (t) => {
  const states = ['none', 'queued', 'started', 'finished']
  const { archive, server, run, file, files, countOf } = await scene(t, { states })
  const first = await run(0, 'group/tool')
  assert.equal(
    first.out,
    `exported: group/tool: ${file('group/tool_export.tar.gz')}: ${Math.round(archive.length / 1000)} kB\n`,
  )
  assert.deepEqual(await readFile(file('group/tool_export.tar.gz')), archive)
  assert.deepEqual(await files(), ['group/tool_export.tar.gz'])
  assert.deepEqual([START, STATUS, DOWNLOAD].map(countOf), [1, 5, 1])
  const before = server.requests.length
  assert.match((await run(0, 'group/tool')).out, /^skipped: group\/tool: .* is already there$/m)
  assert.deepEqual(
    server.requests.slice(before).map(({ path }) => path),
    ['/api/v4/version', '/api/v4/projects/group%2Ftool'],
  )
})

test('all projects of a group and its subgroups are exported, page by page', async (t) => {
  const projects = ['group/a', 'group/b', 'other/x', 'group/sub/a', 'group/sub/deep/c', 'group/d']
  const { runJson, files, server } = await scene(t, { projects, pageSize: 2 })
  const { exports } = await runJson(0, 'group', 'group/a')
  const expected = projects.filter((each) => each !== 'other/x').sort()
  assert.deepEqual(exports.map(({ project }) => project).sort(), expected)
  assert.ok(exports.every(({ state }) => state === 'exported'))
  assert.deepEqual(
    await files(),
    expected.map((each) => `${each}_export.tar.gz`),
  )
  const pages = server.calls().filter((each) => each.startsWith('GET /groups/group/projects?'))
  assert.equal(pages.length, 3)
  assert.ok(pages.every((each) => /include_subgroups=true.*with_shared=false/.test(each)))
})

test('the command waits as long as a rate limit says, and tries again after errors of the server', async (t) => {
  const { server, run, files, countOf } = await scene(t)
  const later = { 'retry-after': '1' }
  server.once(/^POST/, (response) => sendJson(response, 429, { message: 'Slow down' }, later))
  server.once(isDownload, (response) => sendJson(response, 429, { message: 'Slow down' }, later))
  const reset = String(Math.ceil(Date.now() / 1000))
  const exhausted = { 'ratelimit-remaining': '0', 'ratelimit-reset': reset }
  server.once(/^GET .*export$/, (response) => sendJson(response, 429, {}, exhausted))
  server.once(/^GET .*export$/, (response) => sendJson(response, 500, { message: 'Oops' }))
  server.once(/^GET .*export$/, (response) => void response.destroy())
  const { stderr } = await run(0, 'group/tool')
  assert.match(stderr, /limits requests: waiting 1 s/)
  assert.match(stderr, /failed: 500 \(Oops\); trying again/)
  assert.deepEqual([START, DOWNLOAD].map(countOf), [2, 2])
  assert.deepEqual(await files(), ['group/tool_export.tar.gz'])
})

test('a download that breaks off is resumed by a range request', async (t) => {
  const { archive, server, run, file } = await scene(t)
  server.once(isDownload, (response) => dropDownload(response, archive, file(PART)))
  await run(0, 'group/tool')
  const [first, second] = server.requests.filter(({ path }) => isDownload.test(path))
  assert.equal(first?.headers.range, undefined)
  assert.match(second?.headers.range ?? '', /^bytes=[1-9]\d*-$/)
  assert.deepEqual(await readFile(file('group/tool_export.tar.gz')), archive)
})

test('the token is not sent along a redirect to object storage, whose address is not printed', async (t) => {
  const { archive, server, run, file } = await scene(t)
  const storage = await fakeServer(t, ({ headers }, response) => {
    if (storage.requests.length === 1) return dropDownload(response, archive, file(PART))
    sendArchive(response, archive, headers.range)
  })
  for (const _ of [1, 2])
    server.once(isDownload, (response) => {
      response.writeHead(302, { location: `${storage.url}/bucket?signature=S3cret` }).end()
    })
  const { output } = await run(0, 'group/tool')
  assert.ok(!output.includes('S3cret'))
  assert.deepEqual(await readFile(file('group/tool_export.tar.gz')), archive)
  const ranges = storage.requests.map(({ headers }) => headers.range !== undefined)
  assert.deepEqual(ranges, [false, true])
  for (const { headers } of storage.requests)
    assert.ok(!JSON.stringify(headers).includes(TOKEN), 'the token was sent')
})

test('a project that fails is named, the others are exported, and the exit code is 1', async (t) => {
  const projects = ['group/denied', 'group/disabled', 'group/large', 'group/tool']
  const { server, runJson, run, files } = await scene(t, { projects })
  const refuse = (id: number, status: number, body: object) =>
    server.once(new RegExp(`^POST /projects/${id}/`), (response) =>
      sendJson(response, status, body),
    )
  const refuseAll = () => {
    refuse(1, 403, { message: `403 Forbidden for Bearer ${TOKEN}` })
    refuse(2, 404, { error: '404 Not Found' })
    refuse(3, 400, { message: { base: ['The project size exceeds the export limit.'] } })
  }
  refuseAll()
  const { exports } = await runJson(1, 'group', 'nothing')
  const reasons = Object.fromEntries(exports.map((each) => [each.project, each.reason]))
  assert.deepEqual(reasons, {
    'group/denied':
      'the server responded 403 (403 Forbidden for Bearer …): an export takes the Maintainer or Owner role, and a token with the scope `api`',
    'group/disabled':
      'the server responded 404 (404 Not Found): an administrator may have disabled exports',
    'group/large':
      'the server responded 400 ({"base":["The project size exceeds the export limit."]})',
    'group/tool': undefined,
    nothing: 'no such group or project, or the token may not read it',
  })
  assert.deepEqual(await files(), ['group/tool_export.tar.gz'])
  refuseAll()
  const { out, stderr } = await run(1, 'group')
  assert.match(out, /^failed: group\/denied: the server responded 403/m)
  assert.match(out, /^skipped: group\/tool/m)
  assert.match(stderr, /^godwit: 3 of 4 projects not exported$/m)
})

for (const states of [['failed'], ['started', 'none']])
  test(`an export that ends as ${states.at(-1)} fails its project`, async (t) => {
    const { runJson, files } = await scene(t, { states })
    const { exports } = await runJson(1, 'group/tool')
    assert.equal(
      exports[0]?.reason,
      `the server could not make the export (status ${states.at(-1)})`,
    )
    assert.deepEqual(await files(), [])
  })

for (const [what, damage] of [
  ['truncated', (archive: Buffer) => archive.subarray(0, archive.length - 20_000)],
  ['a web page', () => Buffer.from('<!DOCTYPE html><p>Sign in')],
] as const)
  test(`a download that is ${what} is removed, and the next run downloads it again`, async (t) => {
    const { archive, server, runJson, files } = await scene(t)
    server.once(isDownload, (response) => sendArchive(response, damage(archive)))
    const { exports } = await runJson(1, 'group/tool')
    assert.match(exports[0]?.reason ?? '', /^the export is damaged and was removed: /)
    assert.deepEqual(await files(), [])
    assert.equal((await runJson(0, 'group/tool')).exports[0]?.state, 'exported')
  })

test('after Ctrl-C only the downloaded part is left, and the next run resumes the same export', async (t) => {
  const { archive, server, argsOf, start, run, files, file, countOf } = await scene(t)
  server.once(isDownload, (response) => {
    response.writeHead(200, { etag: etagOf(archive), 'content-length': archive.length })
    response.write(archive.subarray(0, 100_000))
  })
  const command = start(argsOf('group/tool'))
  const part = file(PART)
  await until(
    'the first bytes are written',
    async () => existsSync(part) && (await readFile(part)).length,
  )
  command.kill('SIGINT')
  const { code, stderr } = await command.result
  assert.equal(code, 130)
  assert.match(stderr, /stopped; the downloaded parts are kept, and the same command continues/)
  assert.deepEqual(await files(), [
    'group/tool_export.tar.gz.part',
    'group/tool_export.tar.gz.part.etag',
  ])
  const size = (await readFile(part)).length
  await run(0, 'group/tool')
  assert.equal(countOf(START), 1, 'no second export is made')
  assert.equal(
    server.requests.findLast(({ path }) => isDownload.test(path))?.headers.range,
    `bytes=${size}-`,
  )
})

test('an export that is already running is used instead of starting another one', async (t) => {
  const { archive, server, run, files, countOf } = await scene(t)
  for (const export_status of ['regeneration_in_progress', 'started', 'finished'])
    server.once(/^GET .*export$/, (response) => sendJson(response, 200, { export_status }))
  server.once(isDownload, (response) => sendArchive(response, archive))
  await run(0, 'group/tool')
  assert.equal(countOf(START), 0)
  assert.deepEqual(await files(), ['group/tool_export.tar.gz'])
})

test('a stop while the server makes the export leaves no files', async (t) => {
  const { server, argsOf, start, files, countOf } = await scene(t)
  server.once(/^POST/, () => {})
  const command = start(argsOf('group/tool'))
  await until('the export is requested', () => countOf(START) > 0)
  command.kill('SIGTERM')
  const { code, output } = await command.result
  assert.equal(code, 143, output)
  assert.deepEqual(await files(), [])
})

test('a refused token ends the command at once', async (t) => {
  const { folder, run, server } = await scene(t)
  await writeFile(join(folder, 'token'), 'glpat-another')
  const { stderr } = await run(3, 'group/tool')
  assert.equal(
    stderr,
    `godwit: ${server.url} does not accept the token (401 Unauthorized): check --token-file\n`,
  )
  assert.equal(server.requests.length, 1)
})

test('invalid options send nothing and write nothing', async (t) => {
  const { run, server, files, folder } = await scene(t)
  const refused = async (expected: RegExp, ...args: string[]) =>
    assert.match((await run(2, 'group/tool', ...args)).stderr, expected)
  await refused(/--url must begin with https:/, '--url', 'http://gitlab.example.com')
  await refused(
    /must not contain a user name or password/,
    '--url',
    'https://a:b@gitlab.example.com',
  )
  await refused(/cannot read the forge's token from none: ENOENT/, '--token-file', 'none')
  await refused(/--to nonsense: must be one of/, '--to', 'nonsense')
  await refused(/--owner a b: its name has characters/, '--to', 'html', '--owner', 'a b')
  await writeFile(join(folder, 'token'), '')
  await refused(/is empty: token/)
  assert.deepEqual([server.requests, await files()], [[], []])
})

test('a server that is not GitLab is named', async (t) => {
  const { run } = await scene(t)
  const other = await fakeServer(t, (_request, response) => void response.end('<p>Welcome'))
  const { stderr } = await run(3, 'group/tool', '--url', other.url)
  assert.match(stderr, /does not respond like GitLab: check --url/)
})

test('a hostile path of a project writes no file outside the directory', async (t) => {
  const { server, runJson, files, folder } = await scene(t)
  server.once(/^GET \/projects\/evil$/, (response) =>
    sendJson(response, 200, { id: 1, path_with_namespace: '../../evil' }),
  )
  const { exports } = await runJson(1, 'evil')
  assert.equal(exports[0]?.reason, 'its path cannot be the name of a file')
  assert.deepEqual([await files(), await readdir(folder)], [[], ['out', 'token']])
})

test('--to converts all exports to one output, also those of an earlier run', async (t) => {
  const projects = ['group/one', 'group/sub/two', 'other/three']
  const { run, runJson, file } = await scene(t, { projects })
  await run(0, 'group/one')
  const { stderr } = await run(2, 'group', 'other', '--to', 'github-archive')
  assert.match(stderr, /the projects are in 2 groups: use --owner LOGIN with --to/)
  const { exports, conversion } = await runJson(0, 'group', '--to', 'github-archive')
  assert.deepEqual(exports.map(({ project, state }) => `${state} ${project}`).sort(), [
    'exported group/sub/two',
    'skipped group/one',
  ])
  assert.deepEqual(conversion?.converted.sort(), ['group/one', 'group/two'])
  assert.ok(existsSync(file('converted.tar.gz')))
  const again = await run(1, 'group', '--to', 'github-archive')
  assert.match(again.stderr, /converted\.tar\.gz already exists: move it away/)
  const dumps = await runJson(0, 'group', '--to', 'gitea-dump', '--owner', 'alice')
  assert.deepEqual(dumps.conversion?.converted.sort(), ['alice/one', 'alice/two'])
  assert.ok(existsSync(file('converted/alice/one')))
})

test('--to html writes a site to the directory converted', async (t) => {
  const { run, file } = await scene(t)
  await run(0, 'group/tool', '--to', 'html')
  assert.ok(existsSync(file('converted/index.html')))
})

test('a real export is downloaded, verified and converted', needsGitLab, async (t) => {
  const { run, file } = await scene(t, { archive: await readFile(GITLAB_2019) })
  const { out } = await run(0, 'group/tool', '--to', 'github-archive')
  assert.match(out, /^converted: group\/tool$/m)
  assert.ok(existsSync(file('converted.tar.gz')))
})
