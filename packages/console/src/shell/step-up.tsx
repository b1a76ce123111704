/** The dialogue that asks the user to sign in again, because what was requested needs a stronger or newer sign-in (RFC 9470). */
import { askedToStepUp, gate, user } from '../gate.ts'
import { FormDialog, Notice, useSubmit } from '../ui/index.ts'

export function StepUpDialog() {
  const asked = askedToStepUp.value
  return asked === undefined ? null : <Ask key={`${asked.acrValues} ${asked.maxAge}`} {...asked} />
}

function Ask({ acrValues, maxAge, answer }: NonNullable<(typeof askedToStepUp)['value']>) {
  const { isBusy, error, submit } = useSubmit(async () => {
    const loginHint = user.value?.preferred_username
    // In the handler of a click, so that the browser allows the window.
    await gate.auth.signIn({ popup: true, acrValues, maxAge, loginHint })
    answer(true)
  })
  return (
    <FormDialog
      title="Sign in again"
      size="small"
      action="Sign in again"
      busy={isBusy}
      onClose={() => answer(false)}
      onSubmit={submit}
    >
      <p>{stepUpReason(acrValues, maxAge)}</p>
      <p class="hint">You sign in in a new window. Then what you were doing continues.</p>
      {error !== undefined && <Notice kind="warning">{errorText(error)}</Notice>}
    </FormDialog>
  )
}

function stepUpReason(acrValues: string | undefined, maxAge: number | undefined): string {
  const factors = acrValues === '2' ? 'a sign-in with two factors' : 'a sign-in'
  const recent =
    maxAge === undefined
      ? ''
      : ` in the last ${maxAge < 120 ? `${maxAge} seconds` : `${Math.floor(maxAge / 60)} minutes`}`
  return `What you asked for needs ${factors}${recent}.`
}

function errorText(error: unknown): string {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  if (code === 'client.popup_blocked')
    return 'The browser blocked the window. Allow pop-ups for this page, then try again.'
  if (code === 'client.no_answer') return 'The window was closed before the sign-in was complete.'
  return message
}
