/** The person at a browser as the author of a change of their account. */
import type { Author } from '../../accounts/accounts.ts'
import type { BrowserContext } from './browser-context.ts'

/** Where the person is not signed in, or as somebody else, `actor` says whose account it is. */
export function personAsAuthor({ http, user }: BrowserContext, others: Partial<Author> = {}): Author {
  return {
    ...{ source: 'account', actor: user?.id, address: http.address, requestId: http.id },
    userAgent: http.headers['user-agent'] ?? '',
    ...others,
  }
}
