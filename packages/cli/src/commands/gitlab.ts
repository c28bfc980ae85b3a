import { existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { UnreadableArchive } from '@godwit/archive/tar/unreadable-archive'
import { downloadArchive } from '@godwit/contract/client/download-archive'
import { RequestRejected } from '@godwit/contract/client/errors'
import { readForgeToken } from '@godwit/hosts/forge/forge-token'
import { normalizeHostUrl } from '@godwit/hosts/host-url'
import { ifExists } from '@godwit/lib/errno'
import { isLoopback } from '@godwit/lib/ip-address'
import { makeDirectory } from '@godwit/lib/make-directory'
import { isName } from '@godwit/lib/names'
import { formatBytes, formatCount } from '@godwit/lib/quantities'
import { mapConcurrent } from '@godwit/lib/turns'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { VERSION } from '@godwit/server/service/version'
import { type Command, Option } from 'commander'
import type { Config } from '../settings/config.ts'
import {
  addCommand,
  asUsageError,
  parsed,
  parseOwner,
  readCommandConfig,
  withExamples,
} from './command-line.ts'
import { runConvert, TARGETS } from './convert.ts'
import { GitLabApi, type GitLabProject } from './gitlab-api.ts'
import { describeKnownError } from './known-errors.ts'
import { ResumableFile } from './migration/resumable-file.ts'
import { print, printJson } from './print.ts'
import { runUntilStopped } from './stop-signal.ts'
import { progressLine } from './terminal.ts'
import { verifyFile } from './verify.ts'

interface GitLabOptions {
  url: string
  tokenFile: string
  output: string
  to?: keyof typeof TARGETS
  owner?: string
  json?: boolean
}

interface ProjectExport {
  /** The path of the project, or the argument if its projects could not be listed. */
  project: string
  state: 'exported' | 'skipped' | 'failed'
  file?: string
  bytes?: number
  reason?: string
}

/** While the server prepares one export, others are prepared or downloaded. GitLab allows 6 exports a minute by default. */
const CONCURRENCY = 3

export function gitlabCommands(program: Command, about: string): void {
  const example =
    'godwit gitlab export my-group --url https://gitlab.com --token-file token --output exports'
  const gitlab = withExamples(program.command('gitlab').description(about), [example])
  addCommand(
    gitlab,
    'export <names...>',
    'make and download exports of projects, or of all projects of groups',
    [example, `${example} --to gitea-dump`],
    ['git'],
  )
    .usage('GROUP|PROJECT... --url URL --token-file FILE --output DIR')
    .requiredOption('--url <URL>', 'the server, such as https://gitlab.example.com')
    .requiredOption('--token-file <FILE>', 'file with an access token that has the scope api')
    .requiredOption('--output <DIR>', 'the directory for GROUP/PROJECT_export.tar.gz')
    .addOption(
      new Option('--to <FORMAT>', 'then convert the exports to this format: DIR/converted').choices(
        Object.keys(TARGETS),
      ),
    )
    .option(
      '--owner <LOGIN>',
      'owner of the converted projects (default: their top-level group)',
      parseOwner,
    )
    .action((names: string[], options: GitLabOptions, command: Command) =>
      runUntilStopped(
        (signal, setStopMessage) =>
          exportAndConvert(command, { names, options, setStopMessage }, signal),
        'stopped; the downloaded parts are kept, and the same command continues',
      ),
    )
}

interface Run {
  names: readonly string[]
  options: GitLabOptions
  setStopMessage(message: string): void
}

async function exportAndConvert(command: Command, run: Run, signal: AbortSignal): Promise<void> {
  const { options, setStopMessage } = run
  const { to, json = false } = options
  const output = resolve(options.output)
  const converted = to && join(output, to === 'github-archive' ? 'converted.tar.gz' : 'converted')
  for (const path of converted ? [converted, `${converted}.numbers.csv`] : [])
    if (existsSync(path)) throw new UserError(`${path} already exists: move it away`)
  const { exports, owner } = await downloadExports(readCommandConfig(command, ['git']), run, signal)
  const files = exports.flatMap(({ file }) => file ?? []).sort()
  let conversion: object | undefined
  try {
    if (to && converted && files.length > 0) {
      setStopMessage('stopped; the exports are complete, and no unfinished files are left')
      const convertOptions = { to, output: converted, owner, json }
      await runConvert(command, files, convertOptions, signal, (result) => {
        conversion = result
      })
    }
  } finally {
    if (json) printJson({ output, exports, conversion })
  }
  const failed = exports.filter(({ state }) => state === 'failed').length
  if (failed > 0)
    throw new UserError(`${failed} of ${formatCount(exports.length, 'project')} not exported`)
}

async function downloadExports(
  config: Config<'git'>,
  { names, options }: Run,
  signal: AbortSignal,
) {
  const url = serverUrl(options.url)
  const token = await readForgeToken(options.tokenFile).catch(asUsageError('--token-file'))
  const output = resolve(options.output)
  makeDirectory(output)
  using progress = progressLine()
  const server = { url, token, userAgent: `godwit/${VERSION}` }
  const api = new GitLabApi(server, {
    signal,
    onWait: (seconds) => progress.print(`${url} limits requests: waiting ${seconds} s`),
    onError: ({ message }) => progress.print(`${message}; trying again`),
  })
  await api.check(signal)
  const exports: ProjectExport[] = []
  const add = (result: ProjectExport, text: string) => {
    exports.push(result)
    progress.update(undefined, '')
    if (!options.json) print(`${result.state}: ${result.project}: ${text}`)
  }
  /** Records a failure that concerns one project only. */
  const attempt = async <T>(project: string, stop: AbortSignal, work: () => Promise<T>) => {
    try {
      return await work()
    } catch (error) {
      stop.throwIfAborted()
      const reason = reasonOf(error)
      if (reason === undefined) throw error
      add({ project, state: 'failed', reason }, reason)
      return undefined
    }
  }
  const projects = new Map<number, GitLabProject>()
  for (const name of names) {
    progress.update(undefined, `finding the projects of ${name}`)
    const found = await attempt(name, signal, () => api.findProjects(name, signal))
    for (const project of found ?? []) projects.set(project.id, project)
  }
  const owner = options.owner ?? topLevelGroup([...projects.values()], options)
  const dependencies = { api, config, output, progress }
  await mapConcurrent(projects.values(), { concurrency: CONCURRENCY, signal }, (project, stop) =>
    attempt(project.path, stop, async () => {
      const done = await exportProject(dependencies, project, stop)
      const text = done.state === 'skipped' ? 'is already there' : formatBytes(done.bytes)
      add(done, `${done.file}: ${text}`)
    }),
  )
  return { exports, owner }
}

interface ExportDependencies {
  api: GitLabApi
  config: Config<'git'>
  output: string
  progress: ReturnType<typeof progressLine>
}

/** Exports, downloads and verifies a project. If its file exists, it is complete, because only a verified download gets this name. */
async function exportProject(
  { api, config, output, progress }: ExportDependencies,
  { id, path }: GitLabProject,
  signal: AbortSignal,
): Promise<ProjectExport & { bytes: number }> {
  if (!path.split('/').every(isName)) throw new UserError('its path cannot be the name of a file')
  const file = join(output, `${path}_export.tar.gz`)
  const existing = await ifExists(stat(file), 'ENOENT')
  if (existing?.isFile()) return { project: path, state: 'skipped', file, bytes: existing.size }
  await using target = await ResumableFile.open(file)
  const show = (text: string) => progress.update(undefined, `${path}: ${text}`)
  await api.prepareExport(id, { canReuse: target.position > 0, onState: show }, signal)
  makeDirectory(dirname(file))
  await downloadArchive(api, id, target, {
    signal,
    onBytes: (position, total = position) =>
      show(`${formatBytes(position)} of ${formatBytes(total)}`),
    onError: ({ message }) => progress.print(`${path}: ${message}; trying again`),
  })
  show('verifying')
  const errors: string[] = []
  await verifyFile(config, target.unfinished, signal, (level, text) => {
    if (level === 'error') errors.push(text)
  }).catch(async (error: Error) => {
    signal.throwIfAborted()
    // Any other error is not about the export.
    if (!(error instanceof UserError || error instanceof UnreadableArchive)) throw error
    await target.discard()
    const [reason = error.message] = errors
    throw new UserError(`the export is damaged and was removed: ${reason}`, { cause: error })
  })
  await target.finish(false)
  return { project: path, state: 'exported', file, bytes: target.position }
}

/** Returns the reason if an error concerns one project only, or undefined if every other project would fail too. */
function reasonOf(error: unknown): string | undefined {
  if (error instanceof RequestRejected && error.status === 401) return undefined
  if (error instanceof UserError) return error.message
  return error instanceof Error ? describeKnownError(error)?.message : undefined
}

/** Returns the group that all projects are in. Without `--to` it is not needed, and there may be several. */
function topLevelGroup(projects: readonly GitLabProject[], { to }: GitLabOptions): string {
  const groups = new Set(projects.map(({ path }) => path.split('/')[0]!))
  if (to && groups.size > 1)
    throw new UsageError(`the projects are in ${groups.size} groups: use --owner LOGIN with --to`)
  return groups.values().next().value ?? ''
}

/** Returns the address without a trailing slash. It must be https, because the token must not be sent unencrypted. */
function serverUrl(text: string): string {
  const read = parsed('--url', normalizeHostUrl, { isSecret: true })
  const url = read(text.replace(/\/api\/v4\/*$/, ''))
  const { protocol, hostname } = new URL(url)
  if (protocol !== 'https:' && !isLoopback(hostname))
    throw new UsageError('--url must begin with https://: the token would be sent unencrypted')
  return url
}
