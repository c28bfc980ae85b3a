import { existsSync } from 'node:fs'
import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { MigrationsApi } from '@godwit/contract/client/migrations-api'
import { createGit, type Git } from '@godwit/git/git'
import { ifExists } from '@godwit/lib/errno'
import { makeDirectory } from '@godwit/lib/make-directory'
import { type Service, type ServiceOptions, startService } from '@godwit/server'
import { upsertAccount } from '@godwit/server/accounts/account-store'
import { addToken, digestOf, findTokenByDigest } from '@godwit/server/accounts/token-store'
import type { Database } from '@godwit/server/db/database'
import { gitOptions } from '@godwit/server/service/data-paths'
import { withDatabase } from '@godwit/server/service/open-database'
import { VERSION } from '@godwit/server/service/version'
import { writeFileAtomically } from './atomic-file.ts'
import type { ServiceConfig } from './service-settings.ts'

/**
 * Starts the service with a sample git host, to try it. All data of the sample, including the database, is in a directory of
 * its own, separate from the data of a service with real repositories.
 */
export async function startSample(
  settings: ServiceConfig,
  options: ServiceOptions,
): Promise<Service> {
  // `npm start` names an empty configuration file, to get the sample. Elsewhere the setting was probably forgotten.
  if (settings.file?.path !== '/dev/null')
    options.logging.log.warn(
      'serving the built-in sample repositories: set --repositories DIR to serve your own',
    )
  const data = join(settings.data, 'sample')
  makeDirectory(data, 0o700)
  const git = createGit(gitOptions({ ...settings, data }))
  const repositories = await ensureSampleHost(data, git)
  const config: ServiceConfig = { ...settings, data, repositories }
  const token = await ensureToken(config)
  const service = await startService(config, options)
  // The address of --base-url may only lead here from elsewhere, or not yet.
  const { address: url } = service
  await waitUntil(async () => (await fetch(`${url}/readyz`)).ok)
  const requestOptions = { signal: new AbortController().signal, onWait() {} }
  const server = { url, token, vendor: config.vendor, userAgent: `godwit/${VERSION}` }
  const api = new MigrationsApi(server, requestOptions)
  const id = await ensureMigration(api)
  await waitUntil(async () => (await api.status(id))?.migration.state === 'exported')
  return { ...service, notice: welcomeText(config, token, id) }
}

/** Returns the token of the sample user. A file that only its owner can read stores it, so that a restart does not change it. */
async function ensureToken(config: ServiceConfig): Promise<string> {
  const file = join(config.data, 'token')
  const stored = (await ifExists(readFile(file, 'utf8'), 'ENOENT'))?.trim() ?? ''
  const ensure = async ({ db }: Database) => {
    const now = Date.now()
    // As a site admin, the sample user sees every page of the dashboard.
    const account = await upsertAccount(db, SAMPLE_LOGIN, { siteAdmin: true }, now)
    // Without this, the sample could not start after its user has revoked the token.
    if (await findTokenByDigest(db, { digest: digestOf(stored) })) return stored
    await upsertAccount(db, 'shorebirds', { type: 'Organization' }, now)
    return addToken(db, account, { name: 'sample', expiresAt: null, now })
  }
  const token = await withDatabase(config, ensure, { create: true })
  if (token !== stored)
    await writeFileAtomically(file, [Buffer.from(`${token}\n`)], { force: true })
  return token
}

/** Returns the newest migration if it is usable, or starts one. */
async function ensureMigration(api: MigrationsApi): Promise<number> {
  const [newest] = await api.list()
  const isUsable = newest && newest.state !== 'failed' && 'archive_url' in newest
  return isUsable ? newest.id : (await api.start({ repositories: SAMPLE_NAMES })).id
}

async function waitUntil(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await sleep(25)
}

