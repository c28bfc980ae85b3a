import { createHmac } from 'node:crypto'
import type { WebhookEvent } from './event-store.ts'
import type { WebhookRequest } from './send-request.ts'
import type { Webhook } from './webhook.ts'

/** As GitHub sends it, so that whatever receives GitHub's webhooks receives ours. */
export function webhookRequest(
  webhook: Webhook,
  { guid, event }: WebhookEvent,
  payload: string,
  version: string,
): WebhookRequest {
  const { id, owner, contentType, secret, url } = webhook
  const isForm = contentType === 'form'
  const body = isForm ? String(new URLSearchParams({ payload })) : payload
  return {
    url,
    body,
    headers: {
      accept: '*/*',
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      'user-agent': `Godwit-Hookshot/${version}`,
      'x-github-delivery': guid,
      'x-github-event': event,
      'x-github-hook-id': String(id),
      'x-github-hook-installation-target-id': String(owner.id),
      'x-github-hook-installation-target-type':
        owner.type === 'Organization' ? 'organization' : 'user',
      ...(secret !== null && {
        'x-hub-signature': `sha1=${signed('sha1', secret, body)}`,
        'x-hub-signature-256': `sha256=${signed('sha256', secret, body)}`,
      }),
    },
  }
}

const signed = (algorithm: 'sha1' | 'sha256', secret: string, body: string): string =>
  createHmac(algorithm, secret).update(body).digest('hex')
