import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { archiveOpener } from '@godwit/archive/archive-opener'
import {
  type Comparison,
  compare,
  type Difference,
  OUTCOMES,
} from '@godwit/archive/compare/compare'
import { comparisonPage, formatValue } from '@godwit/archive/compare/comparison-page'
import { openReader } from '@godwit/archive/convert'
import { type FormatReader, Report } from '@godwit/archive/formats/format'
import { temporaryGit } from '@godwit/git/temporary-git'
import { readForgeToken } from '@godwit/hosts/forge/forge-token'
import { openForge } from '@godwit/hosts/forge/open-forge'
import { openGitHub } from '@godwit/hosts/github/open-github'
import type { Host } from '@godwit/hosts/host'
import { comparedHost } from '@godwit/hosts/read-host'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { invalidNameReason } from '@godwit/lib/names'
import { formatCount } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { type Command, Option } from 'commander'
import { requireWritableDirectory, writeFileAtomically } from './atomic-file.ts'
import { addCommand, asUsageError, parseOwner, readCommandConfig } from './command-line.ts'
import { print, printJson, printTable } from './print.ts'
import { readPeople } from './read-people.ts'
import { stoppable } from './stop-signal.ts'
import { progressLine } from './terminal.ts'

interface CompareOptions {
  forge?: string
  github?: string
  tokenFile?: string
  owner?: string
  people?: string
  finished?: boolean
  html?: string
  json?: boolean
}

const SETTINGS = ['git', 'forgeStorageOrigins'] as const

export function compareCommand(program: Command, about: string): void {
  const examples = [
    'godwit compare move.tar.gz --forge https://git.example.com --token-file token --people people.csv',
    'godwit compare move.tar.gz --github https://github.com --token-file token --owner octo --html report.html',
    'godwit compare monday.tar.gz tuesday.tar.gz',
  ]
  addCommand(program, 'compare <archive> [other]', about, examples, SETTINGS)
    .usage('ARCHIVE (OTHER | --forge URL | --github URL)')
    .addOption(
      new Option('--forge <URL>', 'compare with this Gitea or Forgejo').conflicts('github'),
    )
    .option('--github <URL>', 'compare with GitHub or a GitHub Enterprise Server')
    .option('--token-file <FILE>', 'file with an access token that may read the repositories')
    .option(
      '--owner <LOGIN>',
      'the new owner of all repositories (default: the same, or as --people)',
      parseOwner,
    )
    .option('--people <CSV>', 'file of old-login,new-login, as for convert')
    .option(
      '--finished',
      'report everything that `godwit finish` should have transferred as a difference',
    )
    .option('--html <FILE>', 'write the result as a page')
    .action(stoppable(runCompare))
}

async function runCompare(
  signal: AbortSignal,
  archive: string,
  other: string | undefined,
  options: CompareOptions,
  command: Command,
): Promise<void> {
  const config = readCommandConfig(command, SETTINGS)
  const { owner = '', html, finished: isFinished = false } = options
  const host = await hostOf(options, config.forgeStorageOrigins ?? [])
  if ((host === undefined) === (other === undefined))
    throw new UsageError('compare needs an archive and either another archive, --forge or --github')
  if (html !== undefined && existsSync(html)) throw new UserError(`--html: ${html} exists already`)
  if (html !== undefined) await requireWritableDirectory(dirname(html), html)
  await using temporary = await temporaryGit(config, 'compare')
  const { git, path: scratch } = temporary
  using progress = progressLine()
  using resources = new DisposableStack()
  const report = new Report((text) => progress.print(escapeForTerminal(`warning: ${text}`)))
  // Readers of GitLab exports add the usernames of those whom the file has by id or e-mail address.
  const warn = (warning: string) => report.warn('people', warning)
  const people = new Map(await readPeople(options.people, invalidNameReason, warn))
  const read = async (name: string, folder: string): Promise<FormatReader> => {
    progress.update(undefined, `reading ${name}`)
    const open = await archiveOpener(name)
    const dependencies = { owner, people, projects: new Map(), wanted: new Set<string>() }
    const work = join(scratch, folder)
    return openReader(open(), work, { ...dependencies, git, report, resources, name, signal })
  }
  const result = await withWriteContext(scratch, async () =>
    compare(
      {
        git,
        people,
        owner,
        scratch,
        isFinished,
        left: await read(archive, 'left'),
        right: host ? comparedHost(host) : await read(other!, 'right'),
        onProgress: (step) => progress.update(undefined, step),
      },
      signal,
    ),
  )
  report.end()
  progress.update(undefined, '')
  const titles = { left: archive, right: host?.url ?? other! }
  if (options.json) {
    const { isComplete, known, ...rest } = result
    printJson({ ...titles, ...rest, known: Object.fromEntries(known), complete: isComplete })
  } else printComparison(result)
  if (html !== undefined) {
    const page = Buffer.from(comparisonPage(result, titles, new Date()))
    await writeFileAtomically(html, [page], { force: false, signal })
  }
  if (!result.isComplete) throw new UserError(describeFailure(result))
}

