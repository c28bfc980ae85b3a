import type { ReactNode } from 'react'
import { anonymousApi } from '../api.ts'
import { Loading } from '../parts/loading.tsx'
import { PageHead } from '../parts/page-head.tsx'
import { RepositoryAbout, VisibilityLabel } from '../parts/repository-about.tsx'
import { useAnswer } from '../use-answer.ts'
import type { FullRepository } from '../wire.ts'
import styles from './repository.module.css'

interface PublicRepositoryProps {
  owner: string
  name: string
  /** Where nothing of that name is public. */
  otherwise: ReactNode
}

/** A public repository, for those who are not signed in. */
export default function PublicRepositoryPage({ owner, name, otherwise }: PublicRepositoryProps) {
  const asked = `${owner}/${name}`
  const { answer, failure } = useAnswer<FullRepository>(
    (options) => anonymousApi.repository(asked, options),
    asked,
  )
  if (!answer) return failure ? otherwise : <Loading what={`Loading ${asked}`} />
  const repository = answer.data
  return (
    <>
      <PageHead
        title={repository.full_name}
        back={{ href: '#/', text: 'Sign in' }}
        mark={<VisibilityLabel repository={repository} />}
        about={repository.description || 'No description.'}
      />
      <div className={styles.parts}>
        <RepositoryAbout api={anonymousApi} repository={repository} />
      </div>
    </>
  )
}
