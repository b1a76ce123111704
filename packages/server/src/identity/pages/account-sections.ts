/** The sections of the account pages: profile, sign-in and security, sessions, applications. */
import { named, offeredLanguages } from '../../lib/language-tags.ts'
import { timeZones } from '../../lib/time-zones.ts'
import {
  type Choice,
  type ChoiceGroup,
  type FormError,
  field,
  permissionList,
  postForm,
  rightList,
  selectField,
} from './form-parts.ts'
import { fill, type Html, html } from './html.ts'
import type { PageFrame } from './layout.ts'
import { date, dateAndTime } from './times.ts'

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

export interface ProfileData {
  readonly profile: Readonly<Record<ProfileField, string>>
  readonly roles: readonly string[]
  /** The scopes of the roles. */
  readonly rights: Iterable<string>
  readonly formError: FormError | undefined
  /** Undefined where no mail is set up. */
  readonly address: AddressState | undefined
}

export interface AddressState {
  /** Undefined without an address. */
  readonly isVerified: boolean | undefined
  /** An address to which a link was sent, and which counts once it is used. */
  readonly pending: string | undefined
}

export function profileSection(frame: PageFrame, data: ProfileData): Html {
  const { messages } = frame.language
  const { profile, formError } = data
  const part = <Name extends ProfileField>(name: Name) => ({
    name,
    label: messages.profileField[name],
    value: profile[name],
    autocomplete: PROFILE_FIELDS[name],
    error: formError?.field === name ? formError.text : undefined,
  })
  const rights = [...data.rights]
  return html`<section class="card" aria-labelledby="details-title"><h2 id="details-title">${messages.profileDetails}</h2>
<p class="quiet">${messages.profileDetailsLead}</p>
${postForm(
  frame,
  'profile',
  '/account/profile',
  {},
  html`<div class="pair">${(['name', 'nickname', 'given_name', 'family_name'] as const).map((name) => field({ ...part(name), maxlength: 200 }))}
${field({ ...part('email'), type: 'email', maxlength: 200, ...addressHint(frame, data.address) })}
${field({ ...part('website'), type: 'url', maxlength: 200 })}
${selectField({ ...part('locale'), hint: messages.localeHint, choices: languageChoices(frame, profile.locale) })}
${selectField({ ...part('zoneinfo'), hint: messages.zoneinfoHint, choices: zoneChoices(frame, profile.zoneinfo) })}</div>
<button type="submit" class="small" id="profile-submit">${messages.save}</button>`,
)}
${data.address?.isVerified === false && postForm(frame, 'verify-address', '/account/email/verify', {}, html`<button type="submit" class="plain small" id="verify-address-submit">${messages.mail.sendVerification}</button>`)}</section>
<section class="card" aria-labelledby="rights-title"><h2 id="rights-title">${messages.rights}</h2>
<p class="quiet">${rights.length === 0 ? messages.noRights : messages.rightsOfRoles(data.roles)}</p>
${rights.length > 0 && rightList(frame, rights)}</section>`
}

function addressHint({ language }: PageFrame, address: AddressState | undefined): { hint?: string } {
  const { mail } = language.messages
  if (address === undefined) return {}
  if (address.pending !== undefined) return { hint: mail.pending(address.pending) }
  if (address.isVerified === undefined) return {}
  return { hint: address.isVerified ? mail.verified : mail.unverified }
}

/** A value of the profile that the list lacks is kept as a choice. */
function languageChoices({ language }: PageFrame, current: string): Choice[] {
  const offered = offeredLanguages()
  const all =
    current === '' || offered.some(({ tag }) => tag === current) ? offered : [safelyNamed(current), ...offered]
  const choices = all.map(({ tag, name }) => ({ value: tag, text: name, lang: tag }))
  return [{ value: '', text: language.messages.localeFromBrowser }, ...choices]
}

function safelyNamed(tag: string): ReturnType<typeof named> {
  try {
    return named(tag)
  } catch {
    return { tag, name: tag }
  }
}

function zoneChoices({ language }: PageFrame, current: string): (Choice | ChoiceGroup)[] {
  const zones = timeZones()
  const { messages } = language
  const regions = Map.groupBy(zones, (zone) => zone.slice(0, Math.max(0, zone.indexOf('/'))))
  const groups = [...regions].map(([region, members]) => ({
    label: region === '' ? messages.zoneOther : region,
    choices: members.map((zone) => ({ value: zone, text: formatCity(zone) })),
  }))
  const kept = current === '' || zones.includes(current) ? [] : [{ value: current, text: current }]
  return [{ value: '', text: messages.zoneNone }, ...kept, ...groups]
}

/** `America/Argentina/Buenos_Aires` as `Buenos Aires (Argentina)`. */
function formatCity(zone: string): string {
  const [city = zone, ...around] = zone.replaceAll('_', ' ').split('/').slice(1).reverse()
  return around.length === 0 ? city : `${city} (${around.join(', ')})`
}

