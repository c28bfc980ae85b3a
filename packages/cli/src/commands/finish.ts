import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { accountRefusal } from '@godwit/archive/formats/gitea-dump/choose-destinations'
import { finishDump } from '@godwit/hosts/finish/finish-dump'
import { readForgeToken } from '@godwit/hosts/forge/forge-token'
import { normalizeHostUrl } from '@godwit/hosts/host-url'
import { ifExists } from '@godwit/lib/errno'
import { formatCount } from '@godwit/lib/quantities'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError, UserError } from '@godwit/lib/user-error'
import type { Command } from 'commander'
import { addTo, asUsageError, withExamples } from './command-line.ts'
import { print, printJson, printMessage } from './print.ts'
import { readPeople } from './read-people.ts'
import { stoppable } from './stop-signal.ts'
import { progressLine } from './terminal.ts'

interface FinishCommandOptions {
  forge: string
  tokenFile: string
  people?: string
  owner?: string
  include?: string[]
  dryRun?: boolean
  json?: boolean
}

export function finishCommand(program: Command, about: string): void {
  withExamples(program.command('finish <dump>').description(about), [
    'godwit finish dumps --forge https://git.example.com --token-file token --dry-run',
    'godwit finish dumps --forge https://git.example.com --token-file token',
  ])
    .usage('DUMP --forge URL --token-file FILE')
    .requiredOption('--forge <URL>', 'the server that the dump was restored to')
    .requiredOption('--token-file <FILE>', 'file with an access token of an administrator there')
    .option('--people <CSV>', 'file of old-login,new-login (default: that of the conversion)')
    .option('--owner <LOGIN>', 'everything was restored under this owner')
    .option('--include <OWNER/NAME>', 'finish only this one of the dump; repeat for more', addTo)
    .option('--dry-run', 'list what would be done, and change nothing')
    .option('--json', 'print the result as JSON')
    .action(stoppable(runFinish, 'stopped; the same command continues'))
}

async function runFinish(signal: AbortSignal, name: string, options: FinishCommandOptions) {
  const { owner, include: repositories = [], dryRun: isDryRun = false } = options
  const url = await Promise.try(normalizeHostUrl, options.forge).catch(asUsageError('--forge'))
  const token = await readForgeToken(options.tokenFile).catch(asUsageError('--token-file'))
  const refusal = owner === undefined ? undefined : accountRefusal(owner)
  if (refusal) throw new UsageError(`--owner ${owner}: ${refusal}`)
  const dump = resolve(name)
  if (!(await ifExists(stat(dump), 'ENOENT'))?.isDirectory())
    throw new UsageError(`${name} is not a directory that convert --to gitea-dump wrote`)
  const people = options.people === undefined ? undefined : await readNewLogins(options.people)
  using progress = progressLine()
  const steps: string[] = []
  const run = await finishDump({
    dump,
    url,
    token,
    repositories,
    owner,
    people,
    isDryRun,
    signal,
    onStep(text) {
      if (isDryRun && options.json) steps.push(text)
      else if (isDryRun) print(escapeForTerminal(text))
      else progress.update(undefined, text)
    },
    onWait: (message) => progress.print(message),
  })
  progress.update(undefined, '')
  const { failed } = run
  const leftOut = Array.from(run.leftOut, ([reason, count]) => ({ reason, count }))
  if (options.json) {
    const done = Object.fromEntries(run.done)
    printJson({ server: url, dry_run: isDryRun, done, left_out: leftOut, failed, steps })
  } else {
    for (const [kind, count] of run.done)
      print(`${isDryRun ? 'would be done' : 'done'}: ${kind}: ${count}`)
    if (run.done.size + failed.length === 0) print('nothing to do: everything is there')
    for (const { reason, count } of leftOut)
      print(escapeForTerminal(`left out: ${reason}${count > 1 ? ` (${count} times)` : ''}`))
    for (const line of failed) print(escapeForTerminal(`failed: ${line}`))
  }
  if (failed.length > 0)
    throw new UserError(
      `${formatCount(failed.length, 'step')} failed; the same command tries again`,
    )
}

async function readNewLogins(file: string): Promise<Map<string, string>> {
  const warn = (warning: string) => printMessage(`warning: ${warning}`)
  const people = await readPeople(file, accountRefusal, warn).catch(asUsageError('--people'))
  return new Map(Array.from(people, ([old, { login }]) => [old, login]))
}
