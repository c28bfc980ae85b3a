import { VERSION } from '@godwit/server/service/version'
import { Command } from 'commander'
import { DEFAULT_CONFIG_FILE } from '../settings/config-file.ts'
import { helpLayout, withExamples } from './command-line.ts'
import { type JsonOption, printResult } from './print.ts'
import { paint } from './terminal.ts'

/** The commands by help group, in the order of the help, and what each does. */
const groups = {
  'The service:': {
    serve: 'run the service: the API, the dashboard and the exporter',
    work: 'run an export worker for API processes',
    sync: 'update the repository index; fails if a repository cannot be read',
    account: 'manage accounts',
    member: 'manage the members of organizations',
    token: 'manage access tokens',
    lock: 'list the locks of repositories, and remove them',
    audit: 'list who did what: the audit log',
    check: 'check that repositories can be exported, or stored data',
    copy: 'copy the service to another database, bucket or backup',
    doctor: 'check settings, machine and repositories; say what to fix',
    config: 'print the current settings and where each comes from',
  },
  'Without a server:': {
    export: 'write an archive of repositories',
    show: 'show what is in an archive',
    verify: 'check an archive and report every error',
    restore: 'restore bare repositories from an archive',
    convert: 'convert archives, and exports of GitLab, to other formats',
    finish: 'bring what restore-repo leaves out to a Gitea or Forgejo',
    compare: 'compare an archive with another one, or with a host',
    gitlab: 'download project exports from a GitLab server',
  },
  'Client for Godwit and GitHub:': {
    auth: 'log in to servers, so that commands find URL and token',
    admin: 'manage migrations, locks and tokens of all (Godwit only)',
    migration: 'start, watch and download migrations',
    schedule: 'start migrations every day or every week (Godwit only)',
    webhook: 'manage where events are sent when migrations end',
  },
  'More:': {
    settings: 'list every setting: its flag, variable and default',
    completion: 'print a completion script for bash, zsh or fish',
    man: 'print the manual page, in the format of man',
    version: 'print the version',
  },
}

type Groups = typeof groups
type CommandName = { [G in keyof Groups]: keyof Groups[G] }[keyof Groups]

type AddCommand = (program: Command, about: string) => void

/** Imports the module of each command, so that only the requested one is loaded. */
const loaders: Record<CommandName, () => Promise<AddCommand>> = {
  serve: async () => (await import('./serve.ts')).serveCommand,
  work: async () => (await import('./serve.ts')).workCommand,
  sync: async () => (await import('./sync.ts')).syncCommand,
  account: async () => (await import('./account.ts')).accountCommands,
  member: async () => (await import('./member.ts')).memberCommands,
  token: async () => (await import('./token.ts')).tokenCommands,
  lock: async () => (await import('./lock.ts')).lockCommands,
  audit: async () => (await import('./audit.ts')).auditCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  copy: async () => (await import('./copy.ts')).copyCommand,
  doctor: async () => (await import('./doctor.ts')).doctorCommand,
  config: async () => (await import('./show-config.ts')).configCommand,
  export: async () => (await import('./export.ts')).exportCommand,
  show: async () => (await import('./show.ts')).showCommand,
  verify: async () => (await import('./verify.ts')).verifyCommand,
  restore: async () => (await import('./restore.ts')).restoreCommand,
  convert: async () => (await import('./convert.ts')).convertCommand,
  finish: async () => (await import('./finish.ts')).finishCommand,
  compare: async () => (await import('./compare.ts')).compareCommand,
  gitlab: async () => (await import('./gitlab.ts')).gitlabCommands,
  auth: async () => (await import('./auth.ts')).authCommands,
  admin: async () => (await import('./admin.ts')).adminCommands,
  migration: async () => (await import('./migration.ts')).migrationCommands,
  schedule: async () => (await import('./schedule.ts')).scheduleCommands,
  webhook: async () => (await import('./webhook.ts')).webhookCommands,
  settings: async () => (await import('./list-settings.ts')).settingsCommand,
  completion: async () => (await import('./completion.ts')).completionCommand,
  man: async () => (await import('./manual-page.ts')).manCommand,
  version: async () => versionCommand,
}

/** These commands describe all commands, so that all must be loaded. */
const DESCRIBE_ALL = ['completion', 'man']

/**
 * Creates the program with the names of all commands. To start quickly, only the command that `args` names is loaded in full;
 * without `args`, all commands are.
 */
export async function createProgram(args?: readonly string[]): Promise<Command> {
  const program = new Command('godwit')
    .description(
      "Self-service export and move for git hosts, compatible with GitHub's User Migrations API",
    )
    .version(VERSION, '--version')
    .option(
      '--config <FILE>',
      `configuration file; GODWIT_CONFIG (default: ${DEFAULT_CONFIG_FILE})`,
    )
    .exitOverride()
    .configureHelp({
      styleTitle: (title) => paint('bold', title),
      // Commander would not wrap descriptions beside long options on a narrow terminal.
      minWidthToWrap: 10,
      ...helpLayout,
    })
    .configureOutput({ outputError: (text, write) => write(describeUsageError(text)) })
  const requested = args?.find(
    (arg, i) => !arg.startsWith('-') && arg !== 'help' && args[i - 1] !== '--config',
  )
  const isLazy = args !== undefined && !DESCRIBE_ALL.includes(requested ?? '')
  for (const [group, commands] of Object.entries(groups)) {
    program.commandsGroup(group)
    for (const [name, about] of Object.entries(commands)) {
      if (isLazy && requested !== name) program.command(name).description(about)
      else (await loaders[name as CommandName]())(program, about)
    }
  }
  // The help command is added last, so that it is the last one of the last group.
  helpCommand(program)
  withExamples(program, [
    'godwit serve                             # a sample git host, to try it',
    'godwit serve --repositories /srv/git     # your own',
    'godwit auth login --url http://127.0.0.1:3000',
    'godwit migration start alice/site --watch',
  ])
  return program.addHelpText(
    'after',
    '\nExit codes, all options and all settings: godwit man | man -l -',
  )
}

/** Rewords the messages of commander. */
const describeUsageError = (text: string): string =>
  text
    .replace(/^error: option '(?:-\w, )?(--[\w-]+).*?' argument '(.*)' is invalid\. /s, '$1 $2: ')
    .replace(/^error: command-argument value '(.*)' is invalid for argument '.*?'\. /s, "'$1': ")
    .replace(/Allowed choices are (.*)\.\n/, 'must be one of $1\n')
    .replace(/^(?:error: )?/, 'godwit: ')

/** Adds a help command that takes the whole name of a command. Commander's own one takes one word, and ignores an unknown one. */
function helpCommand(program: Command): void {
  const command = program.command('help [command...]').description('display help for command')
  withExamples(command, ['godwit help migration start', 'godwit help settings'])
    .helpOption(false)
    .action(async (names: string[]) => {
      let found = program
      for (const name of names) {
        const next = found.commands.find((each) => each.name() === name)
        // Commander reports the unknown command, and suggests a similar one.
        if (!next && found.commands.length > 0)
          return void (await program.parseAsync(names, { from: 'user' }))
        if (!next) break
        found = next
      }
      found.help()
    })
}

function versionCommand(program: Command, about: string): void {
  const command = program.command('version').description(about)
  withExamples(command, ['godwit version'])
    .option('--json', 'print the versions as JSON')
    .action(({ json }: JsonOption) => {
      const { platform, arch, versions } = process
      const value = { version: VERSION, node: versions.node, platform, arch }
      const text = `godwit ${VERSION} (node ${versions.node}, ${platform} ${arch})`
      printResult({ json }, value, text)
    })
}
