import { readFileSync } from 'node:fs'
import type {
  DeliveryResponse,
  FullDeliveryResponse,
  WebhookResponse,
} from '@godwit/contract/client/responses'
import type { WebhookChange } from '@godwit/contract/schemas/types'
import { escapeForTerminal } from '@godwit/lib/terminal-text'
import { UsageError, UserError } from '@godwit/lib/user-error'
import { type Command, Option } from 'commander'
import { type ClientCommands, clientCommandsOf, printing, withClient } from './client-command.ts'
import { parseId, withExamples } from './command-line.ts'
import { formatTime, printResult } from './print.ts'
import { type Table, tableOf } from './table.ts'

const DELIVERY = 'ID of the delivery'
const SECRET_VARIABLE = 'GODWIT_WEBHOOK_SECRET'

/** Adds the commands that manage webhooks: URLs that events are sent to when migrations end. */
export function webhookCommands(program: Command, about: string): void {
  const group = withExamples(program.command('webhook').description(about), [
    'godwit webhook add https://ci.example.com/godwit --secret-file secret',
    'godwit webhook add https://chat.example.com/hook --org octo --events migration.failed',
    'godwit webhook deliveries 3',
  ])
  const commands = clientCommandsOf(group, 'webhook')
  const { add, addWithId } = commands
  add('list', 'list your webhooks (or those of --org)', [
    'godwit webhook list',
    'godwit webhook list --org octo --json',
  ]).action(printing(({ webhooks }) => webhooks.list(), webhookRows, 'no webhooks yet'))
  createCommand(commands)
  addWithId('show', 'show one webhook', ['godwit webhook show 3']).action(
    printing(({ webhooks }, id: number) => webhooks.show(id), describeWebhook),
  )
  editCommand(commands)
  addWithId('remove', 'remove a webhook and its deliveries', ['godwit webhook remove 3']).action(
    withClient(async (client, _options, id: number) => {
      await client.api.webhooks.remove(id)
      printResult(client, { id, removed: true }, `webhook ${id} removed`)
    }),
  )
  addWithId('ping', 'send a ping to a webhook, to test it', [
    'godwit webhook ping 3 && godwit webhook deliveries 3',
  ]).action(
    withClient(async (client, _options, id: number) => {
      await client.api.webhooks.ping(id)
      printResult(client, { id, ping: true }, `a ping will be sent to webhook ${id}`)
    }),
  )
  deliveryCommands(commands)
}

interface ChangeFlags {
  to?: string
  events?: string[]
  contentType?: 'json' | 'form'
  secretFile?: string
  /** True to read it from the environment, false to remove it. */
  secret?: boolean
  active?: boolean
  inactive?: boolean
}

const EVENTS =
  'events to send, separated by commas: migration, migration.exported, migration.partial, migration.failed, migration.cancelled'

/** Adds the options that `add` and `edit` share. `secret` describes where else the secret is read from. */
function addWebhookOptions(command: Command, secret: string): Command {
  return command
    .option('--events <LIST>', EVENTS, (text) => text.split(',').map((each) => each.trim()))
    .addOption(
      new Option('--content-type <TYPE>', 'how the body is sent').choices(['json', 'form']),
    )
    .option('--secret-file <FILE>', `file with the secret that signs deliveries, - for ${secret}`)
}

function createCommand({ add }: ClientCommands): void {
  const command = add('add', 'add a webhook; a ping is sent to it', [
    'godwit webhook add https://ci.example.com/godwit --secret-file secret',
    'openssl rand -hex 20 | tee secret | godwit webhook add https://ci.example.com/godwit --secret-file -',
  ])
  addWebhookOptions(command, `standard input; ${SECRET_VARIABLE}`)
    .argument('<url>', 'URL that events are sent to')
    .option('--inactive', 'send nothing yet')
    .action(
      withClient(async (client, flags: ChangeFlags, address: string) => {
        const useVariable = flags.secretFile === undefined && Boolean(process.env[SECRET_VARIABLE])
        const secret = useVariable ? { secret: true } : {}
        const change = changeFrom({ contentType: 'json', ...flags, ...secret })
        const config = { ...change.config, url: address }
        const added = await client.api.webhooks.add({ ...change, config })
        printResult(client, added, describeWebhook(added))
      }),
    )
}

function editCommand({ addWithId }: ClientCommands): void {
  const command = addWithId('edit', 'change a webhook', [
    'godwit webhook edit 3 --events migration.failed,migration.partial',
    'godwit webhook edit 3 --active',
  ])
  addWebhookOptions(command, 'standard input')
    .option('--to <URL>', 'URL that events are sent to')
    .option('--secret', `replace the secret with ${SECRET_VARIABLE}`)
    .option('--no-secret', 'remove the secret')
    .option('--active', 'send events')
    .option('--inactive', 'send no events')
    .action(
      withClient(async (client, flags: ChangeFlags, id: number) => {
        const change = changeFrom(flags)
        if (Object.keys(change).length === 0)
          throw new UsageError(
            'nothing to change: give --to, --events, --content-type or another option',
          )
        const changed = await client.api.webhooks.edit(id, change)
        printResult(client, changed, describeWebhook(changed))
      }),
    )
}

/** Returns the request of the given options. What it omits stays unchanged. */
function changeFrom(flags: ChangeFlags): WebhookChange {
  const { to, events, contentType, active, inactive } = flags
  if (active && inactive) throw new UsageError('--active and --inactive exclude each other')
  const secret = webhookSecret(flags)
  const config = {
    ...(to !== undefined && { url: to }),
    ...(contentType !== undefined && { content_type: contentType }),
    ...(secret !== undefined && { secret }),
  }
  return {
    ...(Object.keys(config).length > 0 && { config }),
    ...(events && { events }),
    ...((active || inactive) && { active: active === true }),
  }
}

