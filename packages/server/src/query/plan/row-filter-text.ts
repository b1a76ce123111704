/** The row filter of a table as it applies to one user: the claims of the user in place of :sub, :username and :roles. */
import { DEFAULT_LIMITS, ROLE_CLAIMS, type Token, tokenize } from 'gatehouse-iql'

export interface FilterClaims {
  readonly subject: string
  readonly username: string
  readonly roles: readonly string[]
}

/** `:client` stays as it is: it depends on the application that the user uses. */
export function filterFor(filter: string, claims: FilterClaims): string {
  const tokens = tokenize(filter, DEFAULT_LIMITS)
  let text = ''
  let at = 0
  const replace = (token: Token, length: number, by: string): void => {
    text += filter.slice(at, token.at) + by
    at = token.at + length
  }
  for (const [index, token] of tokens.entries()) {
    const next = tokens[index + 1]
    // `desk = :roles` is true if desk is one of them.
    if (token.kind === 'symbol' && next !== undefined && isRoles(next)) {
      const operator = MEMBERSHIP.get(token.key)
      if (operator !== undefined) replace(token, token.text.length, operator)
    }
    if (token.kind !== 'parameter') continue
    const before = tokens[index - 1]
    const value = claimOf(token, claims, before?.kind === 'symbol' && before.key === '(')
    if (value !== undefined) replace(token, token.text.length + 1, value)
  }
  return text + filter.slice(at)
}

const MEMBERSHIP: ReadonlyMap<string, string> = new Map([
  ['=', 'IN'],
  ['<>', 'NOT IN'],
  ['!=', 'NOT IN'],
])

function isRoles({ kind, text }: Token): boolean {
  return kind === 'parameter' && ROLE_CLAIMS.has(text.toLowerCase())
}

function claimOf(token: Token, { subject, username, roles }: FilterClaims, isInList: boolean): string | undefined {
  if (isRoles(token)) {
    const list = roles.map(quoted).join(', ')
    return isInList ? list : `(${list})`
  }
  switch (token.text.toLowerCase()) {
    case 'sub':
      return quoted(subject)
    case 'username':
      return quoted(username)
    default:
      return undefined
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "''")}'`
}
