import { useState } from 'react'
import { announce } from '../components/announcements.tsx'
import { PageHead } from '../components/page-head.tsx'
import { WebhookForm, type WebhookSettings } from '../components/webhook-form.tsx'
import { goTo } from '../routes.ts'
import { useSignedIn } from '../session.tsx'

const NEW: WebhookSettings = {
  url: '',
  content_type: 'json',
  events: ['migration'],
  active: true,
}

export default function NewWebhookPage() {
  const { api, org, to } = useSignedIn()
  const [settings, setSettings] = useState(NEW)
  return (
    <>
      <PageHead
        title={org === undefined ? 'New webhook' : `New webhook of ${org}`}
        back={{ href: to.webhooks(), text: 'Webhooks' }}
        about="Godwit sends a POST request to your URL when a migration ends, in the format of GitHub's webhooks. A ping is sent first."
      />
      <WebhookForm
        settings={settings}
        onChange={setSettings}
        name="Create webhook"
        save={async (secret) => {
          const { url, content_type, ...rest } = settings
          const config = { url, content_type, ...(secret !== '' && { secret }) }
          const { id } = await api.addWebhook({ config, ...rest })
          announce(`Webhook ${id} created`)
          goTo(to.webhook(id))
        }}
      />
    </>
  )
}
