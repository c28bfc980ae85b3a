import { Banner, Button, FormControl, TextInput } from '@primer/react'
import { type FormEvent, useEffect, useState } from 'react'
import { Mark } from '../parts/mark.tsx'
import { type SignedOutReason, useSession } from '../session.tsx'
import styles from './sign-in.module.css'

const NOTICES: Partial<Record<SignedOutReason, { title: string; text: string; isBad: boolean }>> = {
  left: {
    title: 'Signed out',
    text: 'This browser can no longer use your token.',
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

export function SignInPage({ reason }: { reason: SignedOutReason }) {
  const { signIn } = useSession()
  const [token, setToken] = useState('')
  const [isMissing, setMissing] = useState(false)
  const notice = NOTICES[reason]
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
        <Button type="submit" variant="primary" block>
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
