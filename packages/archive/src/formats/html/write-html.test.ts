import assert from 'node:assert/strict'
import { createReadStream, existsSync } from 'node:fs'
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join, normalize, relative } from 'node:path'
import { before, describe, test } from 'node:test'
import { temporaryFolder } from '../../../../../test/support/archive-samples.ts'
import { cleanupAfterFile } from '../../../../../test/support/file-cleanup.ts'
import type { GitHost } from '../../../../../test/support/git-host.ts'
import { convertToHtml, makeReadableArchive } from '../../../../../test/support/html-site.ts'
import { REAL_ARCHIVE } from '../../../../../test/support/real-archive.ts'
import { UserError } from '../../../../lib/src/user-error.ts'
import { findReadme } from './documents.ts'

const fileCleanup = cleanupAfterFile()
let host: GitHost
let archive: string
let site: Awaited<ReturnType<typeof convertToHtml>>

before(async () => {
  const made = await makeReadableArchive(fileCleanup)
  archive = made.archive
  host = made.host
  site = await convertToHtml(fileCleanup, host, () => ({ folder: archive }))
})

const read = (path: string, directory = site.directory) => readFile(join(directory, path), 'utf8')
const readSite = (path: string) => read(`repositories/alice/site/${path}`)

/** Returns links and images of all pages that lead to a missing file or an element that does not exist. */
async function brokenLinks(directory: string): Promise<string[]> {
  const files = await readdir(directory, { recursive: true })
  const pages = files.filter((file) => file.endsWith('.html'))
  const broken: string[] = []
  for (const page of pages) {
    const text = await read(page, directory)
    for (const [, url = ''] of text.matchAll(/ (?:href|src)="([^"]*)"/g)) {
      if (/^(?:https?|mailto):/.test(url)) continue
      const [path = '', anchor] = url.split('#')
      const target = path ? normalize(join(dirname(page), decodeURIComponent(path))) : page
      const isFound = files.includes(target)
      const isFilter = anchor?.includes('=')
      const hasAnchor =
        !anchor ||
        isFilter ||
        (isFound && (await read(target, directory)).includes(`id="${anchor}"`))
      if (!isFound || !hasAnchor) broken.push(`${page}: ${url}`)
    }
  }
  return broken
}

