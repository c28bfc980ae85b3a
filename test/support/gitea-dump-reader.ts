import assert from 'node:assert/strict'
import { existsSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Reads a dump directory like `restore-repo` of Gitea and Forgejo, and rejects everything that any version would
 * fail on, ignore or misread. The rules come from the server's types, its schemas for `--validation`, and its
 * YAML parser.
 */
export interface ReadDump {
  repository: Record<string, string>
  topics: string[]
  labels: DumpedValue[]
  milestones: DumpedValue[]
  releases: DumpedValue[]
  issues: DumpedValue[]
  pulls: DumpedValue[]
  /** Comments by issue number. */
  comments: Map<number, DumpedValue[]>
  reviews: Map<number, DumpedValue[]>
}

// biome-ignore lint/suspicious/noExplicitAny: SHAPES describes the values.
type DumpedValue = Record<string, any>
type Rule = (value: unknown) => boolean

const text: Rule = (value) => typeof value === 'string'
const flag: Rule = (value) => typeof value === 'boolean'
const integer: Rule = (value) => Number.isSafeInteger(value)
const nonZeroInteger: Rule = (value) => integer(value) && value !== 0
const time: Rule = (value) =>
  typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z$/.test(value)
const orNull =
  (rule: Rule): Rule =>
  (value) =>
    value === null || rule(value)
const oneOf =
  (...values: unknown[]): Rule =>
  (value) =>
    values.includes(value)
const listOf =
  (shape: Shape): Rule =>
  (value) =>
    Array.isArray(value) && value.every((each) => assertShape(shape, each))
const each =
  (rule: Rule): Rule =>
  (value) =>
    Array.isArray(value) && value.every(rule)

type Shape = Readonly<Record<string, Rule>>

/** Asserts that the value has all fields of the shape and no others. Returns true. */
function assertShape(shape: Shape, value: unknown): boolean {
  assert.ok(typeof value === 'object' && value !== null, JSON.stringify(value))
  assert.deepEqual(Object.keys(value).sort(), Object.keys(shape).sort())
  for (const [key, rule] of Object.entries(shape))
    assert.ok(rule((value as DumpedValue)[key]), `${key}: ${JSON.stringify(value)}`)
  return true
}

const LABEL: Shape = {
  name: text,
  color: (value) => /^[0-9a-fA-F]{6}$/.test(`${value}`),
  description: text,
}
/** Only `label.yml` may have it: the server's schema of issues does not. */
const REPOSITORY_LABEL: Shape = { ...LABEL, exclusive: flag }
const REACTION: Shape = { user_id: nonZeroInteger, user_name: text, content: text }
const POSTER: Shape = { poster_id: nonZeroInteger, poster_name: text, poster_email: text }
const DISCUSSED: Shape = {
  ...{
    number: integer,
    title: text,
    content: text,
    milestone: text,
    state: oneOf('open', 'closed'),
  },
  ...{ is_locked: flag, created: time, updated: time, closed: orNull(time), ...POSTER },
  ...{ labels: listOf(LABEL), reactions: listOf(REACTION), assignees: each(text) },
}
const sha: Rule = (value) => /^(?:[0-9a-f]{40}|[0-9a-f]{64}|)$/.test(`${value}`)
const hunk: Rule = (value) => /^@@ -\d+(,\d+)? \+\d+(,\d+)? @@/.test(`${value}`)
const BRANCH: Shape = { clone_url: oneOf(''), ref: text, sha, repo_name: text, owner_name: text }
const CODE_COMMENT: Shape = {
  ...{ id: integer, in_reply_to: integer, content: text, tree_path: text, diff_hunk: hunk },
  ...{ position: integer, line: nonZeroInteger, commit_id: sha, poster_id: nonZeroInteger },
  ...{ reactions: listOf(REACTION), created_at: time, updated_at: time },
}
const ASSET: Shape = {
  ...{ id: integer, name: text, content_type: text, size: integer, download_count: integer },
  ...{ created: time, updated: time, download_url: text, downloadurl: text },
}

const SHAPES = {
  label: REPOSITORY_LABEL,
  milestone: {
    ...{ title: text, description: text, deadline: orNull(time), created: time, updated: time },
    ...{ closed: orNull(time), state: oneOf('open', 'closed') },
  },
  issue: { ...DISCUSSED, ref: text },
  pull_request: {
    ...{ ...DISCUSSED, patch_url: text, merged: flag, merged_time: orNull(time) },
    ...{ merge_commit_sha: sha, is_draft: flag, foreignindex: integer },
    head: (value) => assertShape(BRANCH, value),
    base: (value) => assertShape(BRANCH, value),
  },
  comment: {
    ...{ issue_index: integer, index: integer, comment_type: oneOf('comment'), ...POSTER },
    ...{ created: time, updated: time, content: text, reactions: listOf(REACTION) },
  },
  review: {
    ...{
      id: integer,
      issue_index: integer,
      reviewer_id: nonZeroInteger,
      reviewer_name: text,
      official: flag,
    },
    ...{ commit_id: sha, content: text, created_at: time, comments: listOf(CODE_COMMENT) },
    // Every other state is read as pending.
    state: oneOf('APPROVED', 'CHANGES_REQUESTED', 'COMMENTED'),
  },
  release: {
    ...{ tag_name: text, target_commitish: text, name: text, body: text, draft: flag },
    ...{
      prerelease: flag,
      publisher_id: nonZeroInteger,
      publisher_name: text,
      publisher_email: text,
    },
    ...{ assets: listOf(ASSET), created: time, published: time },
  },
} satisfies Record<string, Shape>

const KNOWN = new Set(
  [
    'git git.wiki.git wiki repo.yml topic.yml label.yml milestone.yml release.yml release_assets issue.yml comments',
    'pull_request.yml reviews pulls attachments finish.json',
  ].flatMap((names) => names.split(' ')),
)

export function readDump(dumpFolder: string): ReadDump {
  for (const name of readdirSync(dumpFolder)) assert.ok(KNOWN.has(name), `${name} is in the dump`)
  const list = (kind: keyof typeof SHAPES, file = `${kind}.yml`): DumpedValue[] => {
    const read = existsSync(join(dumpFolder, file)) ? readJson(join(dumpFolder, file)) : []
    assert.ok(listOf(SHAPES[kind])(read), file)
    return read as DumpedValue[]
  }
  const byNumber = (kind: 'comment' | 'review') => {
    const folder = join(dumpFolder, `${kind}s`)
    const files = existsSync(folder) ? readdirSync(folder) : []
    return new Map(
      files.map((file) => {
        const number = Number(/^([1-9]\d*)\.yml$/.exec(file)?.[1])
        const items = list(kind, `${kind}s/${file}`)
        assert.ok(items.length > 0 && items.every(({ issue_index }) => issue_index === number))
        return [number, items]
      }),
    )
  }
  const repository = readJson(join(dumpFolder, 'repo.yml')) as Record<string, string>
  for (const each of Object.values(repository)) assert.equal(typeof each, 'string')
  const topics = existsSync(join(dumpFolder, 'topic.yml'))
    ? readJson(join(dumpFolder, 'topic.yml'))
    : undefined
  const dump = {
    repository,
    topics: (topics as { topics: string[] } | undefined)?.topics ?? [],
    ...{ labels: list('label'), milestones: list('milestone'), releases: list('release') },
    ...{ issues: list('issue'), pulls: list('pull_request') },
    ...{ comments: byNumber('comment'), reviews: byNumber('review') },
  }
  checkLinks(dumpFolder, dump)
  return dump
}

/** Reads JSON, and rejects what YAML would read as another value or not at all. */
function readJson(file: string): unknown {
  const content = readFileSync(file, 'utf8')
  assert.doesNotMatch(content, /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/, file)
  assert.doesNotMatch(content.replaceAll('\\\\', ''), /\\u(?:d[89a-f]|0000)/i, file)
  assert.doesNotMatch(content.replaceAll('\n', ''), /\p{Cc}/u, file)
  return JSON.parse(content)
}

/** Checks that everything that is referred to exists. Without it, the server ignores the reference or fails. */
function checkLinks(dumpFolder: string, dump: ReadDump): void {
  const { issues, pulls, comments, reviews, releases } = dump
  const all = [...issues, ...pulls]
  const unique = (values: unknown[]) => assert.equal(new Set(values).size, values.length)
  unique(all.map(({ number }) => number))
  unique(releases.map(({ tag_name }) => tag_name))
  const labels = new Set(dump.labels.map(({ name }) => name))
  const titles = new Set(['', ...dump.milestones.map(({ title }) => title)])
  for (const { labels: used, milestone } of all) {
    assert.ok(titles.has(milestone), milestone)
    for (const { name } of used) assert.ok(labels.has(name), name)
  }
  for (const { reactions } of [...all, ...[...comments.values()].flat()])
    unique((reactions as DumpedValue[]).map((one) => `${one.content} ${one.user_id}`))
  for (const number of comments.keys()) assert.ok(all.some((each) => each.number === number))
  for (const number of reviews.keys()) assert.ok(pulls.some((each) => each.number === number))
  for (const pull of pulls) {
    assert.equal(pull.foreignindex, pull.number)
    assert.ok(statSync(join(dumpFolder, pull.patch_url)).isFile())
    assert.equal(pull.head.owner_name, pull.base.owner_name)
  }
  for (const { download_url, downloadurl, size } of releases.flatMap(({ assets }) => assets)) {
    assert.equal(downloadurl, download_url)
    assert.match(download_url, /^release_assets\/[\w./-]+$/)
    assert.equal(statSync(join(dumpFolder, download_url)).size, size)
  }
  if (existsSync(join(dumpFolder, 'wiki')))
    assert.equal(readlinkSync(join(dumpFolder, 'git.wiki.git')), 'wiki')
}
