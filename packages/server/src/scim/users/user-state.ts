/** What SCIM writes of a user, as it is before and after a request; and how it becomes the stored profile. */
import { LONGEST_NAME, NAME } from 'gatehouse-protocol'
import { type AttributeValues, type Profile, type ScimUser, USER_ID_PREFIX } from '../../accounts/scim-reads.ts'
import { languageTag } from '../../lib/language-tags.ts'
import { isTimeZone } from '../../lib/time-zones.ts'
import { badRequest } from '../scim-error.ts'
import type { TextField } from './user-paths.ts'

export interface UserState {
  readonly texts: ReadonlyMap<TextField, string>
  readonly active: boolean
  readonly attributes: AttributeValues
}

/** Where each text is stored: a claim of the profile. The others are a column and a table. */
const CLAIMS: ReadonlyMap<TextField, string> = new Map([
  ['displayName', 'name'],
  ['givenName', 'given_name'],
  ['familyName', 'family_name'],
  ['middleName', 'middle_name'],
  ['locale', 'locale'],
  ['timezone', 'zoneinfo'],
  ['email', 'email'],
])

export function readState(user: ScimUser, externalId: string | undefined): UserState {
  const profile = new Map(Object.entries(user.profile))
  const claims = [...CLAIMS].map(([field, claim]) => [field, profile.get(claim)] as const)
  const all = [['userName', user.username] as const, ['externalId', externalId] as const, ...claims]
  return {
    texts: new Map(all.flatMap(([field, text]) => (typeof text === 'string' && text !== '' ? [[field, text]] : []))),
    active: !user.disabled,
    attributes: user.attributes,
  }
}

/** The profile with what SCIM writes of it; other claims stay. Another address is not verified. */
export function mergeProfile(state: UserState, before: Profile): Profile {
  const written = new Set(CLAIMS.values())
  const isSameEmail = state.texts.get('email') === before.email
  const kept = Object.entries(before).filter(
    ([claim]) => !written.has(claim) && (isSameEmail || claim !== 'email_verified'),
  )
  const texts = [...CLAIMS].flatMap(([field, claim]) => {
    const text = state.texts.get(field)
    return text === undefined ? [] : [[claim, text] as const]
  })
  return Object.fromEntries([...kept, ...texts])
}

const LONGEST_TEXT = 256
const LONGEST_EMAIL = 254

/** Throws for a text that cannot be stored. */
export function checkText(field: TextField, text: string): string {
  const fault = findFault(field, text)
  if (fault !== undefined) throw badRequest('invalidValue', `${field} ${fault}`)
  return text
}

function findFault(field: TextField, text: string): string | undefined {
  if (text.length > LONGEST_TEXT) return `has more than ${LONGEST_TEXT} characters`
  if (!text.isWellFormed() || /\p{Cc}/u.test(text)) return 'contains control characters'
  switch (field) {
    case 'userName':
      if (text.length > LONGEST_NAME || !NAME.test(text))
        return `must have at most ${LONGEST_NAME} characters, and no space at either end`
      return text.startsWith(USER_ID_PREFIX) ? `must not begin with ${USER_ID_PREFIX}` : undefined
    case 'email':
      return text.length > LONGEST_EMAIL || !/^[^\s@]+@[^\s@]+$/.test(text) ? 'is not an e-mail address' : undefined
    case 'locale':
      return languageTag(text) === undefined ? 'is not the tag of a known language, such as en-GB' : undefined
    case 'timezone':
      return isTimeZone(text) ? undefined : 'is not a known time zone, such as Europe/Paris'
    default:
      return undefined
  }
}
