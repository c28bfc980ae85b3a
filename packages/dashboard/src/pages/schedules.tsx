import { ClockIcon, PlusIcon } from '@primer/octicons-react'
import { Button } from '@primer/react'
import { Blankslate } from '@primer/react/experimental'
import type { Schedule } from '../api-types.ts'
import { Box } from '../components/box.tsx'
import { CopyCurl, curl } from '../components/copy-curl.tsx'
import { ListPages } from '../components/list-pages.tsx'
import { LoadingRows } from '../components/loading.tsx'
import { OutOfDate } from '../components/out-of-date.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import { ScheduleRow } from '../components/schedule-row.tsx'
import { formatCount } from '../quantities.ts'
import { useSignedIn } from '../session.tsx'
import { useResource } from '../use-resource.ts'

const PER_PAGE = 25
const EVERY_MS = 10_000

export default function SchedulesPage({ number }: { number: number }) {
  const { api, mediaType, org, to, path } = useSignedIn()
  const { response, failure, refresh } = useResource<Schedule[]>(
    (options) => api.schedules({ ...options, page: number, perPage: PER_PAGE }),
    String(number),
    EVERY_MS,
  )
  return (
    <>
      <PageHead
        title={org === undefined ? 'Schedules' : `Schedules of ${org}`}
        about="A schedule starts a migration every day or every week and keeps the last archives."
        actions={
          <>
            <Button as="a" href={to.newSchedule()} variant="primary" leadingVisual={PlusIcon}>
              New schedule
            </Button>
            <CopyCurl
              commands={[
                {
                  name: 'List schedules',
                  command: curl(mediaType, { path: `${path}/schedules` }),
                },
              ]}
            />
          </>
        }
      />
      {failure && response && <OutOfDate failure={failure} />}
      {!response && failure && <Problem isPart failure={failure} onRetry={refresh} />}
      {!response && !failure && <LoadingRows what="Loading schedules" />}
      {response?.data.length === 0 && number === 1 && <NoneYet />}
      {response && response.data.length > 0 && (
        <Box title={formatCount(response.total, 'schedule')}>
          <ul>
            {response.data.map((each) => (
              <ScheduleRow key={each.id} schedule={each} onDone={refresh} />
            ))}
          </ul>
        </Box>
      )}
      {response && (
        <ListPages response={response} number={number} perPage={PER_PAGE} linkTo={to.schedules} />
      )}
    </>
  )
}

function NoneYet() {
  const { to } = useSignedIn()
  return (
    <Blankslate border spacious>
      <Blankslate.Visual>
        <ClockIcon size="medium" />
      </Blankslate.Visual>
      <Blankslate.Heading>No schedules yet</Blankslate.Heading>
      <Blankslate.Description>
        A schedule exports the repositories you select every day or every week. Unchanged
        repositories are reused, so a run takes little time and space.
      </Blankslate.Description>
      <Blankslate.PrimaryAction href={to.newSchedule()}>Create a schedule</Blankslate.PrimaryAction>
    </Blankslate>
  )
}
