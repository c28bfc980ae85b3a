import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setAccount } from '../accounts/account-store.ts'
import { addToken } from '../accounts/token-store.ts'
import { createGit } from '../git/git.ts'
import { makeDirectory } from '../lib/make-directory.ts'
import { dataPathsOf } from '../service/data-paths.ts'
import type { Log } from '../service/log.ts'
import { withDatabase } from '../service/open-database.ts'
import { type Service, startService } from '../service/service.ts'
import type { Config } from '../settings/config.ts'
import { ensureSampleHost, SAMPLE_LOGIN, SAMPLE_NAMES } from './sample/host.ts'
import { writeWholeFile } from './whole-file.ts'

/**
 * The service on a sample git host, for a first look. It keeps everything, its database too, in a directory of its own, so
 * that nothing of it is ever seen by a service with real repositories.
 */
export async function startSample(given: Config, log: Log): Promise<Service> {
  const data = join(given.data, 'sample')
  makeDirectory(data, 0o700)
  const git = createGit(dataPathsOf({ ...given, data }, '').git)
  const repositories = await ensureSampleHost(data, git)
  const config: Config = { ...given, data, repositories }
  const token = await ensureToken(config)
  const service = await startService(config, log)
  const api = client(config, token)
  await until(async () => (await fetch(`${config.baseUrl}/readyz`)).ok)
  const id = await ensureMigration(api)
  await until(async () => (await api(`/user/migrations/${id}`)).state === 'exported')
  return { ...service, notice: screen(config, token, id) }
}

/** The sample's own token is kept, readable by its owner alone, so that yesterday's commands still work today. */
async function ensureToken(config: Config): Promise<string> {
  // Its user sees the whole service, so that there is something of everything to look at.
  const account = await withDatabase(
    config,
    ({ db }) => setAccount(db, SAMPLE_LOGIN, { siteAdmin: true }, Date.now()),
    { create: true },
  )
  const file = join(config.data, 'token')
  const kept = await readFile(file, 'utf8').catch(() => undefined)
  if (kept) return kept.trim()
  const token = await withDatabase(config, async ({ db }) => {
    const now = Date.now()
    await setAccount(db, 'shorebirds', { type: 'Organization' }, now)
    return addToken(db, account, { name: 'sample', expiresAt: null, now })
  })
  const { signal } = new AbortController()
  await writeWholeFile(file, [Buffer.from(`${token}\n`)], { force: true, signal })
  return token
}

type SampleAnswer = { id: number; state: string } & { length?: number }
type Client = (path: string, body?: unknown) => Promise<SampleAnswer>

function client({ baseUrl, vendor }: Config, token: string): Client {
  return async (path, body) => {
    const answer = await fetch(`${baseUrl}${path}`, {
      headers: { authorization: `bearer ${token}`, accept: previewOf(vendor) },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${path} answered ${answer.status}: ${await answer.text()}`)
    return (await answer.json()) as SampleAnswer
  }
}

async function ensureMigration(api: Client): Promise<number> {
  const [newest] = (await api('/user/migrations')) as unknown as SampleAnswer[]
  const isGood = newest && newest.state !== 'failed' && 'archive_url' in newest
  return isGood ? newest.id : (await api('/user/migrations', { repositories: SAMPLE_NAMES })).id
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  while (!(await isSo())) await sleep(25)
}

const previewOf = (vendor: string) => `application/vnd.${vendor}.wyandotte-preview+json`

function screen({ baseUrl, vendor, data }: Config, token: string, id: number): string {
  const curl = `curl -sf -H 'authorization: bearer ${token}' -H 'accept: ${previewOf(vendor)}'`
  const migrations = `${baseUrl}/user/migrations`
  return `
Dashboard:     ${baseUrl}/ (sign in with the token below)
API:           ${baseUrl}
Sample host:   ${data} (use --repositories DIR to serve your own)
User:          ${SAMPLE_LOGIN}, token ${token}

Migration ${id} is exported. To see its state, list its repositories, start another migration and download the archive:

${curl} ${migrations}/${id}
${curl} ${migrations}/${id}/repositories
${curl} ${migrations} -d '{"repositories":["wader/field-notes","wader/flyway"]}'
${curl} -L -o migration.tar.gz ${migrations}/${id}/archive
`
}