describe('a site', () => {
  test('has every repository, with links that all work', async () => {
    assert.deepEqual(
      site.written.map(({ fullName, errors }) => [fullName, errors]),
      [
        ['alice/site', []],
        ['corp/empty', []],
        ['corp/quiet', []],
      ],
    )
    assert.deepEqual(await brokenLinks(site.directory), [])
    const start = await read('index.html')
    for (const name of ['alice/site', 'corp/empty', 'corp/quiet'])
      assert.ok(start.includes(`<a href="repositories/${name}/index.html">`), name)
    assert.match(start, /Written by godwit test on <time[^>]*>2 Jan 2026/)
  })

  test('has uploaded files only where the documented web servers send headers for them', async () => {
    const docs = await readFile(new URL('../../../../../docs/MOVING.md', import.meta.url), 'utf8')
    const patterns = Array.from(docs.matchAll(/(?:location ~|path_regexp) (\^\S+)/g), ([, each]) =>
      RegExp(each!),
    )
    assert.equal(patterns.length, 2)
    const entries = await readdir(site.directory, { recursive: true, withFileTypes: true })
    const files = entries.filter((entry) => entry.isFile())
    const paths = files.map(({ parentPath, name }) =>
      relative(site.directory, join(parentPath, name)),
    )
    assert.ok(paths.filter((path) => path.includes('/files/')).length > 2)
    for (const path of paths) {
      const isOwn = /\.(?:html|css|js)$/.test(path)
      for (const pattern of patterns) assert.equal(pattern.test(`/${path}`), !isOwn, path)
    }
  })

  test('shows the README with its images, tables, tasks and links', async () => {
    const page = await readSite('index.html')
    assert.match(page, /<h2 class="level-1" id="user-content-the-site-of-alice">/)
    assert.match(page, /<a href="#user-content-install">Install<\/a>/)
    assert.match(page, /<span>guide \(docs\/guide.md\)<\/span>/)
    assert.match(page, /<a href="pulls\/3.html">#3<\/a>/)
    const [, image = ''] = /<img src="([^"]+)" alt="Logo"/.exec(page) ?? []
    assert.equal(await readSite(image), 'a logo')
    assert.match(await read('repositories/corp/empty/index.html'), /This repository is empty\./)
  })

  test('shows every comment, review, hunk, reaction and event of a pull request', async () => {
    const page = await readSite('pulls/3.html')
    for (const text of [
      ...['Merged', 'From <code>own</code>', 'into <code>main</code>', 'Comment 14', 'Comment 31'],
      ...['Comment 32', 'Comment 33', 'Comment 34', 'approved these changes', 'requested changes'],
      ...['<p>No.</p>', '(not submitted)', '(dismissed)', 'merged this', 'closed this'],
      ...['<span class="removed">-two\n</span>', '<span class="added">+TWO\n</span>'],
      ...['<code>a.txt</code>, line 2', 'id="discussion_r31"', 'id="pullrequestreview-302"'],
      ...['id="event-24"', 'aria-label="-1"', 'title="bob"', 'title="Bob the Builder"'],
    ])
      assert.ok(page.includes(text), text)
    // The reply is in the thread of the comment that it replies to.
    assert.match(
      page,
      /class="thread"(?:(?!class="thread")[\s\S])*Comment 31(?:(?!class="thread")[\s\S])*Comment 32/,
    )
  })

  test('shows what belongs to an issue, in the order of time', async () => {
    const page = await readSite('issues/2.html')
    assert.ok(
      page.indexOf('Comment 13') < page.indexOf('Comment 11') || !page.includes('Comment 11'),
    )
    assert.ok(page.indexOf('locked the conversation') > page.indexOf('Comment 13'))
    const first = await readSite('issues/1.html')
    for (const text of [
      '<b>ghost</b>',
      'aria-label="+1"',
      '</span> alice, bob</li>',
      'milestone-1',
      'bug',
      'gone',
    ])
      assert.ok(first.includes(text), text)
    assert.match(first, /<ul class="files inline"><li><a href="[^"]+"[^>]*>shot.txt/)
    assert.match(first, /<img src="[^"]+extra.png" alt="extra.png"/)
  })

  test('keeps hostile text as text, and loads nothing from elsewhere', async () => {
    const page = await readSite('issues/2.html')
    assert.doesNotMatch(page, /<script|onerror="|javascript:[^)]*"|\u202e/)
    assert.match(page, /reversed ‹U\+202E›txt\.exe/)
    assert.match(page, /<a href="https:\/\/evil.example\/pixel.png"><span class="image">tracker/)
    assert.match(page, /<a href="..\/files\/\d+-[^"]*drawing_svg.txt">drawing<\/a>/)
    assert.match(page, /<img src="..\/files\/\d+-_+shot.png" alt="shot"/)
    assert.match(page, /<span>other \(..\/..\/..\/..\/etc\/passwd\)<\/span>/)
    assert.match(await readSite('issues/1.html'), /A &lt;b&gt;bold&lt;\/b&gt; title ‹U\+202E›evil/)
    const policy =
      "default-src 'none'; img-src 'self' file:; style-src 'self' file:; base-uri 'none'; form-action 'none'"
    assert.ok(page.includes(`content="${policy.replaceAll("'", '&#39;')}"`))
    const files = await readdir(site.directory, { recursive: true })
    for (const file of files.filter((name) => name.endsWith('.html')))
      assert.doesNotMatch(
        await read(file),
        / (?:src|style|on\w+)="(?:https?:|\/\/|[^"]*alert)|<style|<script>/,
        file,
      )
  })

  test('links issues by number, by name and by their old address', async () => {
    const page = await readSite('issues/2.html')
    assert.match(
      page,
      /<a href="..\/pulls\/3.html">#3<\/a>, <a href="1.html">alice\/site#1<\/a>, corp\/quiet#7/,
    )
    assert.match(page, /<a href="1.html#issuecomment-12">https:\/\/old.example.com/)
  })

  test('has releases with assets, labels, milestones, branches, tags, files and wiki pages', async () => {
    const releases = await readSite('releases/index.html')
    const [, asset = ''] = /href="(assets\/[^"]+)" download="a b.txt"/.exec(releases) ?? []
    assert.equal(await readSite(`releases/${asset}`), 'an asset')
    assert.match(releases, /Draft/)
    assert.match(
      await readSite('labels/index.html'),
      /fill="#d73a4a".*bug.*Broken[\s\S]*0 open, 2 closed/,
    )
    assert.match(await readSite('milestones/index.html'), /id="milestone-1"[\s\S]*0 open, 1 closed/)
    assert.match(
      await readSite('branches/index.html'),
      /<code>main<\/code> <span class="note">Default/,
    )
    assert.match(await readSite('tags/index.html'), /<code>v1<\/code>/)
    assert.match(await readSite('files/index.html'), /gone.txt \(missing\)/)
    assert.match(await readSite('commits/index.html'), /Nice/)
    assert.match(
      await readSite('wiki/index.html'),
      /<a href="Second-page.html">Second page<\/a> and <a href="Second-page.html">again/,
    )
    assert.ok(!existsSync(join(site.directory, 'repositories/corp/quiet/wiki')))
    assert.match(await readSite('wiki/notes_Old.html'), /<pre>Old &lt;notes&gt;<\/pre>/)
  })

  test('reports what it does not show', () => {
    assert.deepEqual(
      site.losses.map(({ kind, count }) => [kind, count]),
      [
        ['attachments', 1],
        ['collaborators', 1],
        ['orphaned_comments', 1],
        ['pull_requests', 1],
      ],
    )
    assert.match(site.warnings.join('\n'), /attachments\/u3\/gone.txt is not in the archive/)
  })

  test('has an index for the filter that contains every issue', async () => {
    const rows: unknown[] = []
    const text = await readSite('issues/index.js')
    new Function('addLabels', 'addRows', text)(
      () => {},
      (more: unknown[]) => rows.push(...more),
    )
    assert.deepEqual(rows, [
      [2, 'Hostile text', 'open', 'alice', [], '2 Mar 2021', 'two', 2],
      [
        1,
        'A <b>bold</b> title ‹U+202E›evil',
        'closed',
        null,
        ['bug', 'gone'],
        '2 Mar 2021',
        'one',
        1,
      ],
    ])
  })
})

