import { PackageIcon } from '@primer/octicons-react'
import { Button, Label, TextInput } from '@primer/react'
import type { ReactNode } from 'react'
import { type Api, anonymousApi } from '../api.ts'
import type { Repository, User } from '../api-types.ts'
import { Box } from '../components/box.tsx'
import { LoadingRows } from '../components/loading.tsx'
import { Moment } from '../components/moment.tsx'
import { PageHead, SignInLink } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import { Pages, useRepositorySearch } from '../components/repository-search.tsx'
import { formatCount, formatKib } from '../quantities.ts'
import { linksOf } from '../routes.ts'
import { useLinks, useSession } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import styles from './owner.module.css'

const PER_PAGE = 30

interface OwnerPageProps {
  login: string
  /** Shown to visitors who are not signed in, if the owner has no public repository. */
  otherwise?: ReactNode
}

/** A person or an organization with the repositories that the viewer may read. */
export default function OwnerPage({ login, otherwise }: OwnerPageProps) {
  const { session } = useSession()
  const to = useLinks()
  const isSignedIn = session.state === 'signed-in'
  const api = isSignedIn ? session.apiOf() : anonymousApi
  const { response, failure, refresh } = useResource<User>(
    (options) => api.owner(login, options),
    login,
  )
  const back = { href: to.migrations(), text: isSignedIn ? 'Migrations' : 'Sign in' }
  if (!response && failure?.kind === 'not-found') {
    const message = `${login} does not exist, or you may not see any of its repositories.`
    return otherwise ?? <Problem failure={{ ...failure, message }} back={back} />
  }
  if (!response && failure) return <Problem failure={failure} onRetry={refresh} back={back} />
  const owner = response?.data
  return (
    <>
      <PageHead
        title={owner?.login ?? login}
        {...(isSignedIn && { back })}
        mark={owner && <Label variant="secondary">{owner.type}</Label>}
        about={`The repositories of ${owner?.login ?? login} that ${isSignedIn ? 'you may read' : 'are public'}.`}
        actions={isSignedIn ? owner && <ExportButton owner={owner} /> : <SignInLink />}
      />
      <Repositories api={api} login={login} />
    </>
  )
}

/** Leads to a new migration of the repositories that the viewer may export. */
function ExportButton({ owner }: { owner: User }) {
  const { session } = useSession()
  const { login } = owner
  const isOwned = session.state === 'signed-in' && session.organizations.includes(login)
  const api =
    session.state === 'signed-in' ? session.apiOf(isOwned ? login : undefined) : anonymousApi
  const { response } = useResource<Repository[]>(
    (options) => api.repositories({ ...options, q: `${login}/`, page: 1, perPage: 100 }),
    login,
  )
  // A search finds text anywhere in a name.
  if (!response?.data.some((each) => each.owner.login === login)) return null
  return (
    <Button
      as="a"
      href={linksOf(isOwned ? login : undefined).new(login)}
      variant="primary"
      leadingVisual={PackageIcon}
    >
      Export
    </Button>
  )
}

function Repositories({ api, login }: { api: Api; login: string }) {
  const search = useRepositorySearch((options) => api.repositoriesOf(login, options), PER_PAGE)
  const { q, shown, failure, isLoading, refresh } = search
  return (
    <Box
      title={shown ? formatCount(shown.total, 'repository', 'repositories') : 'Repositories'}
      aside={<TextInput className={styles.search} {...search.input} />}
    >
      {failure && <Problem isPart failure={failure} onRetry={refresh} />}
      {!shown && !failure && <LoadingRows what="Loading repositories" />}
      {shown && !failure && shown.total === 0 && (
        <p className={styles.none}>
          {q === '' ? 'None that you may read.' : `No repository has “${q}” in its name.`}
        </p>
      )}
      {shown && !failure && (
        <ul aria-busy={isLoading}>
          {shown.data.map((each) => (
            <Row key={each.id} repository={each} />
          ))}
        </ul>
      )}
      <Pages {...search} />
    </Box>
  )
}

function Row({ repository }: { repository: Repository }) {
  const to = useLinks()
  const { full_name, name, description, archived, fork, language } = repository
  return (
    <li className={styles.row}>
      <div className={styles.name}>
        <a href={to.repository(full_name)}>{name}</a>
        <Label variant="secondary">{repository.private ? 'Private' : 'Public'}</Label>
        {archived && <Label variant="attention">Archived</Label>}
        {fork && <Label variant="secondary">Fork</Label>}
      </div>
      {description && <p>{description}</p>}
      <p className={styles.about}>
        {language && `${language} · `}
        {formatKib(repository.size)} · pushed <Moment at={repository.pushed_at} />
      </p>
    </li>
  )
}