export interface SecurityData {
  readonly passwordChangedAt: number
  readonly factors: readonly {
    readonly id: string
    readonly kind: 'authenticator' | 'passkey'
    readonly label: string
    readonly addedAt: number
  }[]
  readonly recoveryCodesLeft: number
  readonly timeZone: string | undefined
}

export function securitySection(frame: PageFrame, data: SecurityData): Html {
  const { base, language } = frame
  const { messages } = language
  const rows = data.factors.map(
    ({ id, kind, label, addedAt }) => html`<li><div><p>${label}</p>
<p class="quiet">${kind === 'passkey' ? messages.passkey : messages.authenticatorApp} · ${fill(messages.added, date(frame, addedAt, data.timeZone))}</p></div>
${rowLink(frame, `/account/factors/remove?factor=${encodeURIComponent(id)}`, messages.remove, messages.removeNamed(label))}</li>`,
  )
  return html`<section class="card" aria-labelledby="password-title"><h2 id="password-title">${messages.password}</h2>
<p class="quiet">${fill(messages.passwordSet, date(frame, data.passwordChangedAt, data.timeZone))} ${messages.changePasswordLead}</p>
<a class="button plain small" id="change-password" href="${base}/account/password">${messages.changePassword}</a></section>
<section class="card" id="second-factors" aria-labelledby="factors-title"><h2 id="factors-title">${messages.secondFactors}</h2>
<p class="quiet">${messages.secondFactorsLead}</p>
${rows.length === 0 ? html`<p class="empty">${messages.noFactors}</p>` : html`<ul class="rows">${rows}</ul>`}
<div class="inline"><a class="button plain small" id="add-authenticator" href="${base}/account/authenticator">${messages.addAuthenticator}</a>
<a class="button plain small" id="add-passkey" href="${base}/account/passkey">${messages.addPasskey}</a></div></section>
${
  rows.length > 0 &&
  html`<section class="card" aria-labelledby="recovery-title"><h2 id="recovery-title">${messages.recoveryCodes}</h2>
<p class="quiet">${messages.recoverySectionLead} ${messages.recoveryLeft(data.recoveryCodesLeft)}</p>
<a class="button plain small" id="new-recovery-codes" href="${base}/account/recovery-codes">${messages.newRecoveryCodes}</a></section>`
}`
}

export interface SessionsData {
  readonly sessions: readonly {
    readonly id: string
    readonly browser: string
    readonly address: string
    readonly seenAt: number
    readonly current: boolean
  }[]
  readonly timeZone: string | undefined
}

export function sessionsSection(frame: PageFrame, { sessions, timeZone }: SessionsData): Html {
  const { messages } = frame.language
  const rows = sessions.map((session) => {
    const browser = session.browser === '' ? messages.unknownBrowser : session.browser
    const end = `/account/sessions/end?session=${encodeURIComponent(session.id)}`
    return html`<li><div><p>${browser}${session.current && html` <span class="badge">${messages.thisSession}</span>`}</p>
<p class="quiet">${session.address} · ${fill(messages.lastSeen, dateAndTime(frame, session.seenAt, timeZone))}</p></div>
${!session.current && rowLink(frame, end, messages.endSession, messages.endSessionNamed(browser))}</li>`
  })
  return html`<section class="card" aria-label="${messages.section.sessions}"><ul class="rows" id="sessions">${rows}</ul>
${rows.length > 1 && html`<a class="button danger small" id="end-others" href="${frame.base}/account/sessions/end?session=others">${messages.endOthers}</a>`}</section>`
}

export interface ApplicationsData {
  readonly applications: readonly {
    readonly clientId: string
    readonly client: string
    /** It is an agent that publishes its description there. */
    readonly agentHost: string | undefined
    /** It is an agent. */
    readonly isAgent: boolean
    readonly scopes: readonly string[]
    readonly createdAt: number
  }[]
  readonly timeZone: string | undefined
}

export function applicationsSection(frame: PageFrame, { applications, timeZone }: ApplicationsData): Html {
  const { messages } = frame.language
  const rows = applications.map(
    ({ clientId, client, isAgent, agentHost, scopes, createdAt }) => html`<li><div><p>${client}</p>
${
  isAgent &&
  html`<p class="quiet">${messages.agentAccess(agentHost)}</p>
`
}<p class="quiet">${fill(messages.accessSince, date(frame, createdAt, timeZone))}</p>
${permissionList(frame, scopes)}</div>
${rowLink(frame, `/account/consents/withdraw?client_id=${encodeURIComponent(clientId)}`, messages.withdraw, messages.withdrawNamed(client))}</li>`,
  )
  return html`<section class="card" aria-label="${messages.section.applications}">${
    rows.length === 0
      ? html`<p class="empty">${messages.noConsents}</p>`
      : html`<ul class="rows" id="consents">${rows}</ul>`
  }</section>`
}

/** Leads to a page that asks first. The label names the entry, so that screen reader users can tell the links of a list apart. */
function rowLink(frame: PageFrame, path: string, text: string, label: string): Html {
  return html`<a class="button danger small" href="${frame.base}${path}" aria-label="${label}">${text}</a>`
}
