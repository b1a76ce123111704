/** The pages around mailed links: a forgotten password, and the confirmation of an address. */
import { contact, errorSummary, type FormError, field, postForm } from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { type PageFrame, page } from './layout.ts'

export function forgotPasswordPage(frame: PageFrame, formError: FormError | undefined): Html {
  const { messages } = frame.language
  const { mail } = messages
  const body = html`
<h1>${mail.forgotPassword}</h1>
<p class="lead">${mail.forgotPasswordLead}</p>
${errorSummary(frame, formError)}
${postForm(
  frame,
  'forgot-password',
  '/forgot-password',
  {},
  html`${field({ name: 'username', label: mail.usernameOrEmail, autocomplete: 'username', plainText: true, required: true, focus: true, maxlength: 254, error: formError?.text })}
<div class="actions"><button type="submit" id="forgot-password-submit">${mail.sendLink}</button>
<a class="button plain" href="${frame.base}/sign-in">${mail.backToSignIn}</a></div>`,
)}`
  return page(frame, { title: mail.forgotPassword, body })
}

/** The same page whatever was typed. */
export function checkMailPage(frame: PageFrame): Html {
  const { mail } = frame.language.messages
  const body = html`
<div class="state">${icon('check')}</div>
<h1>${mail.checkMail}</h1>
<p class="lead">${mail.checkMailLead}</p>
<p>${fill(mail.checkMailHelp, contact(frame))}</p>
<div class="actions"><a class="button plain" id="check-mail-back" href="${frame.base}/sign-in">${mail.backToSignIn}</a></div>`
  return page(frame, { title: mail.checkMail, body })
}

export interface ConfirmAddressData {
  readonly token: string
  readonly address: string
  readonly username: string
}

export function confirmAddressPage(frame: PageFrame, { token, address, username }: ConfirmAddressData): Html {
  const { mail } = frame.language.messages
  const body = html`
<h1>${mail.confirmAddress}</h1>
<p class="lead">${mail.confirmAddressLead(address, username)}</p>
${postForm(
  frame,
  'verify-email',
  '/verify-email',
  { token },
  html`<div class="actions"><button type="submit" id="verify-email-submit">${mail.confirm}</button></div>`,
)}`
  return page(frame, { title: mail.confirmAddress, body })
}

export function addressConfirmedPage(frame: PageFrame, address: string): Html {
  const { mail } = frame.language.messages
  const body = html`
<div class="state">${icon('check')}</div>
<h1>${mail.addressConfirmed}</h1>
<p class="lead">${mail.addressConfirmedLead(address)}</p>
<div class="actions"><a class="button" id="to-account" href="${frame.base}/account">${mail.toAccount}</a></div>`
  return page(frame, { title: mail.addressConfirmed, body })
}

/** The same page for every link that cannot be used, for any reason. */
export function addressUnusablePage(frame: PageFrame): Html {
  const { linkUnusable, mail } = frame.language.messages
  const body = html`
<div class="state bad">${icon('alert')}</div>
<h1>${linkUnusable}</h1>
<p class="lead">${mail.addressUnusableLead}</p>
<div class="actions"><a class="button" href="${frame.base}/account">${mail.toAccount}</a></div>`
  return page(frame, { title: linkUnusable, body })
}
