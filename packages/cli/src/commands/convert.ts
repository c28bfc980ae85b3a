import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { archiveOpener } from '@godwit/archive/archive-opener'
import { convert } from '@godwit/archive/convert'
import { type FormatWriter, Report } from '@godwit/archive/formats/format'
import { accountRefusal } from '@godwit/archive/formats/gitea-dump/choose-destinations'
import { giteaDumpWriter } from '@godwit/archive/formats/gitea-dump/write-gitea-dump'
import { githubArchiveWriter } from '@godwit/archive/formats/github-archive/write-github-archive'
import { gitlabExportWriter } from '@godwit/archive/formats/gitlab-export/write-gitlab-export'
import { htmlWriter } from '@godwit/archive/formats/html/write-html'
import type { PeopleMap } from '@godwit/archive/formats/people'
import type { Git } from '@godwit/git/git'
import { temporaryGit } from '@godwit/git/temporary-git'
import { withWriteContext } from '@godwit/lib/disk-errors'
import { sumLosses } from '@godwit/lib/findings'
import { invalidNameReason } from '@godwit/lib/names'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { VERSION } from '@godwit/server/service/version'
import { type Command, Option } from 'commander'
import { webAddress } from '../settings/config-values.ts'
import { requireWritableDirectory } from './atomic-file.ts'
import { addCommand, addTo, parsed, parseOwner, readCommandConfig } from './command-line.ts'
import { print, printJson, printLosses } from './print.ts'
import { readPeople } from './read-people.ts'
import { stoppable } from './stop-signal.ts'
import { progressLine } from './terminal.ts'

interface ConvertOptions {
  to: keyof typeof TARGETS
  output: string
  people?: string
  include?: string[]
  owner?: string
  keepLinks?: boolean
  forge?: string
  assetBaseUrl?: string
  report?: string
  strict?: boolean
  json?: boolean
}

interface WriterDependencies {
  git: Git
  output: string
  workDirectory: string
  people: PeopleMap
  options: ConvertOptions
}

interface Target {
  /** Whether the output may already exist: a directory to which the repositories are added. */
  mayExist: boolean
  create(dependencies: WriterDependencies): FormatWriter
}

