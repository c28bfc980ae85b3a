import { RepoIcon } from '@primer/octicons-react'
import { Blankslate } from '@primer/react/experimental'
import { useSignedIn } from '../session.tsx'

/** What to do if an account has no repositories, as on the first day. */
export function NoRepositories() {
  const { user, org } = useSignedIn()
  const owner = org ?? user.login
  return (
    <Blankslate>
      <Blankslate.Visual>
        <RepoIcon size="medium" />
      </Blankslate.Visual>
      <Blankslate.Heading>No repositories found for {owner}</Blankslate.Heading>
      <Blankslate.Description>
        {user.site_admin ? (
          <>
            Check that the directory of <code>--repositories</code> has repositories of {owner},
            then run <code>godwit sync</code>. To see what the server finds, run{' '}
            <code>godwit doctor</code>.
          </>
        ) : (
          <>
            You see the repositories that{' '}
            {org === undefined ? 'you own or administer' : `${org} owns`}. New ones appear after the
            next sync. If some are missing, ask your administrator to run <code>godwit sync</code>,
            and check that {owner} is also the name on your git host.
          </>
        )}
      </Blankslate.Description>
    </Blankslate>
  )
}