test('reactions and events of any name are shown with it', async (t) => {
  const folder = join(await temporaryFolder(t), 'archive')
  await cp(archive, folder, { recursive: true })
  for (const [kind, field] of [
    ['issues', 'content'],
    ['issue_events', 'event'],
  ]) {
    const file = join(folder, `${kind}_000001.json`)
    const text = await readFile(file, 'utf8')
    await writeFile(
      file,
      text.replaceAll(RegExp(`"${field}": "[^"]+"`, 'g'), `"${field}": "constructor"`),
    )
  }
  const { directory, written } = await convertToHtml(t, host, () => ({ folder }))
  assert.deepEqual(written[0], { fullName: 'alice/site', errors: [] })
  const place = 'repositories/alice/site'
  assert.match(await read(`${place}/issues/1.html`, directory), />constructor<\/span> alice, bob/)
  assert.match(await read(`${place}/issues/2.html`, directory), /<\/b> constructor /)
})

test('a README is found where folders that may have one are submodules', async () => {
  const dir = await host.repository('corp/modules')
  const blob = (await host.git(['hash-object', '-w', '--stdin'], { dir, input: 'Hello' })).trim()
  for (const readme of ['', `100644 blob ${blob}\tREADME.md\n`]) {
    const submodules = ['.github', 'docs'].map(
      (name) => `160000 commit ${'1'.repeat(40)}\t${name}\n`,
    )
    const input = submodules.join('') + readme
    const commit = (await host.git(['mktree', '--missing'], { dir, input })).trim()
    const found = await findReadme({
      git: host.godwitGit,
      dir,
      commit,
      signal: AbortSignal.any([]),
    })
    assert.deepEqual(found, readme ? { path: 'README.md', oid: blob } : undefined)
  }
})

test('an existing output is refused, and nothing is left beside it', async (t) => {
  const folder = await temporaryFolder(t)
  const output = join(folder, 'site')
  await mkdir(output)
  await assert.rejects(
    convertToHtml(t, host, () => ({ folder: archive }), { output }),
    (error) => error instanceof UserError && /already exists/.test(error.message),
  )
  assert.deepEqual(await readdir(folder), ['site'])
  assert.deepEqual(await readdir(output), [])
})

test('an interrupted conversion leaves nothing', async (t) => {
  const folder = await temporaryFolder(t)
  const options = { output: join(folder, 'site'), stopAfter: 'alice/site' }
  const converted = convertToHtml(t, host, () => ({ folder: archive }), options)
  await assert.rejects(converted, { name: 'AbortError' })
  assert.deepEqual(await readdir(folder), [])
})

test('an archive of github.com becomes a site', REAL_ARCHIVE.needed, async (t) => {
  const { directory, written } = await convertToHtml(t, host, () =>
    createReadStream(REAL_ARCHIVE.file),
  )
  assert.deepEqual(written, [{ fullName: 'go-gitea/test_repo', errors: [] }])
  assert.deepEqual(await brokenLinks(directory), [])
  const place = 'repositories/go-gitea/test_repo'
  assert.ok(existsSync(join(directory, place, 'issues/1.html')))
  assert.match(await read(`${place}/issues/1.html`, directory), /hurt my eyes a little\. 😝/)
  assert.match(await read(`${place}/pulls/4.html`, directory), /class="diff"/)
})
