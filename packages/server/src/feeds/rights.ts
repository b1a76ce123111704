/** Who may subscribe to a feed and who may publish to it. */
import { isPlatformScope, type Principal, type Refusal } from 'gatehouse-protocol'
import { insufficientScope } from '../http/request/authentication.ts'
import type { Feed } from './feed.ts'

export function mayRead({ read }: Pick<Feed, 'read'>, { scopes }: Pick<Principal, 'scopes'>): boolean {
  return read === 'identity' ? [...scopes].some(isPlatformScope) : scopes.has(read)
}

export function mayWrite({ write }: Pick<Feed, 'write'>, { scopes }: Pick<Principal, 'scopes'>): boolean {
  return scopes.has(write)
}

/** The caller may use the feed in another way, or could before. */
export function missingRight(scope?: string): Refusal {
  const text = scope === undefined ? 'The right to read this feed was lost' : `This needs ${scope}`
  return insufficientScope(text, scope === undefined || scope === 'identity' ? [] : [scope])
}
