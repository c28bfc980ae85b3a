import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Manifest, ManifestInvalid, parseManifest } from './manifest.ts'

const SHA1 = 'a'.repeat(40)
const SHA256 = 'b'.repeat(64)

function sample() {
  return {
    format: 4,
    generator: 'godwit 0.1.0',
    migration_guid: '0b989ba4-242f-11e5-81e1-c7b6966d2516',
    created_at: '2024-02-29T12:34:56Z',
    repositories: [
      {
        full_name: 'octocat/Hello-World',
        object_format: 'sha1',
        head: 'refs/heads/main',
        refs: [{ name: 'refs/heads/main', oid: SHA1 }],
        symrefs: [{ name: 'refs/remotes/origin/HEAD', target: 'refs/heads/main' }],
        size: 12_345,
        segment: { sha256: SHA256, length: 10_000, plain_length: 13_312, crc32: 4_294_967_295 },
        wiki: { object_format: 'sha256', head: SHA256, refs: [], symrefs: [] },
        lfs: [{ oid: SHA256, size: 0 }],
        files: [{ path: 'repositories/octocat/Hello-World.git/HEAD', size: 23, sha256: SHA256 }],
      },
    ],
    skipped: [{ full_name: 'octocat/broken', reason: 'objects are missing' }],
    metadata: {
      segment: { sha256: SHA256, length: 900, plain_length: 2048, crc32: 0 },
      files: [{ path: 'schema.json', size: 26, sha256: SHA256 }],
    },
    stored_files: [
      {
        full_name: 'octocat/Hello-World',
        segment: { sha256: SHA256, length: 90, plain_length: 1024, crc32: 1 },
        files: [{ path: 'attachments/1/a.png', size: 9, sha256: SHA256 }],
      },
    ],
  } satisfies Manifest
}

test('a manifest is read back unchanged', () => {
  assert.deepEqual(parseManifest(JSON.stringify(sample(), null, 2)), sample())
  const bare = { ...sample(), repositories: [], skipped: [], stored_files: [] }
  assert.deepEqual(parseManifest(JSON.stringify(bare)), bare)
  const withoutWiki = sample().repositories.map((repository) => ({ ...repository, wiki: null }))
  const manifest = { ...sample(), repositories: withoutWiki }
  assert.deepEqual(parseManifest(JSON.stringify(manifest)), manifest)
  const lfs_missing = [{ oid: SHA256, size: 9 }]
  const lacking = sample().repositories.map((repository) => ({ ...repository, lfs_missing }))
  const incomplete = { ...sample(), repositories: lacking }
  assert.deepEqual(parseManifest(JSON.stringify(incomplete)), incomplete)
})

describe('an invalid manifest is refused with the field and the reason', () => {
  /** Sets the value at a dotted path; undefined removes it. */
  function changed(path: string, value: unknown): string {
    const manifest = sample()
    const keys = path.split('.')
    const last = keys.pop()!
    // biome-ignore lint/suspicious/noExplicitAny: the point is to break the type
    const parent = keys.reduce((each: any, key) => each[key], manifest)
    parent[last] = value
    return JSON.stringify(manifest)
  }

  for (const [path, value, message] of [
    ['format', 5, 'format 5 is not supported: this version of Godwit reads format 4'],
    ['format', 3, 'format 3 is not supported: this version of Godwit reads format 4'],
    [
      'format',
      undefined,
      'format undefined is not supported: this version of Godwit reads format 4',
    ],
    ['omitted', [], 'omitted is not a known field: []'],
    ['stored_files', undefined, 'stored_files is not a list: undefined'],
    ['repositories.0.files', undefined, 'repositories[0].files is not a list: undefined'],
    ['metadata', undefined, 'metadata is not an object: undefined'],
    ['metadata.files.0.path', '../x', "metadata.files[0].path is not a safe relative path: '../x'"],
    [
      'metadata.files.0.path',
      'godwit-manifest.json',
      "metadata.files[0].path is not a safe relative path: 'godwit-manifest.json'",
    ],
    ['generator', '', "generator is not a non-empty string: ''"],
    ['migration_guid', undefined, 'migration_guid is not a non-empty string: undefined'],
    ['created_at', '2024-02-29', "created_at is not a time in UTC: '2024-02-29'"],
    [
      'created_at',
      '2024-13-01T00:00:00Z',
      "created_at is not a time in UTC: '2024-13-01T00:00:00Z'",
    ],
    ['repositories', {}, 'repositories is not a list: {}'],
    ['repositories.0', null, 'repositories[0] is not an object: null'],
    ['repositories.0.url', 'x', "repositories[0].url is not a known field: 'x'"],
    ['repositories.0.full_name', '../x', "repositories[0].full_name is not OWNER/NAME: '../x'"],
    ['repositories.0.full_name', 'x/..', "repositories[0].full_name is not OWNER/NAME: 'x/..'"],
    [
      'repositories.0.object_format',
      'md5',
      "repositories[0].object_format is not 'sha1' or 'sha256': 'md5'",
    ],
    [
      'repositories.0.head',
      'main',
      "repositories[0].head is not the name of a ref or an oid of sha1: 'main'",
    ],
    [
      'repositories.0.refs.0.oid',
      SHA256,
      `repositories[0].refs[0].oid is not an oid of sha1: '${SHA256}'`,
    ],
    [
      'repositories.0.refs.0.name',
      'refs/heads/../../config',
      "repositories[0].refs[0].name is not the name of a ref: 'refs/heads/../../config'",
    ],
    [
      'repositories.0.symrefs.0.target',
      'refs/heads/a\nb',
      "repositories[0].symrefs[0].target is not the name of a ref: 'refs/heads/a\\nb'",
    ],
    [
      'repositories.0.size',
      1.5,
      'repositories[0].size is not a whole number from 0 to 9007199254740991: 1.5',
    ],
    [
      'repositories.0.segment.crc32',
      2 ** 32,
      'repositories[0].segment.crc32 is not a whole number from 0 to 4294967295: 4294967296',
    ],
    [
      'repositories.0.segment.sha256',
      SHA1,
      `repositories[0].segment.sha256 is not a SHA-256: '${SHA1}'`,
    ],
    ['repositories.0.wiki', undefined, 'repositories[0].wiki is not an object: undefined'],
    [
      'repositories.0.lfs_missing',
      [{ oid: SHA1, size: 1 }],
      `repositories[0].lfs_missing[0].oid is not a SHA-256: '${SHA1}'`,
    ],
    [
      'repositories.0.lfs.0.size',
      '0',
      "repositories[0].lfs[0].size is not a whole number from 0 to 9007199254740991: '0'",
    ],
    ['skipped.0.reason', ' ', "skipped[0].reason is not a non-empty string: ' '"],
  ] as const) {
    test(message, () => {
      assert.throws(() => parseManifest(changed(path, value)), {
        name: 'ManifestInvalid',
        message: `godwit-manifest.json: ${message}`,
      })
    })
  }

  for (const text of ['', '{', 'null', '[]', '"x"']) {
    test(`the text ${JSON.stringify(text)}`, () => {
      assert.throws(() => parseManifest(text), ManifestInvalid)
    })
  }
})
