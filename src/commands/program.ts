import { Command } from 'commander'
import { exitCodes } from '../lib/user-error.ts'
import { VERSION } from '../service/version.ts'
import { STANDARD_CONFIG_FILE } from '../settings/config-file.ts'
import { print, withExamples, withoutSettings } from './command-line.ts'
import { paint } from './terminal.ts'

/** Adds a command to the program. */
type AddCommand = (program: Command, about: string) => void

interface Entry {
  about: string
  load(): Promise<AddCommand>
  /** Whether the command describes all commands, so that all must be loaded. */
  needsAll?: true
}

/** All commands, in the order of the help. */
const groups: Record<string, Record<string, Entry>> = {
  'The service:': {
    serve: {
      about: 'run the service: the API, the dashboard and the exporter',
      load: async () => (await import('./serve.ts')).serveCommand,
    },
    work: {
      about: 'run an export worker for API processes',
      load: async () => (await import('./work.ts')).workCommand,
    },
    sync: {
      about: 'synchronize the catalogue with the repositories on disk',
      load: async () => (await import('./sync.ts')).syncCommand,
    },
    account: {
      about: 'manage accounts',
      load: async () => (await import('./account.ts')).accountCommands,
    },
    member: {
      about: 'manage the members of organizations',
      load: async () => (await import('./member.ts')).memberCommands,
    },
    token: {
      about: 'manage access tokens',
      load: async () => (await import('./token.ts')).tokenCommands,
    },
    locks: {
      about: 'list and release the locks of repositories',
      load: async () => (await import('./locks.ts')).locksCommand,
    },
    check: {
      about: 'check that repositories can be exported, without exporting them',
      load: async () => (await import('./check.ts')).checkCommand,
    },
    doctor: {
      about: 'check everything that `serve` and `work` need, and say how to fix it',
      load: async () => (await import('./doctor.ts')).doctorCommand,
    },
    config: {
      about: 'print the current settings and where each comes from',
      load: async () => (await import('./show-config.ts')).configCommand,
    },
  },
  'Without a server:': {
    export: {
      about: 'write an archive of repositories',
      load: async () => (await import('./export.ts')).exportCommand,
    },
    show: {
      about: 'show what is in an archive',
      load: async () => (await import('./show.ts')).showCommand,
    },
    verify: {
      about: 'check an archive and report every error',
      load: async () => (await import('./verify.ts')).verifyCommand,
    },
    restore: {
      about: 'restore bare repositories from an archive, or dumps for Gitea and Forgejo',
      load: async () => (await import('./restore.ts')).restoreCommand,
    },
  },
  'Client for any server of this API (Godwit or GitHub):': {
    admin: {
      about: 'act on any migration, lock or token as a site admin (Godwit only)',
      load: async () => (await import('./admin.ts')).adminCommands,
    },
    migration: {
      about: 'start, watch and download migrations',
      load: async () => (await import('./migration.ts')).migrationCommands,
    },
    schedule: {
      about: 'start migrations every day or every week (Godwit only)',
      load: async () => (await import('./schedule.ts')).scheduleCommands,
    },
    webhook: {
      about: 'manage the URLs that events are sent to when migrations end',
      load: async () => (await import('./webhook.ts')).webhookCommands,
    },
  },
  'More:': {
    settings: {
      about: 'list every setting: its flag, variable, name in the file, and default',
      load: async () => (await import('./list-settings.ts')).settingsCommand,
    },
    completion: {
      about: 'print a completion script for bash, zsh or fish',
      load: async () => (await import('./completion.ts')).completionCommand,
      needsAll: true,
    },
    man: {
      about: 'print the manual page, in the format of man',
      load: async () => (await import('./manual-page.ts')).manCommand,
      needsAll: true,
    },
    version: {
      about: 'print the version',
      load: async () => versionCommand,
    },
  },
}

const entries = new Map(Object.values(groups).flatMap((group) => Object.entries(group)))

/**
 * Creates the program with the names of all commands. Only the command that `args` names is loaded in full, to start
 * quickly; without `args` all commands are.
 */
export async function createProgram(args?: readonly string[]): Promise<Command> {
  const program = new Command('godwit')
    .description(
      "Self-service export and move for git hosts, compatible with GitHub's User Migrations API",
    )
    .version(VERSION, '--version')
    .option(
      '--config <FILE>',
      `configuration file; GODWIT_CONFIG (default: ${STANDARD_CONFIG_FILE})`,
    )
    .exitOverride()
    .configureHelp({ styleTitle: (title) => paint('bold', title), ...withoutSettings })
    .configureOutput({
      outputError: (text, write) => write(text.replace(/^error: /, 'godwit: ')),
    })
  const requested = args?.find(
    (arg, i) => !arg.startsWith('-') && arg !== 'help' && args[i - 1] !== '--config',
  )
  const needsAll = requested !== undefined && entries.get(requested)?.needsAll
  const isLazy = args !== undefined && !needsAll
  for (const [group, commands] of Object.entries(groups)) {
    program.commandsGroup(group)
    for (const [name, { about, load }] of Object.entries(commands)) {
      if (isLazy && requested !== name) program.command(name).description(about)
      else (await load())(program, about)
    }
  }
  // Added here, the help command is the last one of the last group.
  program.helpCommand(true)
  withExamples(
    program,
    'godwit serve                             # a sample git host, to try it',
    'godwit serve --repositories /srv/git     # your own',
    'godwit migration start alice/site --url http://127.0.0.1:3000 --token-file token',
  )
  return program.addHelpText('after', describeExitCodes)
}

function describeExitCodes(): string {
  const rows = exitCodes.map(([code, meaning]) => `${code.padEnd(6)} ${meaning}`)
  return `\n${[paint('bold', 'Exit codes:'), ...rows].join('\n  ')}`
}

function versionCommand(program: Command, about: string): void {
  const command = program.command('version').description(about)
  withExamples(command, 'godwit version')
  command.action(() =>
    print(`godwit ${VERSION} (node ${process.versions.node}, ${process.platform} ${process.arch})`),
  )
}
