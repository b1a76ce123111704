/** The profile of the account pages: what people may change about themselves, checked. */
import { isDeepStrictEqual } from 'node:util'
import type { FormParameters } from '../../../http/request/body.ts'
import type { Route } from '../../../http/route.ts'
import { languageTag } from '../../../lib/language-tags.ts'
import { isMailAddress } from '../../../lib/mail-address.ts'
import { isTimeZone } from '../../../lib/time-zones.ts'
import type { Profile, User } from '../../../store/accounts/user.ts'
import { PROFILE_FIELDS, type ProfileField, profileSection } from '../../pages/account-sections.ts'
import type { Messages } from '../../pages/messages/en.ts'
import { personAsAuthor } from '../account-author.ts'
import type { SignedInBrowser } from '../browser-context.ts'
import type { BrowserEnv } from '../env.ts'
import { redirectedFirst } from '../proceed.ts'
import { isFresh } from '../sign-in/factor-set-up.ts'
import { accountFormRoute, ownPageRoute, redirectDone, type SectionReply, sendSection } from './account.ts'
import { askForAddress } from './verify-address.ts'

export function accountProfileRoutes(env: BrowserEnv): readonly Route[] {
  return [
    ownPageRoute(
      { name: 'account' },
      (context, query) => showProfile(context, profileTexts(context.user), { query }, env),
      env,
    ),
    accountFormRoute('/account/profile', saveProfile, env),
  ]
}

type ProfileTexts = Record<ProfileField, string>

async function showProfile(
  context: SignedInBrowser,
  profile: ProfileTexts,
  reply: SectionReply,
  env: BrowserEnv,
): Promise<void> {
  const { roles, rights } = context.user
  const section = 'profile'
  const address = env.mail && (await addressState(context.user, env))
  sendSection(
    context,
    section,
    (frame, formError) => profileSection(frame, { profile, roles, rights, formError, address }),
    reply,
    env,
  )
}

/** Where mail is set up: whether the address is verified, and the one that waits for it. */
async function addressState({ id, profile }: User, { addressLinks }: Pick<BrowserEnv, 'addressLinks'>) {
  const link = await addressLinks.findOfUser(id)
  const email = typeof profile.email === 'string' && profile.email !== '' ? profile.email : undefined
  return {
    isVerified: email === undefined ? undefined : profile.email_verified === true,
    pending: link !== undefined && link.replaces === email ? link.address : undefined,
  }
}

function profileTexts({ profile }: User): ProfileTexts {
  const text = (name: ProfileField) => (typeof profile[name] === 'string' ? profile[name] : '')
  return mapFields(text)
}

function mapFields(readText: (name: ProfileField) => string): ProfileTexts {
  return {
    name: readText('name'),
    given_name: readText('given_name'),
    family_name: readText('family_name'),
    nickname: readText('nickname'),
    email: readText('email'),
    website: readText('website'),
    locale: readText('locale'),
    zoneinfo: readText('zoneinfo'),
  }
}

const LONGEST_VALUE = 200

async function saveProfile(context: SignedInBrowser, form: FormParameters, env: BrowserEnv): Promise<void> {
  const { user } = context
  const given = mapFields((name) => form.get(name)?.trim().slice(0, LONGEST_VALUE) ?? '')
  const before = profileTexts(user)
  const checks: ReadonlyMap<ProfileField, Check> = env.mail === undefined ? CHECKS : new Map([...CHECKS, MAIL_CHECK])
  for (const [name, { isValid, message }] of checks) {
    // A value set by an administrator is kept unchanged.
    if (given[name] === '' || given[name] === before[name] || isValid(given[name])) continue
    return showProfile(context, given, { error: (text) => ({ text: message(text), field: name }) }, env)
  }
  const texts = { ...given, locale: languageTag(given.locale) ?? given.locale }
  const members = new Map(Object.entries(user.profile))
  for (const name of Object.keys(PROFILE_FIELDS)) members.delete(name)
  for (const [name, value] of Object.entries(texts)) if (value !== '') members.set(name, value)
  const profile = Object.fromEntries(members)
  const { email } = profile
  const isNew = email !== user.profile.email
  const { mail } = env
  // Where mail is set up, a password can be reset with the address: an unattended browser must not be enough to change it.
  const needs = { fresh: !isFresh(context, env), secondFactor: user.hasSecondFactor }
  if (mail !== undefined && isNew && (await redirectedFirst(context, { name: 'account' }, needs, env))) return
  const wanted = mail !== undefined && isNew && typeof email === 'string' ? email : undefined
  if (wanted !== undefined) Object.assign(profile, { email: user.profile.email })
  // A new address is not verified.
  else if (isNew) profile.email_verified = false
  if (profile.email === undefined) {
    delete profile.email
    delete profile.email_verified
  }
  const overtaking = await env.accounts.change(personAsAuthor(context), async (accounts, stores) => {
    const now = await stores.users.findById(user.id)
    if (now !== undefined && !isDeepStrictEqual(now.profile, user.profile)) return now
    await accounts.changeUser(user.id, { profile: profile satisfies Profile }, ['profile'])
    if (mail !== undefined && wanted !== undefined) await askForAddress(context, wanted, mail, stores, env)
    return undefined
  })
  // A directory or an operator has changed the profile meanwhile: the address that it had then is a new one now.
  if (overtaking !== undefined) return saveProfile({ ...context, user: overtaking }, form, env)
  return redirectDone(context, 'profile', wanted === undefined ? 'profile' : 'address-asked', env)
}

interface Check {
  readonly isValid: (text: string) => boolean
  readonly message: (text: Messages) => string
}

const CHECKS: ReadonlyMap<ProfileField, Check> = new Map([
  ['email', { isValid: (text) => /^[^\s@]+@[^\s@]+$/.test(text), message: (text) => text.badEmail }],
  ['website', { isValid: (text) => /^https?:\/\//i.test(text), message: (text) => text.badWebsite }],
  ['locale', { isValid: (text) => languageTag(text) !== undefined, message: (text) => text.badLocale }],
  ['zoneinfo', { isValid: isTimeZone, message: (text) => text.badZoneinfo }],
] satisfies [ProfileField, Check][])

const MAIL_CHECK: [ProfileField, Check] = [
  'email',
  { isValid: isMailAddress, message: (text) => text.mail.asciiAddress },
]
