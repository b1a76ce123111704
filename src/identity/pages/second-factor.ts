/** The pages of the second factor: authenticator code, passkey or recovery code, and setting them up. */
import { errorSummary, type FormError, field, hidden, postForm } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'
import { passkeyForm } from './sign-in.ts'

export interface SecondFactorData {
  readonly flow: string
  readonly username: string
  /** Which form is shown; the page links to the other one. */
  readonly way: 'authenticator' | 'recovery' | 'passkey'
  readonly hasAuthenticator: boolean
  readonly hasRecovery: boolean
  readonly formError: FormError | undefined
  readonly passkey: { readonly options: string; readonly script: string } | undefined
}

export function secondFactorPage(frame: PageFrame, data: SecondFactorData): Html {
  const { messages } = frame.language
  const here = `${frame.base}/second-factor?flow=${encodeURIComponent(data.flow)}`
  const body = html`
<h1>${messages.secondFactor}</h1>
<p class="lead">${messages.secondFactorLead(data.username)}</p>
${errorSummary(frame, data.formError)}
${data.way === 'passkey' ? undefined : codeForm(frame, data, data.way)}
${data.passkey !== undefined && passkeyForm(frame, { flow: data.flow, path: '/second-factor/passkey', label: messages.usePasskey, options: data.passkey.options })}
${data.way !== 'recovery' && data.hasRecovery && html`<p class="quiet or"><a href="${here}&amp;way=recovery">${messages.useRecoveryCode}</a></p>`}
${data.way === 'recovery' && data.hasAuthenticator && html`<p class="quiet or"><a href="${here}">${messages.useAuthenticator}</a></p>`}`
  return page(frame, {
    title: messages.secondFactor,
    body,
    ...(data.passkey === undefined ? {} : { script: data.passkey.script }),
  })
}

function codeForm(frame: PageFrame, data: SecondFactorData, way: 'authenticator' | 'recovery'): Html {
  const { messages } = frame.language
  const recovery = way === 'recovery'
  return postForm(
    frame,
    'second-factor',
    '/second-factor',
    { flow: data.flow, way },
    html`${field({
      name: 'code',
      label: recovery ? messages.recoveryCode : messages.authenticatorCode,
      hint: recovery ? messages.recoveryHint : messages.authenticatorHint,
      autocomplete: 'one-time-code',
      inputmode: recovery ? 'text' : 'numeric',
      maxlength: 32,
      plainText: true,
      code: true,
      required: true,
      focus: true,
      error: data.formError?.text,
    })}
<div class="actions"><button type="submit" id="second-factor-submit">${messages.continue}</button></div>`,
  )
}

export interface AuthenticatorSetUpData {
  /** The action of the form: part of a sign-in that requires a second factor, or of the account page. */
  readonly path: string
  readonly flow: string | undefined
  readonly required: boolean
  readonly qr: Html
  /** The secret in groups of four characters, to be typed. */
  readonly key: string
  /** The encrypted secret, which the form carries until a code proves that the app has it. */
  readonly sealed: string
  readonly formError: FormError | undefined
}

export function authenticatorSetUpPage(frame: PageFrame, data: AuthenticatorSetUpData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.setUpSecondFactor}</h1>
<p class="lead">${data.required && html`${messages.setUpRequired} `}${messages.setUpScan}</p>
${errorSummary(frame, data.formError)}
${data.qr}
<details><summary>${messages.setUpByHand}</summary><p class="break"><code id="authenticator-key">${data.key}</code></p></details>
${postForm(
  frame,
  'authenticator',
  data.path,
  { flow: data.flow, sealed: data.sealed },
  html`${field({ name: 'code', label: messages.authenticatorCode, hint: messages.authenticatorHint, autocomplete: 'one-time-code', inputmode: 'numeric', maxlength: 12, code: true, required: true, error: data.formError?.text })}
${field({ name: 'label', label: messages.deviceName, value: messages.authenticatorApp, maxlength: 60, autocomplete: 'off' })}
<div class="actions"><button type="submit" id="authenticator-submit">${messages.continue}</button></div>`,
)}`
  return page(frame, { title: messages.setUpSecondFactor, body })
}

export function recoveryCodesPage(
  frame: PageFrame,
  data: { readonly codes: readonly string[]; readonly next: string },
): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.recoveryCodes}</h1>
<p class="lead">${messages.recoveryCodesLead}</p>
<ul class="codes" id="recovery-codes">${data.codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<div class="actions"><a class="button" id="recovery-codes-kept" href="${data.next}">${messages.recoveryCodesKept}</a></div>`
  return page(frame, { title: messages.recoveryCodes, body })
}

export interface PasskeySetUpData {
  readonly flow: string
  readonly options: string
  readonly script: string
  readonly formError: FormError | undefined
}

export function passkeySetUpPage(frame: PageFrame, data: PasskeySetUpData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.addPasskey}</h1>
<p class="lead">${messages.secondFactorsLead}</p>
${errorSummary(frame, data.formError)}
<form id="passkey" name="passkey" method="post" action="${frame.base}/account/passkey" data-create="${data.options}">
${hidden({ form_token: frame.formToken, flow: data.flow })}
<input type="hidden" name="credential" value="">
${field({ name: 'label', label: messages.deviceName, value: messages.passkey, maxlength: 60, autocomplete: 'off' })}
<div class="actions"><button type="submit" id="passkey-submit">${messages.addPasskey}</button>
<a class="button plain" href="${frame.base}/account">${messages.cancel}</a></div>
</form>`
  return page(frame, { title: messages.addPasskey, body, script: data.script })
}