export const TARGETS = {
  'github-archive': {
    mayExist: false,
    create: (dependencies) =>
      githubArchiveWriter({ ...dependencies, generator: `godwit ${VERSION}`, now: Date.now }),
  },
  'gitea-dump': {
    mayExist: true,
    create({ output, options, ...dependencies }) {
      if (/[%?#]/.test(output))
        throw new UsageError(
          `--output ${output} must not have %, ? or # in it, because restore-repo reads files by URL`,
        )
      const { keepLinks = false, forge = '' } = options
      return giteaDumpWriter({ ...dependencies, into: output, keepLinks, forge })
    },
  },
  'gitlab-export': {
    mayExist: true,
    create: ({ output, options: { assetBaseUrl = '' }, ...dependencies }) =>
      gitlabExportWriter({ ...dependencies, into: output, assetBaseUrl }),
  },
  html: {
    mayExist: false,
    create: (dependencies) =>
      htmlWriter({ ...dependencies, generator: `godwit ${VERSION}`, now: new Date() }),
  },
} satisfies Record<string, Target>

/** The options that only one format has. */
const OPTIONS_OF_FORMAT = [
  ['keepLinks', '--keep-links', 'gitea-dump'],
  ['forge', '--forge', 'gitea-dump'],
  ['assetBaseUrl', '--asset-base-url', 'gitlab-export'],
] as const

function refuseOtherOptions(options: ConvertOptions): void {
  for (const [name, flag, format] of OPTIONS_OF_FORMAT)
    if (options[name] !== undefined && options.to !== format)
      throw new UsageError(`${flag} is only for --to ${format}: leave it out`)
}

const baseUrl = (url: string): string => `${webAddress(url)}/`

export function convertCommand(program: Command, about: string): void {
  const examples = [
    'godwit convert migration.tar.gz --to gitea-dump --output /srv/dumps --people people.csv',
    'godwit convert group_project_export.tar.gz --to github-archive --output archive.tar.gz --owner alice',
    'godwit convert migration.tar.gz --to html --output site',
  ]
  addCommand(program, 'convert <inputs...>', about, examples, ['git'])
    .usage('INPUT... --to FORMAT --output PATH')
    .addOption(
      new Option('--to <FORMAT>', 'the format to write')
        .choices(Object.keys(TARGETS))
        .makeOptionMandatory(),
    )
    .requiredOption('--output <PATH>', 'the file or directory to write')
    .option('--people <CSV>', 'file of old-login,new-login; see godwit show --people')
    .option('--include <OWNER/NAME>', 'convert only this repository; repeat it for more', addTo)
    .option(
      '--owner <LOGIN>',
      'owner of the projects in exports of GitLab, which do not name one',
      parseOwner,
    )
    .option('--keep-links', 'gitea-dump: leave links to the old host in texts as they are')
    .option(
      '--forge <URL>',
      'gitea-dump: base URL of the new server, for links and accounts',
      parsed('--forge', baseUrl, { isSecret: true }),
    )
    .option(
      '--asset-base-url <URL>',
      'gitlab-export: where you will publish the files of releases',
      parsed('--asset-base-url', baseUrl, { isSecret: true }),
    )
    .option('--report <FILE.json>', 'write what was converted and what was lost as JSON')
    .option('--strict', 'fail if something could not be converted')
    .action(
      stoppable((signal, inputs: string[], options: ConvertOptions, command: Command) =>
        runConvert(command, inputs, options, signal),
      ),
    )
}

/** Converts and prints the result. With the option `json`, passes it to `printResult` instead. */
export async function runConvert(
  command: Command,
  inputs: readonly string[],
  options: ConvertOptions,
  signal: AbortSignal,
  printResult: (result: object) => void = printJson,
): Promise<void> {
  refuseOtherOptions(options)
  const config = readCommandConfig(command, ['git'])
  const { owner = '', include: repositories = [] } = options
  const target: Target = TARGETS[options.to]
  const output = resolve(options.output)
  const numbersFile = `${output}.numbers.csv`
  for (const file of [options.report, numbersFile])
    if (file !== undefined && existsSync(file))
      throw new UserError(`${file} already exists; move it away, or name another output`)
  if (options.report && resolve(options.report) === output)
    throw new UsageError('--report would replace the output: name another file')
  if (options.report) await requireWritableDirectory(dirname(options.report), options.report)
  await using temporary = await temporaryGit(config, 'convert')
  const { git } = temporary
  using progress = progressLine()
  const warnings: string[] = []
  const report = new Report((text) => {
    warnings.push(text)
    progress.print(escapeForTerminal(`warning: ${text}`))
  })
  const people = await readPeopleFile(options, report)
  const opened = await Promise.all(
    inputs.map(async (name) => ({ name, open: await archiveOpener(name) })),
  )
  const into = target.mayExist ? output : dirname(output)
  const createWriter = (workDirectory: string, people: PeopleMap) =>
    target.create({ git, output, workDirectory, people, options })
  const results = convert(
    {
      git,
      inputs: opened,
      repositories,
      owner,
      people,
      into,
      report,
      createWriter,
      numbersFile,
      onProgress: (step) => progress.update(undefined, step),
    },
    signal,
  )
  const show = (line: string) => {
    progress.update(undefined, '')
    if (!options.json) print(escapeForTerminal(line))
  }
  const converted: string[] = []
  const failed: { full_name: string; errors: readonly string[] }[] = []
  await withWriteContext(into, async () => {
    for await (const { fullName, errors } of results) {
      if (errors.length === 0) {
        converted.push(fullName)
        show(`converted: ${fullName}`)
      } else failed.push({ full_name: fullName, errors })
      for (const error of errors) show(`failed: ${fullName}: ${error}`)
    }
  })
  const losses = report.end()
  const { notes, earlierLosses } = report
  progress.update(undefined, '')
  if (!options.json) {
    printLosses('NOT IN THE INPUT', sumLosses(earlierLosses))
    printLosses('NOT CONVERTED', losses)
  }
  for (const note of notes) show(note)
  const result = {
    to: options.to,
    output,
    converted,
    failed,
    lost: losses,
    warnings,
    notes,
    lost_before: earlierLosses,
  }
  if (options.json) printResult(result)
  if (options.report !== undefined)
    await writeFile(options.report, `${JSON.stringify(result, null, 2)}\n`, { flag: 'wx' })
  if (failed.length > 0)
    throw new UserError(
      `${failed.length} of ${failed.length + converted.length} repositories could not be converted`,
    )
  if (options.strict && losses.length + warnings.length > 0)
    throw new UserError(`some data could not be converted (--strict); the rest is in ${output}`)
}

async function readPeopleFile({ people: file, to, forge }: ConvertOptions, report: Report) {
  const isGitea = to === 'gitea-dump'
  const people: PeopleMap = await readPeople(
    file,
    isGitea ? accountRefusal : invalidNameReason,
    (warning) => report.warn('people', warning),
  )
  if (isGitea && forge === undefined && people.values().some(({ id }) => id !== undefined))
    report.warn(
      'people',
      'account-id is used only with --forge: without it, no author is linked to an account',
    )
  return people
}
