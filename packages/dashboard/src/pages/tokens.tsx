import { CheckIcon, CopyIcon } from '@primer/octicons-react'
import { Banner, Button, Checkbox, FormControl, Select, TextInput } from '@primer/react'
import { type FormEvent, useState } from 'react'
import type { NewToken, Organization, Token, TokenRequest } from '../api-types.ts'
import { announce } from '../components/announcements.tsx'
import { AuditLog } from '../components/audit-log.tsx'
import { Box } from '../components/box.tsx'
import { ConfirmedAction } from '../components/confirmed-action.tsx'
import { LoadingRows } from '../components/loading.tsx'
import { Moment } from '../components/moment.tsx'
import { OutOfDate } from '../components/out-of-date.tsx'
import { PageHead } from '../components/page-head.tsx'
import { Problem } from '../components/problem.tsx'
import { formatLimits, LastUse } from '../components/service-tables.tsx'
import { Table } from '../components/table.tsx'
import styles from '../components/webhook.module.css'
import { copyText } from '../copy-text.ts'
import { formatCount } from '../quantities.ts'
import { useFilters } from '../routes.ts'
import { useSession, useSignedIn } from '../session.tsx'
import { useAction } from '../use-action.ts'
import { useResource } from '../use-resource.ts'

const EVERY_MS = 15_000

/** The user's own tokens. Creating and revoking them needs a recent sign-in. */
export default function TokensPage() {
  const { session } = useSession()
  const { api } = useSignedIn()
  const { response, failure, refresh } = useResource<Token[]>(
    (options) => api.ownTokens(options),
    'own tokens',
    EVERY_MS,
  )
  const [created, setCreated] = useState<NewToken>()
  const until = session.state === 'signed-in' ? session.tokensManagedUntil : null
  const mayManage = until !== null && Date.parse(until) > Date.now()
  const tokens = response?.data ?? []
  return (
    <>
      <PageHead
        title="Tokens"
        about="With a token, programs act as you: clients of the API, godwit migration and git clone."
        actions={
          mayManage &&
          tokens.length > 0 && (
            <ConfirmedAction
              name="Revoke all"
              object="tokens"
              question={`Revoke all of your ${formatCount(tokens.length, 'token')}?`}
              consequence={`Programs that use them are refused at once. ${consequenceOf(tokens)}`}
              act={api.revokeTokens}
              onDone={refresh}
            />
          )
        }
      />
      {failure && response && <OutOfDate failure={failure} />}
      <div className={styles.sections}>
        {created && (
          <Created key={created.id} token={created} onDone={() => setCreated(undefined)} />
        )}
        {mayManage ? (
          <TokenForm
            onCreated={(token) => {
              setCreated(token)
              refresh()
            }}
          />
        ) : (
          <SignInAgain isTooLate={until !== null} />
        )}
        {!response && failure && <Problem isPart failure={failure} onRetry={refresh} />}
        {!response && !failure && <LoadingRows what="Loading tokens" />}
        {response && (
          <Table
            title={formatCount(tokens.length, 'token')}
            columns={['Token', 'Limits', 'Created', 'Expires', 'Last used', 'Action']}
            emptyText="You have no tokens."
            rows={tokens.map((each) => ({
              key: each.id,
              cells: [
                titleOf(each),
                formatLimits(each),
                <Moment key="created" at={each.created_at} />,
                each.expires_at === null ? 'never' : <Moment key="expires" at={each.expires_at} />,
                <LastUse key="used" token={each} />,
                mayManage ? (
                  <ConfirmedAction
                    key="revoke"
                    name="Revoke"
                    object={titleOf(each)}
                    question={`Revoke ${titleOf(each)}?`}
                    consequence={`Programs that use it are refused at once. ${consequenceOf([each])}`}
                    act={() => api.revokeToken(each.id)}
                    onDone={refresh}
                  />
                ) : (
                  '—'
                ),
              ],
            }))}
          />
        )}
        <OwnAuditLog />
      </div>
    </>
  )
}

/** The audit log is long, and seldom read here. */
function OwnAuditLog() {
  const [{ log }, setFilters] = useFilters({ log: '' })
  const isShown = log !== ''
  return (
    <details
      open={isShown}
      onToggle={({ currentTarget: { open } }) => {
        if (open !== isShown) setFilters({ log: open ? 'shown' : '' })
      }}
    >
      <summary>What happened in your account</summary>
      {isShown && <AuditLog whose="own" />}
    </details>
  )
}

const titleOf = ({ id, name }: Token): string => (name === '' ? `Token ${id}` : `${name} (${id})`)

const consequenceOf = (tokens: readonly Token[]): string =>
  tokens.some(({ current }) => current)
    ? `You signed in with ${tokens.length === 1 ? 'it' : 'one of them'}, so you are signed out too, and need another token or your administrator to sign in again.`
    : `Sessions that were opened with ${tokens.length === 1 ? 'it' : 'them'} end.`

