import { useState } from 'react'
import { announce } from '../components/announcements.tsx'
import { CopyCurl, curl } from '../components/copy-curl.tsx'
import { localTimeZone } from '../components/format-schedule.ts'
import { PageHead } from '../components/page-head.tsx'
import { ScheduleForm } from '../components/schedule-form.tsx'
import { NO_OPTIONS, requestOf, type ScheduleSettings } from '../components/schedule-settings.ts'
import { goTo } from '../routes.ts'
import { useSignedIn } from '../session.tsx'

const WEEKLY = { every: 'week', weekday: 'sunday', at: '03:30', keep: 4 } as const

export default function NewSchedulePage() {
  const { api, mediaType, org, to, path } = useSignedIn()
  const [settings, setSettings] = useState<ScheduleSettings>(() => ({
    ...{ name: null, all: false, repositories: [], ...NO_OPTIONS, ...WEEKLY },
    time_zone: localTimeZone(),
  }))
  const request = requestOf(settings)
  return (
    <>
      <PageHead
        title={org === undefined ? 'New schedule' : `New schedule of ${org}`}
        back={{ href: to.schedules(), text: 'Schedules' }}
        about="Select what to export, and when. Unchanged repositories are reused."
      />
      <ScheduleForm
        settings={settings}
        onChange={setSettings}
        name="Create schedule"
        save={async () => {
          const { id } = await api.addSchedule(request)
          announce(`Schedule ${id} created`)
          goTo(to.schedules())
        }}
        below={
          <CopyCurl
            commands={[
              {
                name: 'Create this schedule',
                command: curl(mediaType, { path: `${path}/schedules`, body: request }),
              },
            ]}
          />
        }
      />
    </>
  )
}
