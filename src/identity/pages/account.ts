/** The account page: profile, password, second factors, sessions and applications with access. */
import { errorSummary, type FormError, field, hidden, notice, postForm, scopeText } from './form-parts.ts'
import { type Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'

export interface AccountData {
  readonly username: string
  readonly profile: Readonly<Record<ProfileField, string>>
  readonly factors: readonly {
    readonly id: string
    readonly kind: 'authenticator' | 'passkey'
    readonly label: string
    readonly addedAt: number
  }[]
  readonly recoveryCodesLeft: number
  readonly sessions: readonly {
    readonly id: string
    readonly browser: string
    readonly address: string
    readonly seenAt: number
    readonly current: boolean
  }[]
  readonly consents: readonly {
    readonly clientId: string
    readonly client: string
    readonly scopes: readonly string[]
  }[]
  /** The IANA time zone in which times are shown. */
  readonly timeZone: string | undefined
  readonly notice: string | undefined
  readonly formError: FormError | undefined
}

/** The claims that users may change themselves, each with its `autocomplete` value. */
export const PROFILE_FIELDS = {
  name: 'name',
  given_name: 'given-name',
  family_name: 'family-name',
  nickname: 'nickname',
  email: 'email',
  website: 'url',
  locale: 'language',
  zoneinfo: 'off',
} as const
export type ProfileField = keyof typeof PROFILE_FIELDS

export function accountPage(frame: PageFrame, data: AccountData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${messages.account}</h1>
<p class="lead">${messages.accountLead(data.username)}</p>
${notice(data.notice)}${errorSummary(frame, data.formError)}
${profileSection(frame, data)}
${passwordSection(frame)}
${factorSection(frame, data)}
${sessionSection(frame, data)}
${consentSection(frame, data)}
<section class="section">${postForm(frame, 'account-sign-out', '/account/sign-out', {}, html`<button type="submit" class="plain small" id="account-sign-out-submit">${messages.signOut}</button>`)}</section>`
  return page(frame, { title: messages.account, body, wide: true })
}

function profileSection(frame: PageFrame, data: AccountData): Html {
  const { messages } = frame.language
  const labels: Readonly<Record<ProfileField, string>> = {
    name: messages.name,
    given_name: messages.givenName,
    family_name: messages.familyName,
    nickname: messages.nickname,
    email: messages.email,
    website: messages.website,
    locale: messages.locale,
    zoneinfo: messages.zoneinfo,
  }
  const fields = Object.entries(PROFILE_FIELDS).map(([name, autocomplete]) => {
    const key = name as ProfileField
    return field({
      name,
      label: labels[key],
      value: data.profile[key],
      autocomplete,
      maxlength: 200,
      ...(name === 'email' ? { type: 'email' as const } : {}),
    })
  })
  return html`<section class="section" aria-labelledby="profile-title"><h2 id="profile-title">${messages.profile}</h2>
${postForm(frame, 'profile', '/account/profile', {}, html`<div class="pair">${fields}</div><button type="submit" class="small" id="profile-submit">${messages.save}</button>`)}</section>`
}

function passwordSection(frame: PageFrame): Html {
  const { messages } = frame.language
  return html`<section class="section" aria-labelledby="password-title"><h2 id="password-title">${messages.password}</h2>
<p class="quiet">${messages.changePasswordLead}</p>
<a class="button plain small" id="change-password" href="${frame.base}/account/password">${messages.changePassword}</a></section>`
}

export interface PasswordData {
  readonly username: string
  readonly leastPassword: number
  readonly formError: FormError | undefined
}

/** A separate page, so that password managers do not take the account page for a sign-in form. */
export function passwordPage(frame: PageFrame, data: PasswordData): Html {
  const { messages } = frame.language
  const errorOf = (name: string) => (data.formError?.field === name ? data.formError.text : undefined)
  const body = html`
<h1>${messages.changePassword}</h1>
<p class="lead">${messages.changePasswordLead}</p>
${errorSummary(frame, data.formError)}
${postForm(
  frame,
  'password-change',
  '/account/password',
  {},
  html`<input type="text" name="username" value="${data.username}" autocomplete="username" hidden>
${field({ name: 'current_password', label: messages.currentPassword, type: 'password', autocomplete: 'current-password', required: true, focus: true, maxlength: 1000, error: errorOf('current_password') })}
${field({ name: 'new_password', label: messages.newPassword, type: 'password', autocomplete: 'new-password', required: true, maxlength: 1000, hint: messages.newPasswordHint(data.leastPassword), error: errorOf('new_password') })}
<div class="actions"><button type="submit" id="password-submit">${messages.changePassword}</button>
<a class="button plain" href="${frame.base}/account">${messages.cancel}</a></div>`,
)}`
  return page(frame, { title: messages.changePassword, body })
}

function factorSection(frame: PageFrame, data: AccountData): Html {
  const { messages } = frame.language
  const rows = data.factors.map(
    (
      factor,
    ) => html`<li><div><p>${factor.label}</p><p class="quiet">${factor.kind === 'passkey' ? messages.passkey : messages.authenticatorApp} · ${messages.added(date(frame, factor.addedAt))}</p></div>
${rowButton(frame, '/account/factors/remove', { factor: factor.id }, messages.remove, messages.removeNamed(factor.label))}</li>`,
  )
  return html`<section class="section" id="second-factors" aria-labelledby="factors-title"><h2 id="factors-title">${messages.secondFactors}</h2>
<p class="quiet">${messages.secondFactorsLead}${data.factors.length === 0 && html` ${messages.noFactors}`}</p>
${
  rows.length > 0 &&
  html`<ul class="rows">${rows}<li><div><p>${messages.recoveryCodes}</p><p class="quiet">${messages.recoveryLeft(data.recoveryCodesLeft)}</p></div>
${rowButton(frame, '/account/recovery-codes', {}, messages.newRecoveryCodes, messages.newRecoveryCodes, 'plain')}</li></ul>`
}
<p class="inline"><a class="button plain small" id="add-authenticator" href="${frame.base}/account/authenticator">${messages.addAuthenticator}</a>
<a class="button plain small" id="add-passkey" href="${frame.base}/account/passkey">${messages.addPasskey}</a></p></section>`
}

function sessionSection(frame: PageFrame, data: AccountData): Html {
  const { messages } = frame.language
  const rows = data.sessions.map((session) => {
    const browser = session.browser === '' ? messages.unknownBrowser : session.browser
    return html`<li><div><p>${browser}${session.current && html` <span class="badge">${messages.thisSession}</span>`}</p>
<p class="quiet">${session.address} · ${messages.lastSeen(dateAndTime(frame, session.seenAt, data.timeZone))}</p></div>
${!session.current && rowButton(frame, '/account/sessions/end', { session: session.id }, messages.endSession, messages.endSessionNamed(browser))}</li>`
  })
  return html`<section class="section" aria-labelledby="sessions-title"><h2 id="sessions-title">${messages.sessions}</h2>
<p class="quiet">${messages.sessionsLead}</p>
<ul class="rows" id="sessions">${rows}</ul>
${rows.length > 1 && rowButton(frame, '/account/sessions/end', { session: 'others' }, messages.endOthers, messages.endOthers)}</section>`
}

function consentSection(frame: PageFrame, data: AccountData): Html {
  const { messages } = frame.language
  const rows = data.consents.map(
    (
      consent,
    ) => html`<li><div><p>${consent.client}</p><p class="quiet">${consent.scopes.map((scope) => scopeText(frame, scope)).join('; ')}</p></div>
${rowButton(frame, '/account/consents/withdraw', { client_id: consent.clientId }, messages.withdraw, messages.withdrawNamed(consent.client))}</li>`,
  )
  return html`<section class="section" aria-labelledby="consents-title"><h2 id="consents-title">${messages.consents}</h2>
<p class="quiet">${messages.consentsLead}${rows.length === 0 && html` ${messages.noConsents}`}</p>
${rows.length > 0 && html`<ul class="rows" id="consents">${rows}</ul>`}</section>`
}

/** The label names the entry, so that screen reader users can tell the buttons of a list apart. */
function rowButton(
  frame: PageFrame,
  path: string,
  values: Readonly<Record<string, string>>,
  text: string,
  label: string,
  kind = 'danger',
): Html {
  return html`<form method="post" action="${frame.base}${path}">${hidden({ form_token: frame.formToken, ...values })}<button type="submit" class="${kind} small" aria-label="${label}">${text}</button></form>`
}

function date(frame: PageFrame, at: number): string {
  return new Intl.DateTimeFormat(frame.language.tag, { dateStyle: 'medium' }).format(at)
}

/** In the time zone of the user if it is known and valid, otherwise in UTC, and labelled so. */
function dateAndTime(frame: PageFrame, at: number, timeZone = 'UTC'): string {
  const format = (zone: string) =>
    new Intl.DateTimeFormat(frame.language.tag, { dateStyle: 'medium', timeStyle: 'short', timeZone: zone }).format(at)
  try {
    return timeZone === 'UTC' ? `${format('UTC')} UTC` : format(timeZone)
  } catch {
    return `${format('UTC')} UTC`
  }
}
