/** The pages on which a person chooses a password without giving the current one: a forced change, and one-time set-up links. */
import {
  contact,
  errorSummary,
  type FormError,
  field,
  hidden,
  passwordField,
  postForm,
  signedInUser,
} from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
import { icon } from './icons.ts'
import { type PageFrame, page } from './layout.ts'

export interface ForcedChangeData {
  readonly flow: string
  readonly username: string
  readonly leastPassword: number
  readonly formError: FormError | undefined
}

export function forcedChangePage(frame: PageFrame, data: ForcedChangeData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.mustChangePassword}</h1>
<p class="lead">${messages.mustChangePasswordLead}</p>
${errorSummary(frame, data.formError)}
${postForm(frame, 'change-password', '/change-password', { flow: data.flow }, html`${passwordFields(frame, { ...data, label: messages.newPassword })}`)}`
  return page(frame, { title: messages.mustChangePassword, body, scripts: [frame.assets.controlsScript] })
}

export interface SetUpData {
  readonly token: string
  readonly purpose: 'invitation' | 'reset'
  readonly username: string
  readonly displayName: string
  readonly leastPassword: number
  readonly formError: FormError | undefined
  /** Whether the person may choose a password. */
  readonly hasPassword: boolean
  /** Other providers with which the link can be taken up. */
  readonly providers: readonly { readonly id: string; readonly name: string }[]
}

export function setUpPage(frame: PageFrame, data: SetUpData): Html {
  const { messages } = frame.language
  const title = data.purpose === 'reset' ? messages.resetPassword : messages.invited(frame.brand.name)
  const body = html`
<h1>${title}</h1>
<p class="lead">${data.purpose === 'reset' ? messages.resetPasswordLead : messages.invitedLead}</p>
${errorSummary(frame, data.formError)}
${signedInUser(messages.setUpFor(data.displayName, data.username), data.displayName)}
${data.hasPassword && postForm(frame, 'set-up', '/set-up', { token: data.token }, html`${passwordFields(frame, { ...data, label: data.purpose === 'reset' ? messages.newPassword : messages.password })}`)}
${data.hasPassword && data.providers.length > 0 && html`<p class="or">${messages.or}</p>`}
${data.providers.length > 0 && html`<div class="actions" id="providers">${providerForms(frame, data)}</div>`}
${!data.hasPassword && data.providers.length === 0 && html`<p class="empty">${messages.setUpElsewhere}</p>`}`
  return page(frame, { title, body, scripts: [frame.assets.controlsScript] })
}

/** Forms, so that no address that somebody follows takes up the link. */
function providerForms({ base, formToken, language }: PageFrame, { token, hasPassword, providers }: SetUpData): Html[] {
  return providers.map(
    ({ id, name }) =>
      html`<form method="post" action="${base}/external/${encodeURIComponent(id)}/invitation">${hidden({ form_token: formToken, token })}<button type="submit"${hasPassword && html` class="plain"`}>${language.messages.signInWith(name)}</button></form>`,
  )
}

export interface FirstAdministratorData {
  readonly token: string
  readonly username: string
  readonly leastPassword: number
  readonly formError: FormError | undefined
}

export function firstAdministratorPage(frame: PageFrame, data: FirstAdministratorData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.firstAdministrator}</h1>
<p class="lead">${messages.firstAdministratorLead(frame.brand.name)}</p>
${errorSummary(frame, data.formError)}
${postForm(
  frame,
  'set-up',
  '/set-up',
  { token: data.token },
  html`${field({ name: 'username', label: messages.username, value: data.username, autocomplete: 'username', plainText: true, required: true, focus: true, maxlength: 128, error: fieldError(data, 'username') })}
${passwordFields(frame, { ...data, label: messages.password, username: undefined, button: messages.createAdministrator })}`,
)}`
  return page(frame, { title: messages.firstAdministrator, body, scripts: [frame.assets.controlsScript] })
}

/** The same page for every link that cannot be used, for any reason. */
export function unusableLinkPage(frame: PageFrame): Html {
  const { messages } = frame.language
  const body = html`
<div class="state bad">${icon('alert')}</div>
<h1>${messages.linkUnusable}</h1>
<p class="lead">${fill(messages.linkUnusableLead, contact(frame))}</p>
<div class="actions"><a class="button" id="link-sign-in" href="${frame.base}/sign-in">${messages.signIn}</a>
<a class="button plain" href="${frame.base}/">${messages.toStart}</a></div>`
  return page(frame, { title: messages.linkUnusable, body })
}

interface PasswordFields {
  readonly label: string
  /** If known, it is a hidden field, so that password managers store both together. */
  readonly username: string | undefined
  readonly leastPassword: number
  readonly formError: FormError | undefined
  readonly button?: string
}

function passwordFields(frame: PageFrame, data: PasswordFields): Html {
  const { messages } = frame.language
  return html`${data.username !== undefined && html`<input type="text" name="username" value="${data.username}" autocomplete="username" hidden>`}
${passwordField(frame, { name: 'new_password', label: data.label, autocomplete: 'new-password', required: true, focus: data.username !== undefined, maxlength: 1000, hint: messages.newPasswordHint(data.leastPassword), error: fieldError(data, 'new_password') })}
<div class="actions"><button type="submit" id="new-password-submit">${data.button ?? messages.setPassword}</button></div>`
}

function fieldError({ formError }: { readonly formError: FormError | undefined }, name: string): string | undefined {
  return formError?.field === name ? formError.text : undefined
}