function welcomeText({ baseUrl, vendor, data }: ServiceConfig, token: string, id: number): string {
  const curl = `curl -sS --fail-with-body -H 'authorization: bearer ${token}' -H 'accept: application/vnd.${vendor}.wyandotte-preview+json'`
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

type Files = Record<string, string>

interface SampleRepository {
  path: string
  config: Record<string, string | string[]>
  isPublic?: boolean
  /** The files that each commit changes, oldest first. */
  history: { message: string; files: Files }[]
  wiki?: Files
}

/** Times of commits are fixed, so that the sample has the same object IDs on every machine. */
const FIRST_DAY = Date.UTC(2024, 2, 1, 9) / 1000
const DAY_S = 86_400

const SAMPLE_LOGIN = 'wader'
const SAMPLE_NAMES = [
  'wader/field-notes',
  'wader/flyway',
  'wader/tide-tables',
  'wader/nest-diary',
  'shorebirds/starter',
  'shorebirds/tide-tables',
]

/** Creates the sample repositories unless they exist. The final rename makes this atomic. */
async function ensureSampleHost(directory: string, git: Git): Promise<string> {
  const root = join(directory, 'repositories')
  if (existsSync(root)) return root
  const unfinished = `${root}.unfinished`
  await rm(unfinished, { recursive: true, force: true })
  for (const repository of await sampleRepositories())
    await makeRepository(join(unfinished, repository.path), repository, git)
  await rename(unfinished, root)
  return root
}

async function makeRepository(
  path: string,
  { config, history, isPublic, wiki }: Omit<SampleRepository, 'path'>,
  git: Git,
): Promise<void> {
  const dir = `${path}.git`
  await mkdir(dir, { recursive: true })
  await git.run(['init', '--quiet', '--bare', '--template=', '--initial-branch=main', dir])
  // One write: a process of git for each setting would take most of the time of the first start.
  const lines = Object.entries(config).flatMap(([key, values]) =>
    [values].flat().map((value) => `\t${key} = ${JSON.stringify(value)}\n`),
  )
  if (lines.length > 0) await appendFile(join(dir, 'config'), `[godwit]\n${lines.join('')}`)
  if (isPublic) await writeFile(join(dir, 'git-daemon-export-ok'), '')
  await git.run(['fast-import', '--quiet'], { dir, input: fastImport(history) })
  if (wiki) {
    const pages = { config: {}, history: [{ message: 'Write it down', files: wiki }] }
    await makeRepository(`${path}.wiki`, pages, git)
  }
}

function fastImport(history: SampleRepository['history']): string {
  const data = (text: string) => `data ${Buffer.byteLength(text)}\n${text}\n`
  return history
    .map(({ message, files }, day) => {
      const who = `Godwit sample <sample@localhost> ${FIRST_DAY + day * DAY_S} +0000`
      const changes = Object.entries(files).map(
        ([name, text]) => `M 100644 inline ${name}\n${data(text)}`,
      )
      return `commit refs/heads/main\ncommitter ${who}\n${data(message)}${changes.join('')}\n`
    })
    .join('')
}

async function sampleRepositories(): Promise<SampleRepository[]> {
  const { default: licenses } = await import('spdx-license-list/full.js')
  const license = (id: string) => licenses[id]!.licenseText
  const shared = { collaborator: `${SAMPLE_LOGIN}:admin` }
  return [
    {
      path: 'shorebirds/starter',
      isPublic: true,
      config: { ...shared, description: 'Begin here', isTemplate: 'true', license: 'ISC' },
      history: [{ message: 'Begin', files: { 'README.md': '# A new study\n' } }],
    },
    {
      path: 'shorebirds/tide-tables',
      isPublic: true,
      config: { ...shared, description: 'High and low water', topic: ['tides', 'coast'] },
      history: [
        { message: 'Count the hours', files: { 'tides.go': GO, LICENSE: license('Apache-2.0') } },
        { message: 'Say how to use it', files: { 'README.md': '# Tide tables\n\n`go run .`\n' } },
      ],
    },
    {
      path: 'wader/field-notes',
      isPublic: true,
      config: {
        description: 'What was seen, where and when',
        homepage: 'https://example.org/field-notes',
        topic: ['birds', 'migration', 'notes'],
      },
      history: [
        { message: 'First sightings', files: { 'notes.py': PYTHON, LICENSE: license('MIT') } },
        {
          message: 'Add a list',
          files: { 'sightings.csv': 'date,species,count\n2024-03-02,Limosa lapponica,41\n' },
        },
        { message: 'Count them', files: { 'notes.py': `${PYTHON}\nprint(total())\n` } },
      ],
      wiki: { 'Home.md': '# Field notes\n\nHow the counting is done.\n' },
    },
    {
      path: 'wader/flyway',
      isPublic: true,
      config: { description: 'Routes over the sea', templateRepository: 'shorebirds/starter' },
      history: [{ message: 'Set out', files: { 'src/main.rs': RUST, LICENSE: license('MIT') } }],
    },
    {
      path: 'wader/tide-tables',
      isPublic: true,
      config: {
        description: 'High and low water, with moonlight',
        forkOf: 'shorebirds/tide-tables',
      },
      history: [
        { message: 'Count the hours', files: { 'tides.go': GO, LICENSE: license('Apache-2.0') } },
        { message: 'Add the moon', files: { 'moon.go': 'package main\n\nconst month = 29.53\n' } },
      ],
    },
    {
      path: 'wader/nest-diary',
      config: { description: 'Not for everyone' },
      history: [{ message: 'Four eggs', files: { 'diary.ts': 'export const eggs: number = 4\n' } }],
    },
  ]
}

const PYTHON = `import csv


def total(path="sightings.csv"):
    with open(path) as file:
        return sum(int(row["count"]) for row in csv.DictReader(file))
`
const GO = `package main

import "fmt"

func main() {
	for hour := 0.0; hour < 24; hour += 6.2 {
		fmt.Printf("%05.2f\\n", hour)
	}
}
`
const RUST = `fn main() {
    let days = 11;
    println!("{days} days over open sea");
}
`
