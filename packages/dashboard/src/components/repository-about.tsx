import { CheckIcon, CopyIcon } from '@primer/octicons-react'
import { Banner, Button, Label } from '@primer/react'
import { type ReactNode, useState } from 'react'
import type { Api } from '../api.ts'
import type { Branch, FullRepository, Root, Tag } from '../api-types.ts'
import { copyText } from '../copy-text.ts'
import { formatKib } from '../quantities.ts'
import { useLinks } from '../session.tsx'
import { useResource } from '../use-resource.ts'
import { announce } from './announcements.tsx'
import { Box } from './box.tsx'
import { Moment } from './moment.tsx'
import { RefList } from './ref-list.tsx'
import styles from './repository-about.module.css'
import { DamagedLabel } from './repository-labels.tsx'

export function VisibilityLabel({ repository }: { repository: FullRepository }) {
  return (
    <>
      <Label variant="secondary">{repository.private ? 'Private' : 'Public'}</Label>
      {repository.archived && <Label variant="attention">Archived</Label>}
      {repository.fork && <Label variant="secondary">Fork</Label>}
      {repository.problem !== null && <DamagedLabel />}
    </>
  )
}

/** The details, clone addresses, branches and tags of a repository. */
export function RepositoryAbout({ api, repository }: { api: Api; repository: FullRepository }) {
  const to = useLinks()
  const { full_name: fullName, default_branch: defaultBranch } = repository
  const branches = useResource<Branch[]>((options) => api.branches(fullName, options), fullName)
  const root = useResource<Root>((options) => api.root(options), 'root')
  const hasSsh = typeof root.response?.data.repository_ssh_url === 'string'
  const tags = useResource<Tag[]>((options) => api.tags(fullName, options), fullName)
  return (
    <>
      {repository.problem !== null && (
        <Banner
          className={styles.problem}
          variant="critical"
          title="This repository cannot be exported"
          description={`${repository.problem}. Ask the operator to repair it.`}
        />
      )}
      <Box title="About">
        <dl className={styles.figures}>
          <Figure name="Owner">
            <a href={to.owner(repository.owner.login)}>{repository.owner.login}</a>
          </Figure>
          <Figure name="Size">{formatKib(repository.size)}</Figure>
          <Figure name="License">
            {repository.license ? (
              <a href={repository.license.html_url}>{repository.license.name}</a>
            ) : (
              'None found'
            )}
          </Figure>
          <Figure name="Language">{repository.language ?? 'Unknown'}</Figure>
          <Figure name="Default branch">{defaultBranch}</Figure>
          <Figure name="Last push">
            <Moment at={repository.pushed_at} />
          </Figure>
          {repository.homepage && (
            <Figure name="Homepage">
              <a href={repository.homepage}>{repository.homepage}</a>
            </Figure>
          )}
        </dl>
        {repository.topics.length > 0 && (
          <ul className={styles.topics} aria-label="Topics">
            {repository.topics.map((topic) => (
              <li key={topic}>
                <Label variant="accent">{topic}</Label>
              </li>
            ))}
          </ul>
        )}
      </Box>
      <Box title="Clone">
        <CopyAddress name="HTTP URL" address={repository.clone_url} />
        {hasSsh && <CopyAddress name="SSH URL" address={repository.ssh_url} />}
      </Box>
      <div className={styles.refs}>
        <RefList title="Branches" one="branch" refs={branches} defaultBranch={defaultBranch} />
        <RefList title="Tags" one="tag" refs={tags} />
      </div>
    </>
  )
}

function Figure({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

const SHOWN_MS = 2000

/** An address with a button that copies it. */
function CopyAddress({ name, address }: { name: string; address: string }) {
  const [isCopied, setCopied] = useState(false)
  async function copy(): Promise<void> {
    const isDone = await copyText(address)
    announce(isDone ? `${name} copied` : `${name} could not be copied`)
    setCopied(isDone)
    setTimeout(() => setCopied(false), SHOWN_MS)
  }
  return (
    <div className={styles.line}>
      <span className={styles.name}>{name}</span>
      <code className={styles.address}>{address}</code>
      <Button
        size="small"
        leadingVisual={isCopied ? CheckIcon : CopyIcon}
        aria-label={`Copy ${name}`}
        onClick={() => void copy()}
      >
        {isCopied ? 'Copied' : 'Copy'}
      </Button>
    </div>
  )
}
