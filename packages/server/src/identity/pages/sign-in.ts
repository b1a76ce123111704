/** The sign-in page: username and password, or a passkey if the browser supports them. */
import { contact, errorSummary, type FormError, field, hidden, passwordField, postForm } from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'
import type { Messages } from './messages/en.ts'

export interface SignInData {
  readonly flow: string
  /** Name of the application; undefined for our own pages. */
  readonly client: string | undefined
  /** Which of our own pages follows. */
  readonly isDevice: boolean
  readonly username: string | undefined
  readonly formError: FormError | undefined
  /** There is a session already, but the user must authenticate again. */
  readonly again: boolean
  /** Options for `navigator.credentials.get` as JSON. */
  readonly passkeyOptions: string
  /** Whether a link for a new password can be mailed. */
  readonly hasMail: boolean
}

export function signInPage(frame: PageFrame, data: SignInData): Html {
  const { assets, language } = frame
  const { messages } = language
  const values = { flow: data.flow }
  const body = html`
<h1>${messages.signIn}</h1>
<p class="lead">${purposeOf(messages, data)}</p>
${errorSummary(frame, data.formError)}
${postForm(
  frame,
  'sign-in',
  '/sign-in',
  values,
  html`
${field({ name: 'username', label: messages.username, value: data.username ?? '', autocomplete: 'username webauthn', plainText: true, required: true, maxlength: 200, focus: data.username === undefined, error: errorOf(data, 'username') })}
${passwordField(frame, { name: 'password', label: messages.password, autocomplete: 'current-password', required: true, maxlength: 1000, focus: data.username !== undefined, error: errorOf(data, 'password') })}
<div class="actions">
<button type="submit" id="sign-in-submit" name="action" value="sign-in">${messages.signIn}</button>
</div>`,
)}
${
  data.hasMail
    ? html`<p class="secondary"><a id="forgot-password" href="${frame.base}/forgot-password">${messages.mail.forgotPassword}</a></p>`
    : html`<details class="help"><summary>${messages.forgotPassword}</summary><p>${fill(messages.forgotPasswordHelp, contact(frame))}</p><p>${messages.forgotPasswordPasskey}</p></details>`
}
${passkeyForm(frame, { flow: data.flow, path: '/sign-in/passkey', label: messages.withPasskey, options: data.passkeyOptions })}
${data.client !== undefined && html`<p class="secondary"><button type="submit" form="sign-in" class="text" id="sign-in-cancel" name="action" value="cancel" formnovalidate>${messages.cancel}</button></p>`}`
  return page(frame, { title: messages.signIn, body, scripts: [assets.controlsScript, assets.passkeyScript] })
}

function purposeOf(messages: Messages, { again, client, isDevice }: SignInData): string {
  if (again) return messages.signInAgain
  if (client !== undefined) return messages.signInTo(client)
  return isDevice ? messages.signInForDevice : messages.signInHere
}

function errorOf(data: SignInData, name: string): string | undefined {
  return data.formError?.field === name ? data.formError.text : undefined
}

/** Hidden until the script finds that the browser supports passkeys. */
export function passkeyForm(
  frame: PageFrame,
  part: { flow: string; path: string; label: string; options: string; hasAlternative?: boolean },
): Html {
  const { flow, path, label, options, hasAlternative = true } = part
  return html`<form id="passkey" name="passkey" method="post" action="${frame.base}${path}" data-get="${options}" hidden>
${hidden({ form_token: frame.formToken, flow })}
<input type="hidden" name="credential" value="">
${hasAlternative && html`<p class="or">${frame.language.messages.or}</p>`}
<button type="submit"${hasAlternative && html` class="plain"`} id="passkey-submit">${label}</button>
</form>`
}