function deliveryCommands({ addWithId }: ClientCommands): void {
  addWithId('deliveries', 'list what was sent to a webhook, newest first, or show one delivery', [
    'godwit webhook deliveries 3',
    'godwit webhook deliveries 3 41',
  ])
    .argument('[delivery]', `${DELIVERY}, to show it in full`, parseId('delivery'))
    .action(
      withClient(async (client, _options, id: number, delivery?: number) => {
        const { webhooks } = client.api
        if (delivery === undefined) {
          const all = await webhooks.deliveries(id)
          return printResult(client, all, deliveryRows(all), 'no deliveries yet')
        }
        const found = await webhooks.delivery(id, delivery)
        printResult(client, found, describeDelivery(found))
      }),
    )
  addWithId('redeliver', 'send the event of a delivery again, under the same ID', [
    'godwit webhook redeliver 3 41',
  ])
    .argument('<delivery>', DELIVERY, parseId('delivery'))
    .action(
      withClient(async (client, _options, id: number, delivery: number) => {
        await client.api.webhooks.redeliver(id, delivery)
        const message = `delivery ${delivery} will be sent to webhook ${id} again`
        printResult(client, { id, delivery, redelivery: true }, message)
      }),
    )
}

const STDIN = 0

/**
 * Reads the secret from a file, from standard input (`-`) or from the environment, never from an argument: every user of the
 * machine can see those. Returns undefined to leave the secret unchanged, and '' to remove it.
 */
function webhookSecret({ secretFile, secret }: ChangeFlags): string | undefined {
  if (secret !== undefined && secretFile !== undefined)
    throw new UsageError(`--${secret ? '' : 'no-'}secret and --secret-file exclude each other`)
  if (secret === false) return ''
  const value = secret ? process.env[SECRET_VARIABLE] : secretFile && readSecret(secretFile)
  if (value === undefined && !secret) return undefined
  if (value) return value
  throw new UserError(
    secret ? `--secret: ${SECRET_VARIABLE} is not set` : `${secretFile} contains no secret`,
  )
}

function readSecret(file: string): string {
  try {
    return readFileSync(file === '-' ? STDIN : file, 'utf8').replace(/\r?\n$/, '')
  } catch (error) {
    throw new UserError(`the secret cannot be read: ${(error as Error).message}`, { cause: error })
  }
}

const webhookRows = (webhooks: readonly WebhookResponse[]): Table =>
  tableOf(webhooks, {
    ID: ({ id }) => id,
    STATE: stateOf,
    EVENTS: ({ events }) => events.join(', '),
    URL: ({ config }) => config.url,
    'LAST DELIVERY': ({ last_response }) => last_response?.message,
  })

const stateOf = ({ active }: WebhookResponse): string => (active ? 'active' : 'inactive')

function describeWebhook(webhook: WebhookResponse): string {
  const { id, events, config, last_response, disabled_reason } = webhook
  const lines = [
    `webhook ${id} is ${stateOf(webhook)}${disabled_reason ? `: ${disabled_reason}` : ''}`,
    `URL            ${config.url}`,
    `events         ${events.join(', ')}`,
    `content type   ${config.content_type}`,
    `secret         ${config.secret === undefined ? 'none: deliveries are not signed' : 'set'}`,
    `last delivery  ${last_response?.message ?? 'none yet'}`,
  ]
  return lines.map(escapeForTerminal).join('\n')
}

const deliveryRows = (deliveries: readonly DeliveryResponse[]): Table =>
  tableOf(deliveries, {
    ID: ({ id }) => id,
    EVENT: (each) => formatEvent(each) + (each.redelivery ? ' (redelivery)' : ''),
    SENT: ({ delivered_at }) => formatTime(delivered_at),
    STATUS: ({ status }) => status,
    // The list is sorted newest first, so the first delivery of an event is the latest one.
    NEXT: (each) =>
      deliveries.find(({ guid }) => guid === each.guid) === each ? formatNextAttempt(each) : '-',
  })

const formatEvent = ({ event, action }: DeliveryResponse): string =>
  action === null ? event : `${event}.${action}`

const formatNextAttempt = ({ state, next_attempt_at }: DeliveryResponse): string =>
  state === 'given_up' ? 'given up' : formatTime(next_attempt_at ?? null)

function describeDelivery(delivery: FullDeliveryResponse): string {
  const { request, response } = delivery
  const lines = [
    `${formatEvent(delivery)}: ${delivery.status}`,
    `delivery  ${delivery.guid}`,
    `duration  ${delivery.duration} s`,
    '',
    'Request:',
    ...headerLines(request.headers),
    '',
    ...indented(JSON.stringify(request.payload, null, 2)),
    ...(response.headers === null ? [] : ['', 'Response:', ...headerLines(response.headers)]),
    ...(response.payload ? ['', ...indented(response.payload)] : []),
  ]
  return lines.map(escapeForTerminal).join('\n')
}

const headerLines = (headers: Readonly<Record<string, unknown>>): string[] =>
  Object.entries(headers).map(([name, value]) => `  ${name}: ${value}`)

/** Indents a body, to distinguish it from the lines around it. */
const indented = (text: string): string[] => text.split('\n').map((line) => `  ${line}`)
