import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '../../../../../test/support/databases.ts'
import { addresses } from '../../../../../test/support/description-server.ts'
import { repositoryMetadata } from '../../../../../test/support/repository-metadata.ts'
import { saveMetadata } from '../../repositories/metadata-store.ts'
import type { RepositoryMetadata } from '../../repositories/repository-metadata.ts'
import { repositoryRenderer } from './rendered-repositories.ts'
import {
  extendedRepositoryJson,
  plainRepositoryJson,
  repositoryTextRenderer,
} from './repository-json.ts'

const parse = (pieces: readonly Buffer[]) =>
  JSON.parse(`[${String(Buffer.concat(pieces)).slice(1)}]`) as RepositoryJson[]

interface RepositoryJson {
  id: number
  description: string
}

/** A database with repository metadata. Real metadata never change; `setDescription` shows which text comes from the cache. */
async function savedMetadata(
  t: Parameters<typeof openDatabase>[0],
  all: readonly RepositoryMetadata[],
) {
  const { db } = await openDatabase(t, 'sqlite')
  const references = await db.transaction().execute((tx) => saveMetadata(tx, all, 0))
  const setDescription = async (description: string) => {
    for (const [at, id] of references.entries()) {
      const metadata = JSON.stringify({ ...all[at], description })
      await db.updateTable('repository_metadata').set({ metadata }).where('id', '=', id).execute()
    }
  }
  return { db, references, setDescription }
}

test('the text of a repository is cached, unless it is part of a large response', async (t) => {
  const { db, references, setDescription } = await savedMetadata(t, [repositoryMetadata()])
  const render = repositoryRenderer(db, addresses)
  async function descriptionWhen(description: string, isCached: boolean) {
    await setDescription(description)
    const [json] = parse(await render({ form: 'plain', tokenOf: undefined, isCached }, references))
    return json!.description
  }
  assert.equal(await descriptionWhen('first', false), 'first')
  assert.equal(await descriptionWhen('second', true), 'second')
  assert.equal(await descriptionWhen('third', true), 'second')
  assert.equal(await descriptionWhen('fourth', false), 'second')
})

test('a full cache is emptied, and every response is complete', async (t) => {
  const all = Array.from({ length: 9 }, (_, at) =>
    repositoryMetadata({ id: at + 1, name: `r${at}` }),
  )
  const { db, references, setDescription } = await savedMetadata(t, all)
  // The text of a repository has more than 5,000 bytes and less than 6,000.
  const render = repositoryRenderer(db, addresses, 18_000)
  const options = { form: 'extended', tokenOf: undefined, isCached: true } as const
  const ids = all.map(({ id }) => id)
  assert.deepEqual(
    parse(await render(options, references)).map(({ id }) => id),
    ids,
  )
  await setDescription('changed')
  const found = parse(await render(options, references.toReversed()))
  assert.deepEqual(
    found.map(({ id }) => id),
    ids.toReversed(),
  )
  const cached = found.filter(({ description }) => description !== 'changed')
  assert.ok(cached.length > 0 && cached.length <= 3, `${cached.length} were in the cache`)
})

/** Text that looks like a placeholder, with a character of more than one byte. */
const MISLEADING =
  'ü "owner":"" "html_url":"" "temp_clone_token":"{7}" \\"temp_clone_token\\":\\"{7}\\"'

test('a clone token is inserted only into the JSON of its own private repository', async (t) => {
  const templates = [null, true, false]
  const all = [true, false].flatMap((isPrivate, at) =>
    templates.map((template, kind) =>
      repositoryMetadata({
        ...{ id: 10 * at + kind, description: MISLEADING, private: isPrivate },
        topics: ['temp_clone_token', ':', '{7}'],
        template:
          template === null
            ? null
            : repositoryMetadata({ id: 8, description: MISLEADING, private: template }),
      }),
    ),
  )
  const { db, references } = await savedMetadata(t, all)
  const render = repositoryRenderer(db, addresses)
  const textOf = (id: number) => `token-${id}`
  const tokenOf = (id: number) => Buffer.from(textOf(id))
  for (const form of ['extended', 'plain'] as const)
    for (const token of [tokenOf, undefined]) {
      const pieces = await render({ form, tokenOf: token, isCached: true }, references)
      const jsonOf = form === 'plain' ? plainRepositoryJson : extendedRepositoryJson
      const context = { ...addresses, ...(token && { tokenOf: textOf }) }
      assert.deepEqual(
        parse(pieces),
        all.map((metadata) => jsonOf(metadata, context)),
      )
    }
})

test('the text of a repository is that of its JSON, whoever owns it', () => {
  const ada = repositoryMetadata()
  const owner = { ...ada.owner, login: 'Grace', id: 7, siteAdmin: true }
  const extended = repositoryTextRenderer('extended', addresses)
  const plain = repositoryTextRenderer('plain', addresses)
  for (const metadata of [
    ada,
    { ...ada, name: 'other', template: { ...ada, name: 'skeleton', owner } },
    { ...ada, owner, name: '...', mirrorOf: 'https://example.org/{name}' },
    { ...ada, owner: { ...owner, type: 'Organization' as const } },
  ]) {
    assert.equal(extended(metadata), JSON.stringify(extendedRepositoryJson(metadata, addresses)))
    assert.equal(plain(metadata), JSON.stringify(plainRepositoryJson(metadata, addresses)))
  }
})
