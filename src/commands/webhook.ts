import { type Command, Option } from 'commander'
import { UsageError } from '../lib/user-error.ts'
import type { WebhookChange } from '../wire/types.ts'
import { addClientCommand, tell, withClient } from './client-command.ts'
import { idArgument, idOf, withExamples } from './command-line.ts'
import {
  deliveryRows,
  describeDelivery,
  describeWebhook,
  webhookRows,
} from './webhook/format-webhook.ts'
import { secretOfNew, webhookSecret } from './webhook/secret.ts'

const ID = idArgument('webhook')
const DELIVERY = ['<delivery>', 'ID of the delivery', idOf('delivery')] as const

/** Addresses that are told when migrations end. */
export function webhookCommands(program: Command, about: string): void {
  const webhook = program.command('webhook').description(about)
  withExamples(
    webhook,
    'godwit webhook add https://ci.example.com/godwit --secret-file secret',
    'godwit webhook add https://chat.example.com/hook --org octo --events migration.failed',
    'godwit webhook deliveries 3',
  )
  listCommand(webhook)
  addWebhookCommand(webhook)
  showCommand(webhook)
  editCommand(webhook)
  removeCommand(webhook)
  pingCommand(webhook)
  deliveriesCommand(webhook)
  redeliverCommand(webhook)
}

function listCommand(webhook: Command): void {
  const command = addClientCommand(webhook, 'list', 'list webhooks')
  withExamples(command, 'godwit webhook list', 'godwit webhook list --org octo --json').action(
    withClient(async (talk) => {
      const all = await talk.api.webhooks.list()
      tell(talk, all, webhookRows(all))
    }),
  )
}

interface ChangeFlags {
  to?: string
  events?: string[]
  contentType?: 'json' | 'form'
  secretFile?: string
  secret?: boolean
  active?: boolean
  inactive?: boolean
}

const EVENTS =
  'events to send, separated by commas: migration, migration.exported, migration.partial, migration.failed, migration.cancelled'

function withSettings(command: Command, secret: string): Command {
  return command
    .option('--events <LIST>', EVENTS, (text) => text.split(',').map((each) => each.trim()))
    .addOption(
      new Option('--content-type <TYPE>', 'how the body is sent').choices(['json', 'form']),
    )
    .option('--secret-file <FILE>', `file with the secret that signs deliveries, - for ${secret}`)
}

function addWebhookCommand(webhook: Command): void {
  const about = 'add a webhook; a ping is sent to it'
  const secret = 'standard input; GODWIT_WEBHOOK_SECRET'
  const command = withSettings(addClientCommand(webhook, 'add', about), secret)
    .argument('<address>', 'URL that events are sent to')
    .option('--inactive', 'send nothing yet')
  withExamples(
    command,
    'godwit webhook add https://ci.example.com/godwit --secret-file secret',
    'openssl rand -hex 20 | tee secret | godwit webhook add https://ci.example.com/godwit --secret-file -',
  )
  command.action(
    withClient(async (talk, flags: ChangeFlags, address: string) => {
      const secret = secretOfNew(flags, process.env)
      const change = changeFrom({ contentType: 'json', ...flags, ...secret })
      const config = { ...change.config, url: address }
      const added = await talk.api.webhooks.add({ ...change, config })
      tell(talk, added, describeWebhook(added))
    }),
  )
}

function showCommand(webhook: Command): void {
  const command = addClientCommand(webhook, 'show', 'show one webhook')
  withExamples(command, 'godwit webhook show 3')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      const found = await talk.api.webhooks.show(id)
      tell(talk, found, describeWebhook(found))
    }),
  )
}

function editCommand(webhook: Command): void {
  const command = withSettings(
    addClientCommand(webhook, 'edit', 'change a webhook'),
    'standard input',
  )
    .argument(...ID)
    .option('--to <URL>', 'URL that events are sent to')
    .option('--secret', 'replace the secret with GODWIT_WEBHOOK_SECRET')
    .option('--no-secret', 'remove the secret')
    .option('--active', 'send events')
    .option('--inactive', 'send no events')
  withExamples(
    command,
    'godwit webhook edit 3 --events migration.failed,migration.partial',
    'godwit webhook edit 3 --active',
  )
  command.action(
    withClient(async (talk, flags: ChangeFlags, id: number) => {
      const change = changeFrom(flags)
      if (Object.keys(change).length === 0)
        throw new UsageError(
          'nothing to change: give --to, --events, --content-type or another option',
        )
      const changed = await talk.api.webhooks.edit(id, change)
      tell(talk, changed, describeWebhook(changed))
    }),
  )
}

/** What is not said is not sent. */
function changeFrom(flags: ChangeFlags): WebhookChange {
  const { to, events, contentType, active, inactive } = flags
  if (active && inactive) throw new UsageError('--active and --inactive exclude each other')
  const secret = webhookSecret(flags, process.env)
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

function removeCommand(webhook: Command): void {
  const command = addClientCommand(webhook, 'remove', 'remove a webhook and its deliveries')
  withExamples(command, 'godwit webhook remove 3')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      await talk.api.webhooks.remove(id)
      tell(talk, { id, removed: true }, `webhook ${id} is removed`)
    }),
  )
}

function pingCommand(webhook: Command): void {
  const command = addClientCommand(webhook, 'ping', 'send a ping to a webhook, to test it')
  withExamples(command, 'godwit webhook ping 3 && godwit webhook deliveries 3')
  command.argument(...ID).action(
    withClient(async (talk, _options, id: number) => {
      await talk.api.webhooks.ping(id)
      tell(talk, { id, ping: true }, `a ping will be sent to webhook ${id}`)
    }),
  )
}

function deliveriesCommand(webhook: Command): void {
  const about = 'list what was sent to a webhook, newest first, or show one delivery'
  const command = addClientCommand(webhook, 'deliveries', about)
  withExamples(command, 'godwit webhook deliveries 3', 'godwit webhook deliveries 3 41')
  const [, aboutDelivery, read] = DELIVERY
  command
    .argument(...ID)
    .argument('[delivery]', `${aboutDelivery}, to show it whole`, read)
    .action(
      withClient(async (talk, _options, id: number, delivery?: number) => {
        const { webhooks } = talk.api
        if (delivery === undefined) {
          const all = await webhooks.deliveries(id)
          return tell(talk, all, deliveryRows(all))
        }
        const found = await webhooks.delivery(id, delivery)
        tell(talk, found, describeDelivery(found))
      }),
    )
}

function redeliverCommand(webhook: Command): void {
  const about = 'send the event of a delivery again, under the same ID'
  const command = addClientCommand(webhook, 'redeliver', about)
  withExamples(command, 'godwit webhook redeliver 3 41')
  command
    .argument(...ID)
    .argument(...DELIVERY)
    .action(
      withClient(async (talk, _options, id: number, delivery: number) => {
        await talk.api.webhooks.redeliver(id, delivery)
        const words = `delivery ${delivery} will be sent to webhook ${id} again`
        tell(talk, { id, delivery, redelivery: true }, words)
      }),
    )
}
