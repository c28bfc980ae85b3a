import type { ReactNode } from 'react'
import { anonymousApi } from '../api.ts'
import type { FullRepository } from '../api-types.ts'
import { Loading } from '../components/loading.tsx'
import { PageHead, SignInLink } from '../components/page-head.tsx'
import { RepositoryAbout, VisibilityLabel } from '../components/repository-about.tsx'
import { useResource } from '../use-resource.ts'
import styles from './repository.module.css'

interface PublicRepositoryProps {
  owner: string
  name: string
  /** Shown if there is no public repository of that name. */
  otherwise: ReactNode
}

/** A public repository, for visitors who are not signed in. */
export default function PublicRepositoryPage({ owner, name, otherwise }: PublicRepositoryProps) {
  const fullName = `${owner}/${name}`
  const { response, failure } = useResource<FullRepository>(
    (options) => anonymousApi.repository(fullName, options),
    fullName,
  )
  if (!response) return failure ? otherwise : <Loading what={`Loading ${fullName}`} />
  const repository = response.data
  return (
    <>
      <PageHead
        title={repository.full_name}
        actions={<SignInLink />}
        mark={<VisibilityLabel repository={repository} />}
        about={repository.description || 'No description.'}
      />
      <div className={styles.sections}>
        <RepositoryAbout api={anonymousApi} repository={repository} />
      </div>
    </>
  )
}