/** The new token, which is shown only here. */
function Created({ token, onDone }: { token: NewToken; onDone(): void }) {
  const [isCopied, setCopied] = useState(false)
  async function copy(): Promise<void> {
    const isDone = await copyText(token.token)
    announce(isDone ? 'Token copied' : 'The token could not be copied')
    setCopied(isDone)
  }
  return (
    <Box title={`New token: ${token.name}`}>
      <div className={styles.form}>
        <p>
          Copy the token now: it is not shown again. Store it where programs read it, and not in a
          repository.
        </p>
        <code className={styles.about}>{token.token}</code>
        <div className={styles.actions}>
          <Button
            autoFocus
            variant="primary"
            leadingVisual={isCopied ? CheckIcon : CopyIcon}
            onClick={() => void copy()}
          >
            {isCopied ? 'Copied' : 'Copy token'}
          </Button>
          <Button onClick={onDone}>Done</Button>
        </div>
      </div>
    </Box>
  )
}

/** Asks the user to sign in again. `isTooLate` says that the session could manage tokens at first. The browser stays on this page. */
function SignInAgain({ isTooLate }: { isTooLate: boolean }) {
  const { signOut } = useSession()
  return (
    <div role="status">
      <Banner
        variant="info"
        title="Sign in again to create or revoke tokens"
        description={
          isTooLate
            ? 'This needs a sign-in in the last 15 minutes.'
            : 'You signed in with a token that you created yourself, or one with limits. Sign in as you did when you created it.'
        }
        primaryAction={
          <Banner.PrimaryAction onClick={() => signOut({ all: false })}>
            Sign in again
          </Banner.PrimaryAction>
        }
      />
    </div>
  )
}

const DAYS = [1, 7, 30, 60, 90, 180, 365]
const NEW: TokenRequest = { name: '', expires_in_days: 30, read_only: false, organization: null }

function TokenForm({ onCreated }: { onCreated(token: NewToken): void }) {
  const { api } = useSignedIn()
  const { response } = useResource<Organization[]>(
    (options) => api.organizations(options),
    'organizations',
  )
  const [request, setRequest] = useState(NEW)
  const { isBusy, failure, run } = useAction()
  const change = (some: Partial<TokenRequest>) => setRequest((last) => ({ ...last, ...some }))

  function submit(event: FormEvent): void {
    event.preventDefault()
    void run(async () => {
      onCreated(await api.createToken(request))
      announce('Token created')
      setRequest(NEW)
    })
  }

  return (
    <Box title="New token">
      <form className={styles.form} onSubmit={submit}>
        <FormControl required>
          <FormControl.Label>Name</FormControl.Label>
          <TextInput
            block
            maxLength={100}
            value={request.name}
            placeholder="laptop"
            autoComplete="off"
            onChange={(event) => change({ name: event.target.value })}
          />
          <FormControl.Caption>What the token is for.</FormControl.Caption>
        </FormControl>
        <FormControl>
          <FormControl.Label>Expires after</FormControl.Label>
          <Select
            value={String(request.expires_in_days)}
            onChange={(event) => change({ expires_in_days: Number(event.target.value) })}
          >
            {DAYS.map((days) => (
              <Select.Option key={days} value={String(days)}>
                {days === 365 ? '1 year' : formatCount(days, 'day')}
              </Select.Option>
            ))}
          </Select>
        </FormControl>
        <FormControl>
          <FormControl.Label>Valid for</FormControl.Label>
          <Select
            value={request.organization ?? ''}
            onChange={(event) => change({ organization: event.target.value || null })}
          >
            <Select.Option value="">Everything that you may use</Select.Option>
            {response?.data.map(({ login }) => (
              <Select.Option key={login} value={login}>
                {`Only ${login}`}
              </Select.Option>
            ))}
          </Select>
        </FormControl>
        <FormControl>
          <Checkbox
            checked={request.read_only ?? false}
            onChange={(event) => change({ read_only: event.target.checked })}
          />
          <FormControl.Label>Read-only</FormControl.Label>
          <FormControl.Caption>
            It can list, download and clone, but start, change and delete nothing.
          </FormControl.Caption>
        </FormControl>
        {failure?.mustSignIn && <SignInAgain isTooLate />}
        {failure && !failure.mustSignIn && (
          <div role="alert">
            <Banner
              variant="critical"
              title="The token was not created"
              description={failure.message}
            />
          </div>
        )}
        <div>
          <Button
            type="submit"
            variant="primary"
            loading={isBusy}
            disabled={request.name.trim() === ''}
          >
            Create token
          </Button>
        </div>
      </form>
    </Box>
  )
}
