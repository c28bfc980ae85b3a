import { announce } from '../parts/announcements.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { WebhookForm } from '../parts/webhook-form.tsx'
import { goTo } from '../place.ts'
import { useSignedIn } from '../session.tsx'

export default function NewWebhookPage() {
  const { api, org, to } = useSignedIn()
  return (
    <>
      <PageHead
        title={org === undefined ? 'New webhook' : `New webhook of ${org}`}
        back={{ href: to.webhooks(), text: 'Webhooks' }}
        about="An address that is told when migrations end, as GitHub tells of its events. A ping is sent to it first."
      />
      <WebhookForm
        name="Create webhook"
        save={async (asked) => {
          const { id } = await api.addWebhook(asked)
          announce(`Webhook ${id} created`)
          goTo(to.webhook(id))
        }}
      />
    </>
  )
}
