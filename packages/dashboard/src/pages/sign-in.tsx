import { Banner, Button, FormControl, LinkButton, TextInput } from '@primer/react'
import { type FormEvent, useEffect, useState } from 'react'
import { readRoot } from '../api.ts'
import type { Root } from '../api-types.ts'
import { Mark } from '../components/mark.tsx'
import { type SignedOutReason, useSession } from '../session.tsx'
import styles from './sign-in.module.css'

interface Notice {
  title: string
  text: string
  isBad: boolean
}

const NOTICES: Partial<Record<SignedOutReason, Notice>> = {
  left: {
    title: 'Signed out',
    text: 'This browser can no longer use your account.',
    isBad: false,
  },
  refused: {
    title: 'That token is not valid',
    text: 'It is wrong, has expired, or was revoked.',
    isBad: true,
  },
  mistyped: {
    title: 'That token is mistyped or incomplete',
    text: 'Copy it again, from gwt_ to its last character.',
    isBad: true,
  },
  expired: {
    title: 'You are signed out',
    text: 'The session has ended, or your token has expired or was revoked. Sign in again to continue.',
    isBad: true,
  },
}

/** Why a sign-in without a token failed, by the name in the address. */
const PROBLEMS: Record<string, string> = {
  unavailable: 'The provider does not respond. Try again later, or sign in with a token.',
  refused:
    'The response of the provider was not accepted. Try again; if that does not help, your administrator finds the reason in the log.',
  expired: 'The sign-in took too long, or began in another browser. Try again.',
  'not-allowed': 'The provider knows you, but you may not use this service.',
  'no-login': 'The provider did not send a login that can be used here.',
  unknown: 'You own no repository here and may read none. Your administrator can add an account.',
  taken:
    'Somebody else already has the account with your login. If it is yours, your administrator can release it with godwit account edit LOGIN --unbind.',
  organization: 'Your login is the name of an organization here.',
  'site-admin':
    'Your login belongs to a site admin who has never signed in this way. An administrator must remove that right, let you sign in, and grant it again.',
}

const PROBLEM_PARAMETER = 'sign-in-problem'

/** Returns the problem that the address names, and removes it from the address. */
function takeProblem(): Notice | undefined {
  const url = new URL(location.href)
  const text = PROBLEMS[url.searchParams.get(PROBLEM_PARAMETER) ?? '']
  if (text === undefined) return undefined
  url.searchParams.delete(PROBLEM_PARAMETER)
  history.replaceState(history.state, '', url)
  return { title: 'You are not signed in', text, isBad: true }
}

/** Read once, when the page is loaded, because React may render a component twice. */
const problem = takeProblem()

export function SignInPage({ reason }: { reason: SignedOutReason }) {
  const { signIn } = useSession()
  const provider = useProvider()
  const [token, setToken] = useState('')
  const [isMissing, setMissing] = useState(false)
  const notice = (reason === 'never' && problem) || NOTICES[reason]
  useEffect(() => {
    document.title = 'Sign in · Godwit'
  }, [])

  function submit(event: FormEvent): void {
    event.preventDefault()
    const given = token.trim()
    setMissing(given === '')
    if (given !== '') signIn(given)
  }

  return (
    <div className={styles.page}>
      <div className={styles.mark}>
        <Mark size={56} />
      </div>
      <h1 className={styles.title}>Sign in to Godwit</h1>
      {notice && (
        <div role="alert">
          <Banner
            variant={notice.isBad ? 'critical' : 'info'}
            title={notice.title}
            description={notice.text}
          />
        </div>
      )}
      {provider && <ProviderLinks provider={provider} hasLeft={reason === 'left'} />}
      <form className={styles.form} onSubmit={submit}>
        <FormControl>
          <FormControl.Label>Token</FormControl.Label>
          <TextInput
            block
            autoFocus
            type="password"
            name="token"
            autoComplete="off"
            spellCheck={false}
            value={token}
            validationStatus={isMissing ? 'error' : undefined}
            onChange={(event) => setToken(event.target.value)}
          />
          {isMissing && (
            <FormControl.Validation variant="error">Enter a token.</FormControl.Validation>
          )}
          <FormControl.Caption>
            Your administrator creates your first token with{' '}
            <code className={styles.code}>godwit token add LOGIN</code>. If your git host is Gitea
            or Forgejo, an access token from there may work too.
          </FormControl.Caption>
        </FormControl>
        <Button type="submit" variant={provider ? 'default' : 'primary'} block>
          Sign in
        </Button>
      </form>
      <p className={styles.note}>
        The token is sent only to this server and is not stored in the browser. You stay signed in
        until you sign out or close the browser, or the session expires.
      </p>
    </div>
  )
}

type Provider = NonNullable<Root['sign_in']>

/** Returns how to sign in without a token, if that is possible. */
function useProvider(): Provider | null {
  const [provider, setProvider] = useState<Provider | null>(null)
  useEffect(() => {
    readRoot().then(
      (root) => setProvider(root.sign_in),
      () => {
        // Signing in with a token is still possible.
      },
    )
  }, [])
  return provider
}

function ProviderLinks({ provider, hasLeft }: { provider: Provider; hasLeft: boolean }) {
  const { name, url, sign_out_url: signOutUrl } = provider
  const here = encodeURIComponent(location.pathname + location.hash)
  return (
    <>
      {hasLeft && signOutUrl !== null && (
        <p className={styles.note}>
          You may still be signed in at the provider.
          <br />
          <a href={signOutUrl}>Sign out there too</a>
        </p>
      )}
      <LinkButton href={`${url}?return_to=${here}`} variant="primary" block>
        Sign in with {name}
      </LinkButton>
      <p className={styles.note}>or</p>
    </>
  )
}
