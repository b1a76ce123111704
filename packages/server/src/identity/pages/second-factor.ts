/** The pages of the second factor: authenticator code, passkey or recovery code, and setting them up. */
import { contact, errorSummary, type FormError, field, hidden, postForm } from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
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
  /** Undefined where the person has no passkey. */
  readonly passkeyOptions: string | undefined
}

export function secondFactorPage(frame: PageFrame, data: SecondFactorData): Html {
  const { messages } = frame.language
  const here = `${frame.base}/second-factor?flow=${encodeURIComponent(data.flow)}`
  const body = html`
<h1>${messages.secondFactor}</h1>
<p class="lead">${messages.secondFactorLead(data.username)}</p>
${errorSummary(frame, data.formError)}
${data.way === 'passkey' ? undefined : codeForm(frame, data, data.way)}
${data.passkeyOptions !== undefined && passkeyForm(frame, { flow: data.flow, path: '/second-factor/passkey', label: messages.usePasskey, options: data.passkeyOptions, hasAlternative: data.way !== 'passkey' })}
${data.way !== 'recovery' && data.hasRecovery && html`<p class="quiet secondary"><a href="${here}&amp;way=recovery">${messages.useRecoveryCode}</a></p>`}
${data.way === 'recovery' && data.hasAuthenticator && html`<p class="quiet secondary"><a href="${here}">${messages.useOtherFactor}</a></p>`}
<details class="help"><summary>${messages.lostFactor}</summary><p>${data.hasRecovery && data.way !== 'recovery' && html`${messages.lostFactorRecovery} `}${fill(messages.lostFactorHelp, contact(frame))}</p></details>`
  return page(frame, {
    title: messages.secondFactor,
    body,
    ...(data.passkeyOptions === undefined ? {} : { scripts: [frame.assets.passkeyScript] }),
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
  /** The application that asks for it, if the organisation does not. */
  readonly askedBy?: string | undefined
  readonly qr: Html
  /** The secret in groups of four characters, to be typed. */
  readonly key: string
  /** The encrypted secret, which the form carries until a code proves that the app has it. */
  readonly sealed: string
  readonly formError: FormError | undefined
}

export function authenticatorSetUpPage(frame: PageFrame, data: AuthenticatorSetUpData): Html {
  const { messages } = frame.language
  const reason = data.askedBy === undefined ? messages.setUpRequired : messages.setUpAsked(data.askedBy)
  const body = html`
<h1>${messages.setUpSecondFactor}</h1>
<p class="lead">${data.required && html`${reason} `}${messages.setUpScan}</p>
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
<div class="actions"><button type="submit" id="authenticator-submit">${messages.continue}</button>${
    !data.required &&
    html`
<a class="button plain" href="${frame.base}/account/security">${messages.cancel}</a>`
  }</div>`,
)}`
  return page(frame, { title: messages.setUpSecondFactor, body })
}

export interface RecoveryCodesData {
  readonly codes: readonly string[]
  /** For the name of the file. */
  readonly username: string
  readonly next: string
}

/** The download works without scripts; the buttons to copy and print appear with them. */
export function recoveryCodesPage(frame: PageFrame, { codes, username, next }: RecoveryCodesData): Html {
  const { brand, language, assets } = frame
  const { messages } = language
  const file = [`${brand.name}: ${messages.recoveryCodes} (${username})`, '', ...codes, ''].join('\r\n')
  const body = html`
<h1>${messages.recoveryCodes}</h1>
<p class="lead">${messages.recoveryCodesLead}</p>
<ul class="codes" id="recovery-codes">${codes.map((code) => html`<li><code>${code}</code></li>`)}</ul>
<div class="tools">
<button type="button" class="plain small" id="recovery-codes-copy" data-copies="recovery-codes" data-done="${messages.copied}" hidden>${messages.copy}</button>
<a class="button plain small" id="recovery-codes-download" download="${messages.recoveryCodesFile}.txt" href="data:text/plain;charset=utf-8,${encodeURIComponent(file)}">${messages.download}</a>
<button type="button" class="plain small" data-prints hidden>${messages.print}</button>
</div>
<p class="visually-hidden" role="status" id="copied"></p>
<div class="actions"><a class="button" id="recovery-codes-kept" href="${next}">${messages.recoveryCodesKept}</a></div>`
  return page(frame, { title: messages.recoveryCodes, body, scripts: [assets.controlsScript] })
}

export interface PasskeySetUpData {
  readonly flow: string
  readonly options: string
  readonly formError: FormError | undefined
}

export function passkeySetUpPage(frame: PageFrame, data: PasskeySetUpData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.addPasskey}</h1>
<p class="lead">${messages.addPasskeyLead}</p>
${errorSummary(frame, data.formError)}
<form id="passkey" name="passkey" method="post" action="${frame.base}/account/passkey" data-create="${data.options}">
${hidden({ form_token: frame.formToken, flow: data.flow })}
<input type="hidden" name="credential" value="">
${field({ name: 'label', label: messages.deviceName, value: messages.passkey, maxlength: 60, autocomplete: 'off' })}
<div class="actions"><button type="submit" id="passkey-submit">${messages.addPasskey}</button>
<a class="button plain" href="${frame.base}/account/security">${messages.cancel}</a></div>
</form>`
  return page(frame, { title: messages.addPasskey, body, scripts: [frame.assets.passkeyScript] })
}
