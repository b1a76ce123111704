/** The page without a user: while it signs in, after signing out, and after a failure. */
import { useEffect } from 'preact/hooks'
import { askToSignIn, type Session } from '../gate.ts'
import { Button, ErrorNotice, Loading, useTitle } from '../ui/index.ts'
import { word } from '../ui/word.ts'
import { Brand } from './brand.tsx'

export function SignedOut({ session }: { readonly session: Exclude<Session, { kind: 'signed-in' }> }) {
  useTitle(session.kind === 'signed-out' ? word('Signed out') : word('Console'))
  // A page from the back-forward cache must not show what was there before.
  useEffect(() => {
    const onShow = (event: PageTransitionEvent) => event.persisted && location.reload()
    addEventListener('pageshow', onShow)
    return () => removeEventListener('pageshow', onShow)
  }, [])
  return (
    <main class="signed-out">
      {session.kind === 'starting' ? (
        <Loading>Signing in …</Loading>
      ) : (
        <div class="signed-out-card">
          <Brand />
          {session.kind === 'failed' ? (
            <>
              <h1>You could not be signed in</h1>
              <ErrorNotice error={session.error} onRetry={() => location.reload()} />
            </>
          ) : (
            <>
              <h1>You are signed out</h1>
              <p class="quiet">
                {session.cause === 'left'
                  ? 'None of your data is kept on this page.'
                  : 'Your session has ended: it was signed out elsewhere or by an administrator, or it has expired.'}
              </p>
              <Button kind="primary" onClick={() => void askToSignIn()}>
                Sign in again
              </Button>
            </>
          )}
        </div>
      )}
    </main>
  )
}
