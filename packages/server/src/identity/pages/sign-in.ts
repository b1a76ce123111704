/** The sign-in page: username and password, or a passkey if the browser supports them. */
import { contact, errorSummary, type FormError, field, hidden, passwordField, postForm } from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'
import type { Messages } from './messages/en.ts'
import { type ProviderLink, providerLinks } from './provider-links.ts'

export interface SignInData {
  readonly flow: string
  /** Name of the application; undefined for our own pages. */
  readonly client: string | undefined
  /** Which of our own pages follows. */
  readonly isDevice: boolean
  /** Name of the provider whose account is linked after the sign-in. */
  readonly linking: string | undefined
  readonly username: string | undefined
  readonly formError: FormError | undefined
  /** There is a session already, but the user must authenticate again. */
  readonly again: boolean
  /** Options for `navigator.credentials.get` as JSON. */
  readonly passkeyOptions: string
  /** Whether a forgotten password can be replaced: not where only users for emergencies have one. */
  readonly isReplaceable: boolean
  /** Whether a link for a new password can be mailed. */
  readonly hasMail: boolean
  /** A password is asked for, whatever the name: `/sign-in?local`. */
  readonly isLocal: boolean
  /** Whether the page asks for a password at all. */
  readonly hasPassword: boolean
  /** Some names lead to a provider, without a password. */
  readonly isPasswordOptional: boolean
  /** Other providers, and the addresses that lead to them. */
  readonly providers: readonly ProviderLink[]
}

export function signInPage(frame: PageFrame, data: SignInData): Html {
  const { assets, language } = frame
  const { messages } = language
  const values = { flow: data.flow, ...(data.isLocal && { local: '1' }) }
  const body = html`
<h1>${messages.signIn}</h1>
<p class="lead">${describePurpose(messages, data)}</p>
${errorSummary(frame, data.formError)}
${
  data.hasPassword
    ? html`${passwordForm(frame, data, values)}
${data.isReplaceable && forgotPassword(frame, data)}
${passkeyForm(frame, { flow: data.flow, path: '/sign-in/passkey', label: messages.withPasskey, options: data.passkeyOptions })}
${data.providers.length > 0 && html`<p class="or">${messages.or}</p>`}`
    : postForm(frame, 'sign-in', '/sign-in', values, html``)
}
${providerLinks(data.providers, messages, data.hasPassword)}
${!data.hasPassword && html`<p class="secondary"><a id="sign-in-local" href="${frame.base}/sign-in?${new URLSearchParams({ flow: data.flow, local: '1' }).toString()}">${messages.signInLocally}</a></p>`}
${data.client !== undefined && html`<p class="secondary"><button type="submit" form="sign-in" class="text" id="sign-in-cancel" name="action" value="cancel" formnovalidate>${messages.cancel}</button></p>`}`
  return page(frame, { title: messages.signIn, body, scripts: [assets.controlsScript, assets.passkeyScript] })
}

function forgotPassword(frame: PageFrame, { hasMail }: SignInData): Html {
  const { messages } = frame.language
  return hasMail
    ? html`<p class="secondary"><a id="forgot-password" href="${frame.base}/forgot-password">${messages.mail.forgotPassword}</a></p>`
    : html`<details class="help"><summary>${messages.forgotPassword}</summary><p>${fill(messages.forgotPasswordHelp, contact(frame))}</p><p>${messages.forgotPasswordPasskey}</p></details>`
}

function passwordForm(frame: PageFrame, data: SignInData, values: Readonly<Record<string, string>>): Html {
  const { messages } = frame.language
  return postForm(
    frame,
    'sign-in',
    '/sign-in',
    values,
    html`
${field({ name: 'username', label: messages.username, value: data.username ?? '', autocomplete: 'username webauthn', plainText: true, required: true, maxlength: 200, focus: data.username === undefined, error: fieldError(data, 'username') })}
${passwordField(frame, { name: 'password', label: messages.password, autocomplete: 'current-password', required: !data.isPasswordOptional, maxlength: 1000, focus: data.username !== undefined, error: fieldError(data, 'password') })}
<div class="actions">
<button type="submit" id="sign-in-submit" name="action" value="sign-in">${messages.signIn}</button>
</div>`,
  )
}

/** Continues by itself, also without scripts. */
export function leavePage(frame: PageFrame, { name, url }: { readonly name: string; readonly url: string }): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.formPost}</h1>
<p class="lead">${messages.leavingFor(name)}</p>
<div class="actions"><a class="button" id="leave" href="${url}">${messages.continue}</a></div>`
  const head = html`<meta http-equiv="refresh" content="0;url=${url}">\n`
  return page(frame, { title: messages.formPost, body, head })
}

function describePurpose(messages: Messages, { again, client, isDevice, linking }: SignInData): string {
  if (linking !== undefined) return messages.signInForLink(linking)
  if (again) return messages.signInAgain
  if (client !== undefined) return messages.signInTo(client)
  return isDevice ? messages.signInForDevice : messages.signInHere
}

function fieldError(data: SignInData, name: string): string | undefined {
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
