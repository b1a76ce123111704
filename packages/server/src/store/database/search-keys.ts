/** The keys by which a user is found besides the username, as columns of the database. */

export interface SearchKeys {
  readonly name_key: string | null
  readonly family_key: string | null
  readonly email_key: string | null
}

/** PostgreSQL cannot index longer texts than about 2,700 bytes. */
const LONGEST_KEY = 100

/** The columns of a user that are searched, besides the username. */
export function searchKeys(profile: Readonly<Record<string, unknown>>): SearchKeys {
  const { name, nickname, given_name, family_name, email } = profile
  const full = foldText(name) ?? foldText([given_name, family_name].filter(isText).join(' ')) ?? foldText(nickname)
  const lastWord = full?.includes(' ') ? full.slice(full.lastIndexOf(' ') + 1) : undefined
  return {
    name_key: full ?? null,
    family_key: foldText(family_name) ?? lastWord ?? null,
    email_key: foldText(email) ?? null,
  }
}

/** As usernames are compared: NFKC and case-insensitively. Undefined for values that are not text, or are empty. */
export function foldText(value: unknown): string | undefined {
  if (!isText(value)) return undefined
  const folded = value.normalize('NFKC').trim().toLowerCase().replace(/\s+/g, ' ')
  return folded === '' ? undefined : [...folded].slice(0, LONGEST_KEY).join('')
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