async function hostOf(
  { forge, github, tokenFile }: CompareOptions,
  storageOrigins: readonly string[],
): Promise<Host | undefined> {
  const url = forge ?? github
  if (url === undefined) {
    if (tokenFile !== undefined) throw new UsageError('--token-file needs --forge or --github')
    return undefined
  }
  const kind = forge === undefined ? 'github' : 'forge'
  const readToken = async () => (tokenFile === undefined ? '' : readForgeToken(tokenFile))
  const token = await readToken().catch(asUsageError('--token-file'))
  const open = kind === 'github' ? openGitHub : openForge
  return Promise.try(open, { url, token, storageOrigins }).catch(asUsageError(`--${kind}`))
}

/** How many differences of a repository are printed. The page and the JSON list more. */
const MAX_SHOWN = 20

function printComparison({ repositories, known, notes }: Comparison): void {
  printTable([
    ['REPOSITORY', 'KIND', ...OUTCOMES.map((outcome) => outcome.toUpperCase())],
    ...repositories.flatMap(({ left, failure, kinds }) =>
      failure === undefined
        ? Object.entries(kinds).map(([kind, counts]) => [
            left,
            kind,
            ...OUTCOMES.map((outcome) => (counts[outcome] === 0 ? '-' : String(counts[outcome]))),
          ])
        : [[left, failure, '-', '-', '-', '-', '-']],
    ),
  ])
  for (const { left, differences } of repositories) {
    const unexpected = differences.filter(({ outcome }) => outcome !== 'known')
    for (const each of unexpected.slice(0, MAX_SHOWN))
      print(escapeForTerminal(`${left}: ${describe(each)}`))
    if (unexpected.length > MAX_SHOWN) print(`${left}: there are more: see --html or --json`)
  }
  for (const [reason, count] of known) print(`known: ${count}: ${reason}`)
  for (const note of notes) print(escapeForTerminal(`note: ${note}`))
}

const MAX_VALUE_LENGTH = 100

function describe({ kind, name, outcome, fields }: Difference): string {
  const changes = fields.map(({ field, left, right }) => {
    const [from, to] = [left, right].map((value) => formatValue(value, MAX_VALUE_LENGTH))
    return `${field}: ${from} → ${to}`
  })
  return [`${outcome}: ${kind} ${name}`, ...changes].join('; ').replaceAll('\n', '\\n')
}

function describeFailure({ totals, repositories }: Comparison): string {
  const failed = repositories.filter(({ failure }) => failure !== undefined).length
  const { changed, missing, extra } = totals
  const parts = Object.entries({ changed, missing, extra })
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`)
  if (failed > 0) parts.push(`${formatCount(failed, 'repository')} not compared`)
  return `the two sides differ: ${parts.join(', ')}`
}
