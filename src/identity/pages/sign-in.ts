/** The sign-in page: username and password, or a passkey if the browser supports them. */
import { errorSummary, type FormError, field, hidden, postForm } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'

export interface SignInData {
  readonly flow: string
  /** Name of the application; undefined for our own pages. */
  readonly client: string | undefined
  readonly username: string | undefined
  readonly formError: FormError | undefined
  /** There is a session already, but the user must authenticate again. */
  readonly again: boolean
  /** Options for `navigator.credentials.get` as JSON, and the script that uses them. */
  readonly passkey: { readonly options: string; readonly script: string } | undefined
}

export function signInPage(frame: PageFrame, data: SignInData): Html {
  const { messages } = frame.language
  const values = { flow: data.flow }
  const body = html`
<h1>${messages.signIn}</h1>
<p class="lead">${data.again ? messages.signInAgain : data.client === undefined ? messages.signInHere : messages.signInTo(data.client)}</p>
${errorSummary(frame, data.formError)}
${postForm(
  frame,
  'sign-in',
  '/sign-in',
  values,
  html`
${field({ name: 'username', label: messages.username, value: data.username ?? '', autocomplete: 'username webauthn', plainText: true, required: true, maxlength: 200, focus: data.username === undefined, error: errorOf(data, 'username') })}
${field({ name: 'password', label: messages.password, type: 'password', autocomplete: 'current-password', required: true, maxlength: 1000, focus: data.username !== undefined, error: errorOf(data, 'password') })}
<div class="actions">
<button type="submit" id="sign-in-submit" name="action" value="sign-in">${messages.signIn}</button>
</div>`,
)}
${data.passkey !== undefined && passkeyForm(frame, { flow: data.flow, path: '/sign-in/passkey', label: messages.withPasskey, options: data.passkey.options })}
${data.client !== undefined && html`<p class="secondary"><button type="submit" form="sign-in" class="text" id="sign-in-cancel" name="action" value="cancel" formnovalidate>${messages.cancel}</button></p>`}`
  return page(frame, {
    title: messages.signIn,
    body,
    ...(data.passkey === undefined ? {} : { script: data.passkey.script }),
  })
}

function errorOf(data: SignInData, name: string): string | undefined {
  return data.formError?.field === name ? data.formError.text : undefined
}

/** Hidden until the script finds that the browser supports passkeys. */
export function passkeyForm(
  frame: PageFrame,
  { flow, path, label, options }: { flow: string; path: string; label: string; options: string },
): Html {
  return html`<form id="passkey" name="passkey" method="post" action="${frame.base}${path}" data-get="${options}" hidden>
${hidden({ form_token: frame.formToken, flow })}
<input type="hidden" name="credential" value="">
<p class="or">${frame.language.messages.or}</p>
<button type="submit" class="plain" id="passkey-submit">${label}</button>
</form>`
}
