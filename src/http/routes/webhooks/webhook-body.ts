import { isIP } from 'node:net'
import { type Fault, InvalidRequest } from '../../../migrations/errors.ts'
import type { IsAllowed } from '../../../webhooks/allowed-addresses.ts'
import {
  type Subscription,
  subscriptions,
  type WebhookSettings,
} from '../../../webhooks/webhook.ts'
import type * as wire from '../../../wire/types.ts'
import { HIDDEN } from './webhook-json.ts'

const LONGEST_URL = 2048

/** What a request wants a webhook to be, beside what it is already. Refuses all that is wrong with it at once. */
export function settingsFrom(
  { name, config = {}, events, active }: wire.WebhookChange,
  known: WebhookSettings | undefined,
  isAllowed: IsAllowed,
): WebhookSettings {
  const { url = known?.url ?? '', content_type, secret, insecure_ssl = '0' } = config
  const contentType = content_type ?? known?.contentType ?? 'form'
  const wanted = events ?? known?.events ?? ['migration']
  const faults = [
    ...fault(name !== undefined && name !== 'web', 'name', 'The name of a webhook is always web.'),
    ...fault(true, 'url', whyNotAddress(url, isAllowed)),
    ...fault(String(insecure_ssl) !== '0', 'insecure_ssl', 'Certificates are always verified.'),
    ...fault(/\0/.test(secret ?? ''), 'secret', 'A secret cannot have a NUL in it.'),
    ...fault(wanted.length === 0, 'events', 'At least one event is needed.'),
    ...wanted.flatMap((each) =>
      fault(!subscriptions.includes(each as never), 'events', `There is no event "${each}".`),
    ),
  ]
  if (faults.length > 0) throw new InvalidRequest(faults)
  return {
    url,
    contentType,
    secret: secretFrom(secret, known),
    events: [...new Set(wanted)] as Subscription[],
    isActive: active ?? known?.isActive ?? true,
  }
}

function secretFrom(secret: string | undefined, known: WebhookSettings | undefined) {
  if (secret === undefined || secret === HIDDEN) return known?.secret ?? null
  return secret === '' ? null : secret
}

const fault = (isWrong: boolean, field: string, message: string | undefined): Fault[] =>
  isWrong && message !== undefined ? [{ resource: 'Hook', field, code: 'custom', message }] : []

/** A name is looked up when something is sent; an address can be told at once. */
function whyNotAddress(text: string, isAllowed: IsAllowed): string | undefined {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return 'An http or https address is needed.'
  if (text.length > LONGEST_URL) return `An address has at most ${LONGEST_URL} characters.`
  if (url.username !== '' || url.password !== '')
    return 'An address cannot have a user name or password in it.'
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) && !isAllowed(host))
    return 'This address is on a network that is not allowed; the operator can allow it with --webhook-networks.'
  return undefined
}
